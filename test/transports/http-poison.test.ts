// A server or an intermediary that sends more on a socket than it was asked for. The excess is never taken for an
// answer, and no request stays without one.

import assert from 'node:assert/strict'
import type { Socket } from 'node:net'
import { test } from 'node:test'
import { at, parsed } from '../integration/support/json.js'
import { type Scope } from './support/http.js'
import { rawServer } from './support/raw-server.js'
import { answerOf, connect } from './support/scripted.js'

const ROUNDS = Number(process.env['POISON_ROUNDS'] ?? 100)

const http = (body: string): string =>
  `HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`
const poison = http('{"jsonrpc":"2.0","id":"x","result":"poison"}')

type Reply = (socket: Socket, answer: string) => void

const timings: readonly (readonly [string, Reply])[] = [
  ['in the same write', (socket, answer) => socket.write(answer + poison)],
  [
    'in the next turn',
    (socket, answer) => {
      socket.write(answer)
      setImmediate(() => socket.write(poison))
    },
  ],
  [
    'a moment later',
    (socket, answer) => {
      socket.write(answer)
      setTimeout(() => socket.write(poison), 1)
    },
  ],
  ['before the answer', (socket, answer) => socket.write(poison + answer)],
  [
    'in the turn before the answer',
    (socket, answer) => {
      socket.write(poison)
      setImmediate(() => socket.write(answer))
    },
  ],
]

for (const [title, reply] of timings)
  test(`what is said out of turn is no answer: ${title}`, async (t) => {
    const url = await poisoned(t, reply)
    const { heard, request } = connect(t, url)
    for (let id = 1; id <= ROUNDS; id++) {
      request(id, 'work')
      await heard.until(() => heard.messages.length + heard.failures.length === id)
    }
    const found = heard.messages.filter((message) => message.includes('poison'))
    assert.deepEqual(found, [])
    const answered = heard.messages.map((message) => at(parsed(message), 'id'))
    const failed = heard.failures.map(({ id }) => Number(id))
    const all = [...answered, ...failed].map(Number).toSorted((a, b) => a - b)
    assert.deepEqual(
      all,
      Array.from({ length: ROUNDS }, (_, index) => index + 1),
    )
    assert.equal(heard.closed, undefined)
  })

async function poisoned(scope: Scope, reply: Reply): Promise<URL> {
  const { port } = await rawServer(scope, (socket) => {
    let text = ''
    socket.on('data', (chunk: Buffer) => {
      text += chunk.toString('latin1')
      const [head = '', body] = text.split('\r\n\r\n')
      if (body === undefined || body.length < Number(/content-length: (\d+)/i.exec(head)?.[1] ?? 0)) return
      text = ''
      reply(socket, http(answerOf(at(parsed(body), 'id'))))
    })
  })
  return new URL(`http://127.0.0.1:${port}/mcp`)
}
