import { strict as assert } from 'node:assert'
import type { ServerResponse } from 'node:http'
import { describe, test } from 'node:test'
import type { HttpTarget, HttpTimers } from '../../src/transports/http-client/options.js'
import { FakeClock } from '../upstream/support/fake-clock.js'
import { answerOf, called, connect, events, json, scripted } from './support/scripted.js'

const timersOf = (clock: FakeClock): HttpTimers => ({
  now: () => clock.now(),
  random: () => 0,
  setTimer: clock.setTimer.bind(clock),
})

/** Lets all bytes on their way arrive. */
async function quiet(): Promise<void> {
  await new Promise((resolve) => setTimeout(resolve, 50))
}

describe('Retry-After', () => {
  const waits: readonly (readonly [title: string, respond: (response: ServerResponse) => void])[] = [
    ['Retry-After', (response) => response.writeHead(429, { 'retry-after': '20' }).end()],
    [
      'Retry-After of an error to the request',
      (response) =>
        response
          .writeHead(429, { 'retry-after': '20' })
          .end('{"jsonrpc":"2.0","id":1,"error":{"code":-32000,"message":"busy"}}'),
    ],
    [
      'the time that a stream names',
      (response) => {
        events(response, 'id: e1\nretry: 20000\ndata: \n\n')
        response.end()
      },
    ],
  ]
  for (const [title, respond] of waits)
    test(`nothing is sent before ${title} is over`, async (t) => {
      const clock = new FakeClock()
      const server = await scripted(t, (seen, response) => {
        if (server.seen.length === 1) respond(response)
        else if (seen.method === 'GET') events(response, `data: ${answerOf(1)}\n\n`)
        else json(response, answerOf(seen.id))
      })
      const { heard, request } = connect(t, server.url, { timers: timersOf(clock) })
      request(1, 'work')
      while (server.seen.length < 1) await quiet()
      await quiet()
      clock.advance(19_999)
      await quiet()
      assert.equal(server.seen.length, 1)
      clock.advance(1)
      await heard.until(() => heard.messages.length === 1)
    })

  test('a 202 whose body has no length is taken at its status', async (t) => {
    const server = await scripted(t, (seen, response) => {
      if (seen.id !== undefined) return json(response, answerOf(seen.id))
      response.socket?.write('HTTP/1.1 202 Accepted\r\n\r\n')
    })
    const { heard, request, send } = connect(t, server.url, { timers: timersOf(new FakeClock()) })
    request(0, 'initialize')
    send('{"jsonrpc":"2.0","method":"notifications/initialized"}')
    request(1, 'work')
    await heard.until(() => heard.messages.length === 2)
  })

  const refused: readonly (readonly [title: string, retryAfter: string, body: string])[] = [
    ['that is longer than anybody waits', '3600', 'no'],
    [
      'with the error of a tool that is called too often',
      '1',
      '{"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"no","data":{"reason":"rate-limited","retryAfterSeconds":1}}}',
    ],
  ]
  for (const [title, retryAfter, body] of refused)
    test(`${title} is passed on immediately`, async (t) => {
      const server = await scripted(t, (_seen, response) =>
        response.writeHead(429, { 'retry-after': retryAfter }).end(body),
      )
      await called(t, server.url, { timers: timersOf(new FakeClock()) })
      assert.equal(server.seen.length, 1)
    })

  test('is given up with the message that waits for it', async (t) => {
    const clock = new FakeClock()
    const server = await scripted(t, (seen, response) => {
      if (seen.id === 1) response.writeHead(429, { 'retry-after': '5' }).end()
      else response.writeHead(202).end()
    })
    const { request, send } = connect(t, server.url, { timers: timersOf(clock) })
    request(1, 'work')
    while (server.seen.length < 1) await quiet()
    await quiet()
    send('{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}')
    while (server.seen.length < 2) await quiet()
    clock.advance(5000)
    await quiet()
    const rpcs = server.seen.map(({ rpc }) => rpc)
    assert.deepEqual(rpcs, ['work', 'notifications/cancelled'])
  })
})

const refusals: [string, number, Readonly<Record<string, string>>][] = [
  ['429', 429, {}],
  ['429 with Retry-After', 429, { 'retry-after': '1' }],
  ['503 with Retry-After', 503, { 'retry-after': '1' }],
  ['a redirect', 307, { location: '/moved' }],
  ['a credential that can be renewed', 401, {}],
]
for (const [title, status, fields] of refusals)
  test(`a call that was cancelled on its way is not sent again after ${title}`, async (t) => {
    const clock = new FakeClock()
    const held: (() => void)[] = []
    const server = await scripted(t, (seen, response) => {
      if (seen.id !== 1) return void response.writeHead(202).end()
      held.push(() => response.writeHead(status, fields).end())
    })
    const credentials: HttpTarget['credentials'] = {
      credential: () => ({ fields: ['Authorization', 'Bearer t'], secret: 't' }),
      refused: () => Promise.resolve('again'),
    }
    const { heard, request, send } = connect(t, server.url, { timers: timersOf(clock), credentials })
    request(1, 'work')
    while (held.length === 0) await quiet()
    send('{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}')
    while (server.seen.length < 2) await quiet()
    for (const refuse of held) refuse()
    await quiet()
    clock.advance(1000)
    await quiet()
    assert.equal(held.length, 1)
    assert.deepEqual([heard.messages, heard.failures], [[], []])
  })

test('a server that never takes `initialized` is called all the same', async (t) => {
  const clock = new FakeClock()
  const server = await scripted(t, (seen, response) => {
    if (seen.rpc !== 'notifications/initialized') json(response, answerOf(seen.id))
  })
  const { heard, request, send } = connect(t, server.url, { timers: timersOf(clock) })
  request(0, 'initialize')
  send('{"jsonrpc":"2.0","method":"notifications/initialized"}')
  request(1, 'work')
  await heard.until(() => heard.messages.length === 1)
  clock.advance(4999)
  await quiet()
  assert.equal(heard.messages.length, 1)
  clock.advance(1)
  await heard.until(() => heard.messages.length === 2)
})
