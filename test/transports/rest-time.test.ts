// For how long connections rest with a server that closes them without a word.

import { strict as assert } from 'node:assert'
import { test } from 'node:test'
import { HttpAgent } from '../../src/transports/http-client/agent.js'
import { connectPlain } from '../../src/transports/http-client/connect.js'
import { RestTime } from '../../src/transports/http-client/rest-time.js'
import { at } from '../integration/support/json.js'
import { libraryProxy } from '../integration/support/library.js'
import type { Scope } from './support/http.js'
import { rawServer } from './support/raw-server.js'
import { answerOf, json, scripted } from './support/scripted.js'

const MINUTE = 60_000

test('half of the time after which one was closed is believed for a while, and ever longer', () => {
  let now = 1000
  const rest = new RestTime(4000, () => now)
  assert.equal(rest.ms, 4000)
  rest.ended(now - 3000)
  assert.equal(rest.ms, 1500)
  rest.ended(now - 3500)
  assert.equal(rest.ms, 1500, 'one that was closed later says nothing new')
  rest.ended(now - 30)
  assert.equal(rest.ms, 0)
  now += MINUTE - 1
  assert.equal(rest.ms, 0)
  now += 1
  assert.equal(rest.ms, 4000, 'it may have been only a restart')
  rest.ended(now)
  now += 4 * MINUTE - 1
  assert.equal(rest.ms, 0, 'it was none')
  now += 1
  assert.equal(rest.ms, 4000)
  for (let times = 0; times < 10; times++) {
    rest.ended(now)
    now += 60 * MINUTE
    assert.equal(rest.ms, 4000, 'never for more than an hour')
  }
  now += 60 * MINUTE
  rest.ended(now)
  now += MINUTE
  assert.equal(rest.ms, 4000, 'what is long ago no longer counts')
})

test('one that its owner closes, or that was used for the first time, says nothing', () => {
  let now = 0
  const rest = new RestTime(4000, () => now)
  now = 10_000
  rest.ended(now - 8000)
  assert.equal(rest.ms, 4000)
})

test('an agent whose server has closed a connection behind its answer uses none again, and one that has no clock does', async (t) => {
  for (const [now, wanted] of [
    // However late it notices the end, on its clock that was at once.
    [() => 1, 3],
    [undefined, 2],
  ] as const) {
    const { ask, sockets } = await closingOnce(t, now)
    await ask()
    while (sockets[0]?.destroyed !== true) await new Promise((resolve) => setImmediate(resolve))
    // Its end has to arrive.
    await new Promise((resolve) => setTimeout(resolve, 20))
    await ask()
    await ask()
    assert.equal(sockets.length, wanted)
  }
})

test('no call is lost to a server that closes each connection a moment after its answer, but perhaps the first', async (t) => {
  const init =
    '{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}'
  const script = await scripted(t, (seen, response, request) => {
    response.on('finish', () => setTimeout(() => request.socket.destroy(), seen.body.length % 4))
    response.setHeader('connection', 'keep-alive')
    response.setHeader('keep-alive', '')
    if (seen.rpc === 'initialize') json(response, answerOf(seen.id, init))
    else if (seen.rpc === 'tools/list')
      json(response, answerOf(seen.id, '{"tools":[{"name":"work","inputSchema":{"type":"object"}}]}'))
    else if (seen.rpc === 'tools/call') json(response, answerOf(seen.id, '{"content":[]}'))
    else response.writeHead(seen.method === 'GET' ? 405 : 202).end()
  })
  const { attach } = await libraryProxy(t, { s: { url: script.url.href } })
  const { client } = await attach()
  await client.open()
  let lost = 0
  for (let nth = 0; nth < 200; nth++) {
    const { value } = await client.call('s__work', { x: 'x'.repeat(nth % 7) })
    if (at(value, 'result') === undefined) lost++
  }
  assert.ok(lost <= 1, `${lost} of 200`)
})

/** An agent, and a server that closes its first connection without a word as soon as it has answered. */
async function closingOnce(scope: Scope, now: (() => number) | undefined) {
  const { port, sockets } = await rawServer(scope, (socket) => {
    socket.on('data', () => {
      socket.write('HTTP/1.1 204 No Content\r\n\r\n')
      if (sockets.length === 1) setTimeout(() => socket.destroy(), 5)
    })
  })
  const limits = { socketsMax: 8, idleSocketsMax: 8, idleSocketMs: 4000 }
  const agent = new HttpAgent(new URL(`http://127.0.0.1:${port}`), limits, connectPlain, now)
  scope.after(() => agent.destroy())
  const ask = (): Promise<void> =>
    new Promise((resolve, reject) => {
      agent.request('POST / HTTP/1.1\r\n\r\n', undefined, {
        gets: () => {},
        connected: () => {},
        sent: () => {},
        // The connection is free in the next turn.
        responded: (answer) =>
          answer.readBy({ data: () => {}, end: () => setImmediate(resolve), cut: reject }),
        failed: reject,
      })
    })
  return { ask, sockets }
}
