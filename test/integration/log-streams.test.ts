// A log message whose server names no call: on the stream of a session where several are in progress. On the response of the
// one call that is in progress, it is in `http-transcripts/logging.jsonl`.

import { strict as assert } from 'node:assert'
import { test } from 'node:test'
import { EventReader, events, handshake, message, open, send } from '../transports/support/http.js'
import { at, listAt, parsed, textAt } from './support/json.js'
import { itServer } from './support/programs.js'
import type { Scope } from './support/spawned.js'
import { gatewayOf } from './support/gateway.js'

interface Session {
  /** Calls a tool; gives what comes on the response. */
  readonly call: (id: number, name: string, args: object) => Promise<unknown[]>
  /** The next message on the stream that belongs to no request. */
  readonly unasked: () => Promise<unknown>
}

async function session(t: Scope): Promise<Session> {
  const gateway = await gatewayOf(t, { mcpServers: { s: itServer({}, { prefix: false }) } })
  const { port } = gateway
  const headers = await handshake(port)
  const stream = await open(port, { method: 'GET', headers: { ...headers, accept: 'text/event-stream' } })
  const reader = new EventReader(stream)
  t.after(() => reader.cut())
  return {
    call: async (id, name, args) => {
      const body = message('tools/call', id, { name, arguments: args })
      const { body: said } = await send(port, { headers, body })
      const texts = said.startsWith('{') ? [said] : events(said).map(({ data }) => data ?? '')
      return texts.filter((text) => text !== '').map(parsed)
    },
    unasked: async () => parsed((await reader.next())?.data ?? 'null'),
  }
}

/** The lines that the server has got. */
async function lines(call: Session['call'], id: number): Promise<string[]> {
  const [answer] = await call(id, 'seen', {})
  const said = parsed(textAt(answer, 'result', 'content', 0, 'text'))
  return listAt(said, 'lines').map((line) => Buffer.from(String(line), 'base64').toString())
}

const logged = (value: unknown): string => textAt(value, 'params', 'data')
const logging = (n: string): object => ({ n, ticks: 0, steps: 1, logs: true })

test('a log message comes on the stream of the session where it may be about another call', async (t) => {
  const { call, unasked } = await session(t)
  const held = call(1, 'hold', { key: 'k' })
  // Requests on several connections have no order.
  for (let id = 5; !(await lines(call, id)).some((line) => line.includes('"hold"')); id++);
  const [answer, ...more] = await call(2, 'work', logging('b'))
  assert.deepEqual([at(answer, 'id'), more], [2, []])
  assert.equal(logged(await unasked()), 'b')
  await call(3, 'release', { key: 'k' })
  await held
  const [again] = await call(4, 'work', logging('c'))
  assert.equal(logged(again), 'c')
})
