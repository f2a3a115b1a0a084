// Lines that are too long, and clients that do not read. Memory stays bounded, and other clients are served.

import { strict as assert } from 'node:assert'
import { type Socket, connect } from 'node:net'
import { test } from 'node:test'
import { at, textAt } from '../integration/support/json.js'
import { itServer, nodeProgram } from '../integration/support/programs.js'
import { HttpCaller, answerOf } from './support/http-caller.js'
import { MiB, assertHealthy, isLinux, nonceIn, startUnderTest, times } from './support/under-test.js'

const LINE_BYTES_MAX = 64 * MiB
/** The memory of a busy proxy without long lines. */
const AT_WORK_BYTES = 32 * MiB

const servers = { long: nodeProgram('long.mjs', {}, { timeout: 600_000 }), well: itServer() }

/** Calls the healthy server until `rest` settles. */
async function callUntil(caller: HttpCaller, rest: Promise<unknown>): Promise<void> {
  const state = { isOver: false }
  void rest.finally(() => (state.isOver = true))
  while (!state.isOver) {
    const answer = answerOf(await caller.call('well__nonce', { n: 'n' }))
    assert.equal(nonceIn(answer), 'n')
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
}

const lines: readonly [title: string, tool: string, bytes: number, holds: (answer: unknown) => boolean][] = [
  [
    'a line of 100 MB fails its call',
    'line',
    100_000_000,
    (answer) => at(answer, 'error', 'data', 'reason') === 'too-large',
  ],
  [
    'a line of 1 GiB that is no message is left out',
    'endless',
    1024 * MiB,
    (answer) => textAt(answer, 'result', 'content', 0, 'text') === String(1024 * MiB),
  ],
  [
    'a line at the limit passes',
    'line',
    LINE_BYTES_MAX - 1024,
    (answer) => textAt(answer, 'result', 'content', 0, 'text').length === LINE_BYTES_MAX - 1024,
  ],
]

for (const [title, tool, bytes, holds] of lines)
  test(`${title}, and others go on`, { skip: !isLinux }, async (t) => {
    const proxy = startUnderTest(t, '--http', servers)
    const port = await proxy.port()
    const [asker, beside] = [new HttpCaller(port), new HttpCaller(port)]
    for (const caller of [asker, beside]) {
      t.after(() => caller.close())
      await caller.open()
      await caller.call('well__nonce', { n: 'warm' })
      await caller.call('long__line', { bytes: 10 })
    }
    await proxy.facts('gc')
    await proxy.facts('reset')
    const before = proxy.resident()
    proxy.forgetPeak()
    const asked = asker.call(`long__${tool}`, { bytes })
    await callUntil(beside, asked)
    const growth = proxy.resident('VmHWM') - before
    const { messages, body } = await asked
    assert.equal(messages.filter((message) => at(message, 'method') === undefined).length, 1)
    assert(holds(answerOf(await asked)), body.slice(0, 200))
    assert(growth < 2 * LINE_BYTES_MAX + AT_WORK_BYTES, `${growth} bytes`)
    await assertHealthy(proxy)
  })

const TOKEN = 'only-for-many-connections'
/** Each client leaves 100 MB unread. */
const UNREAD_CALLS = 4
const ANSWER_BYTES = 25_000_000
/**
 * All unread bytes, and room for the proxy and one more answer. The clients share a server, which does not pause for
 * one of them, so the proxy cuts the client with the most unread bytes.
 */
const UNREAD_BYTES_MAX = 256 * MiB + 2 * LINE_BYTES_MAX

test('clients that ask for 100 MB each and read nothing', { skip: !isLinux }, async (t) => {
  const proxy = startUnderTest(t, '--http', servers, { more: { server: { port: 0, token: TOKEN } } })
  const port = await proxy.port()
  const reader = new HttpCaller(port, 2, TOKEN)
  t.after(() => reader.close())
  await reader.open()
  await reader.call('well__nonce', { n: 'warm' })
  await proxy.facts('gc')
  const before = proxy.resident()
  proxy.forgetPeak()
  for (let client = 0; client < times(6); client++)
    for (const socket of await neverReads(port)) t.after(() => void socket.destroy())
  // The server answers calls in order, so this answer is the last.
  const last = reader.call('long__line', { bytes: 1 })
  await callUntil(reader, last)
  assert.notEqual(at(answerOf(await last), 'result'), undefined)
  const growth = proxy.resident('VmHWM') - before
  assert(growth < UNREAD_BYTES_MAX, `${growth} bytes`)
  assert(proxy.running)
})

/** A client that sends requests on several connections and reads no answer. */
async function neverReads(port: number): Promise<Socket[]> {
  const caller = new HttpCaller(port, 1, TOKEN)
  await caller.open()
  caller.close()
  return Array.from({ length: UNREAD_CALLS }, () => {
    const socket = connect(port, '127.0.0.1')
    socket.on('error', () => undefined)
    socket.pause()
    const params = { name: 'long__line', arguments: { bytes: ANSWER_BYTES } }
    const body = JSON.stringify({ jsonrpc: '2.0', id: caller.nextId(), method: 'tools/call', params })
    const fields = `Authorization: Bearer ${TOKEN}\r\nMcp-Session-Id: ${caller.session}\r\nAccept: application/json, text/event-stream`
    const head = `POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nContent-Type: application/json\r\n${fields}`
    socket.write(`${head}\r\nContent-Length: ${body.length}\r\n\r\n${body}`)
    return socket
  })
}
