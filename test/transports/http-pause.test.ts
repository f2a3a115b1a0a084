// A server that asks to be left alone is left alone, by every connection to it.

import { strict as assert } from 'node:assert'
import { describe, test } from 'node:test'
import { HttpPause, retryAfterMs } from '../../src/transports/http-client/pause.js'
import type { HttpTarget, HttpTimers } from '../../src/transports/http-client/options.js'
import { answerOf, connect, json, scripted } from './support/scripted.js'

/** A clock that stands still until it is told to move, and fires what is due then. */
class Clock implements HttpTimers {
  #now = 1000
  #pending: { readonly at: number; readonly fire: () => void }[] = []

  now(): number {
    return this.#now
  }

  wallNow(): number {
    return Date.UTC(2026, 10, 22, 9) + this.#now
  }

  random(): number {
    return 0.5
  }

  setTimer(delayMs: number, fire: () => void): { cancel(): void } {
    const timer = { at: this.#now + delayMs, fire }
    this.#pending.push(timer)
    return {
      cancel: () => {
        this.#pending = this.#pending.filter((each) => each !== timer)
      },
    }
  }

  move(ms: number): void {
    this.#now += ms
    const due = this.#pending.filter(({ at }) => at <= this.#now)
    this.#pending = this.#pending.filter(({ at }) => at > this.#now)
    for (const { fire } of due) fire()
  }
}

function paced(clock: Clock): Partial<HttpTarget> {
  return { timers: clock, pause: new HttpPause(clock, 60_000) }
}

/** Lets everything that is on its way arrive. */
async function quiet(): Promise<void> {
  await new Promise((resolve) => setTimeout(resolve, 50))
}

const limitsTool: HttpTarget['limitsTool'] = ({ line }) => line.includes('rate-limited')

describe('Retry-After', () => {
  test('holds every message to the server until the time is over', async (t) => {
    const clock = new Clock()
    let refusals = 1
    const server = await scripted(t, (seen, response) => {
      if (refusals-- > 0) response.writeHead(429, { 'retry-after': '20' }).end()
      else json(response, answerOf(seen.id))
    })
    const shared = paced(clock)
    const first = connect(t, server.url, shared)
    const second = connect(t, server.url, shared)
    first.request(1, 'work')
    await first.heard.until(() => (shared.pause?.leftMs ?? 0) > 0)
    first.request(2, 'work')
    second.request(3, 'work')
    second.send('{"jsonrpc":"2.0","method":"notifications/roots/list_changed"}')
    clock.move(19_999)
    await quiet()
    assert.equal(server.seen.length, 1, 'nobody makes it worse')
    clock.move(1)
    await first.heard.until(() => first.heard.messages.length === 2)
    await second.heard.until(() => second.heard.messages.length === 1)
    while (server.seen.length < 5) await quiet()
  })

  test('that is longer than anybody waits is said at once, and asks for no more than a minute', async (t) => {
    const clock = new Clock()
    const server = await scripted(t, (_seen, response) =>
      response.writeHead(503, { 'retry-after': '3600' }).end(),
    )
    const { heard, request } = connect(t, server.url, paced(clock))
    request(1, 'list')
    await heard.until(() => heard.failures.length === 1)
    assert.equal(heard.failures[0]?.error.details?.['status'], 503)
    request(2, 'list')
    await heard.until(() => heard.failures.length === 2)
    assert.match(heard.failures[1]?.error.message ?? '', /left alone \(HTTP 503\) for another 60 s/)
    assert.equal(server.seen.length, 1)
    clock.move(60_000)
    request(3, 'list')
    await heard.until(() => heard.failures.length === 3)
    assert.equal(server.seen.length, 2)
  })

  const errors = [
    ['of one tool, which its error says', '{"reason":"rate-limited","retryAfterSeconds":20}', 0],
    ['of all, with an error that does not say more', '{"reason":"busy"}', 20_000],
  ] as const
  for (const [title, data, pausedMs] of errors)
    test(title, async (t) => {
      const clock = new Clock()
      const body = `{"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"no","data":${data}}}`
      const server = await scripted(t, (_seen, response) =>
        response.writeHead(429, { 'retry-after': '20' }).end(body),
      )
      const shared = paced(clock)
      const { heard, request } = connect(t, server.url, { ...shared, limitsTool, retries: 0 })
      request(1, 'work')
      await heard.until(() => heard.messages.length === 1)
      assert.equal(shared.pause?.leftMs, pausedMs)
    })

  test('is taken back with the message that waits for it', async (t) => {
    const clock = new Clock()
    const server = await scripted(t, (seen, response) => {
      if (seen.id === 1) response.writeHead(429, { 'retry-after': '5' }).end()
      else response.writeHead(202).end()
    })
    const { heard, request, send } = connect(t, server.url, { ...paced(clock), retries: 0 })
    request(1, 'work')
    await heard.until(() => heard.failures.length === 1)
    request(2, 'work')
    send('{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2}}')
    clock.move(5000)
    while (server.seen.length < 2) await quiet()
    await quiet()
    assert.deepEqual(
      server.seen.map(({ rpc }) => rpc),
      ['work', 'notifications/cancelled'],
    )
  })

  test('on the stream of the server holds that stream, and no message', async (t) => {
    const clock = new Clock()
    const server = await scripted(t, (seen, response) => {
      if (seen.method === 'GET') response.writeHead(429, { 'retry-after': '3600' }).end()
      else if (seen.id === undefined) response.writeHead(202).end()
      else json(response, answerOf(seen.id))
    })
    const { heard, request, send } = connect(t, server.url, paced(clock))
    const gets = (): number => server.seen.filter(({ method }) => method === 'GET').length
    request(0, 'initialize')
    send('{"jsonrpc":"2.0","method":"notifications/initialized"}')
    while (gets() < 1) await quiet()
    request(1, 'work')
    await heard.until(() => heard.messages.length === 2)
    clock.move(59_999)
    await quiet()
    assert.equal(gets(), 1)
    clock.move(1)
    while (gets() < 2) await quiet()
  })

  for (const status of [307, 401]) {
    test(`holds what is sent once more after a ${status} too`, async (t) => {
      const clock = new Clock()
      const held: (() => void)[] = []
      const server = await scripted(t, (seen, response) => {
        if (seen.rpc === 'busy') response.writeHead(429, { 'retry-after': '20' }).end()
        else if (held.length === 0) held.push(() => response.writeHead(status, { location: '/moved' }).end())
        else json(response, answerOf(seen.id))
      })
      const credentials: HttpTarget['credentials'] = {
        credential: () => ({ fields: ['Authorization', 'Bearer t'], secret: 't' }),
        refused: () => Promise.resolve('again'),
      }
      const shared = paced(clock)
      const { heard, request } = connect(t, server.url, { ...shared, retries: 0, credentials })
      request(1, 'work')
      while (held.length === 0) await quiet()
      request(2, 'busy')
      await heard.until(() => (shared.pause?.leftMs ?? 0) > 0)
      for (const letGo of held) letGo()
      await quiet()
      assert.equal(server.seen.length, 2, 'nothing is sent before the time is over')
      clock.move(20_000)
      await heard.until(() => heard.messages.length === 1)
    })
  }
})

describe('a call that was taken back while it was on its way is not sent again', () => {
  const refusals: [string, number, Readonly<Record<string, string>>][] = [
    ['429', 429, {}],
    ['429 with Retry-After', 429, { 'retry-after': '1' }],
    ['503 with Retry-After', 503, { 'retry-after': '1' }],
    ['a redirect', 307, { location: '/moved' }],
    ['a credential that can be renewed', 401, {}],
  ]
  for (const [title, status, fields] of refusals)
    test(`though it is refused with ${title}`, async (t) => {
      const clock = new Clock()
      const held: (() => void)[] = []
      const server = await scripted(t, (seen, response) => {
        if (seen.id !== 1) return void response.writeHead(202).end()
        held.push(() => response.writeHead(status, fields).end())
      })
      const credentials: HttpTarget['credentials'] = {
        credential: () => ({ fields: ['Authorization', 'Bearer t'], secret: 't' }),
        refused: () => Promise.resolve('again'),
      }
      const { heard, request, send } = connect(t, server.url, { ...paced(clock), credentials })
      request(1, 'work')
      while (held.length === 0) await quiet()
      send('{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}')
      while (server.seen.length < 2) await quiet()
      for (const refuse of held) refuse()
      await quiet()
      clock.move(1000)
      await quiet()
      assert.equal(held.length, 1)
      assert.deepEqual([heard.messages, heard.failures], [[], []])
    })
})

test('a server that never takes `initialized` is called all the same', async (t) => {
  const clock = new Clock()
  const server = await scripted(t, (seen, response) => {
    if (seen.rpc !== 'notifications/initialized') json(response, answerOf(seen.id))
  })
  const { heard, request, send } = connect(t, server.url, paced(clock))
  request(0, 'initialize')
  send('{"jsonrpc":"2.0","method":"notifications/initialized"}')
  request(1, 'work')
  await heard.until(() => heard.messages.length === 1)
  clock.move(4999)
  await quiet()
  assert.equal(heard.messages.length, 1)
  clock.move(1)
  await heard.until(() => heard.messages.length === 2)
})

const NOW = 'Sun, 22 Nov 2026 09:00:00 GMT'

for (const [header, ms] of [
  ['0', 0],
  ['120', 120_000],
  ['Sun, 22 Nov 2026 09:00:10 GMT', 10_000],
  ['Sunday, 22-Nov-26 09:00:10 GMT', 10_000],
  ['Sun, 22 Nov 2026 08:00:00 GMT', 0],
  ['1.5', undefined],
  ['-1', undefined],
  ['10 s', undefined],
  ['2027', 2_027_000],
  ['soon', undefined],
  ['Sunday', undefined],
] as const)
  for (const [whose, date] of [
    ["the server's", NOW],
    ['ours, since it tells none', undefined],
    ['ours, since it tells nonsense', 'now'],
  ] as const)
    test(`Retry-After: ${header}, by a clock that is ${whose}`, () => {
      const fields: ReadonlyMap<string, string | undefined> = new Map([
        ['retry-after', header],
        ['date', date],
      ])
      // The two clocks differ by a day, so that each is seen to be taken.
      const said = date === NOW ? Date.parse(NOW) + 86_400_000 : Date.parse(NOW)
      assert.equal(retryAfterMs({ get: (name) => fields.get(name) }, { wallNow: () => said }), ms)
    })
