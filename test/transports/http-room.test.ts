// More connections than allowed, from several addresses: which ones are closed and which ones are accepted.

import assert from 'node:assert/strict'
import process from 'node:process'
import { describe, test } from 'node:test'
import { until } from '../integration/support/waiting.js'
import { type Front, type Scope, front, message, statusOf } from './support/http.js'
import { Wire } from './support/wire.js'

/** Other systems have only one loopback address. */
const skip = process.platform === 'linux' ? false : 'needs the addresses 127.0.0.2 to 127.0.0.18'

const principalOf = (token: string): string | undefined => (token === 'secret' ? 'me' : undefined)

/** The status of the next answer. 0 when the connection was closed instead. */
async function asks(wire: Wire, text: string): Promise<number> {
  wire.heard = ''
  wire.say(text)
  return statusOf(await wire.hears('}'))
}

function post(port: number, method = 'echo', fields = 'Authorization: Bearer secret\r\n'): string {
  const body = message(method, 1)
  return `POST /mcp HTTP/1.1\r\nHost: localhost:${port}\r\nContent-Type: application/json\r\n${fields}Content-Length: ${body.length}\r\n\r\n${body}`
}

async function dial(scope: Scope, { port }: Front, address?: string): Promise<Wire> {
  return new Wire(scope, port, address).connected()
}

describe('where a token is asked for', () => {
  test('clients with the token are served, however many addresses hold connections', { skip }, async (t) => {
    const limits = { connectionsMax: 128 }
    const served = await front(t, { principalOf, limits })
    const silent: Wire[] = []
    for (let address = 2; address <= 18; address++)
      for (let i = 0; i < 8; i++) silent.push(await dial(t, served, `127.0.0.${address}`))
    await until(() => silent.filter(({ isEnded }) => isEnded).length === 8)
    const found = silent.every(({ isEnded }, at) => isEnded === (at % 8 === 0 && at < 64))
    assert.ok(found, 'the oldest of each address that has most have gone')
    const statuses: number[] = []
    for (let call = 0; call < 27; call++) statuses.push(await asks(await dial(t, served), post(served.port)))
    assert.deepEqual(new Set(statuses), new Set([200]))
    assert.deepEqual(served.warnings, [
      'all 128 allowed connections are in use: the oldest that has not shown the token is closed for a new one, here one of 127.0.0.2',
    ])
  })

  test('many networks with one connection each are no exception', { skip }, async (t) => {
    const served = await front(t, { principalOf, limits: { connectionsMax: 16 } })
    for (let address = 2; address <= 18; address++) await dial(t, served, `127.0.0.${address}`)
    assert.equal(await asks(await dial(t, served), post(served.port)), 200)
  })

  test('hundreds that come at once with the token are all served', async (t) => {
    const served = await front(t, { principalOf, now: () => 0 })
    const many = Array.from({ length: 300 }, () => asks(new Wire(t, served.port), post(served.port)))
    assert.deepEqual(new Set(await Promise.all(many)), new Set([200]))
    assert.deepEqual(served.warnings, [])
  })

  test('one address with more than its share goes before the others', { skip }, async (t) => {
    const served = await front(t, { principalOf, limits: { connectionsMax: 12 } })
    const quiet = await dial(t, served, '127.0.0.2')
    const greedy: Wire[] = []
    for (let i = 0; i < 12; i++) greedy.push(await dial(t, served, '127.0.0.3'))
    await until(() => greedy[0]?.isEnded === true)
    assert.equal(await asks(quiet, post(served.port)), 200)
  })
})

describe('where every connection is in use', () => {
  const limits = { connectionsMax: 4 }

  test('the oldest without a whole request goes first', async (t) => {
    const served = await front(t, { limits })
    const asked = await dial(t, served)
    assert.equal(await asks(asked, post(served.port)), 200)
    const dripping = await dial(t, served)
    dripping.socket.write(post(served.port).slice(0, -1))
    await until(() => dripping.socket.bytesWritten > 100)
    const silent = [await dial(t, served), await dial(t, served)]
    assert.equal(await asks(await dial(t, served), post(served.port)), 200)
    await until(() => dripping.isEnded)
    const ended = [asked, ...silent].map(({ isEnded }) => isEnded)
    assert.deepEqual(ended, [false, false, false])
    assert.match(served.warnings[0] ?? '', /the oldest that has sent no request is closed for a new one/)
    assert.equal(await asks(asked, post(served.port)), 200)
  })

  test('the connection that was idle longest is closed next, and never one with a request', async (t) => {
    let nowMs = 0
    const served = await front(t, { limits: { connectionsMax: 8 }, now: () => ++nowMs })
    const wait = async (one: Wire): Promise<Wire> => {
      const before = served.sessions.length
      one.socket.write(post(served.port, 'wait'))
      await until(() => served.sessions.length > before)
      return one
    }
    const resting: Wire[] = []
    for (let i = 0; i < 3; i++) resting.push(await dial(t, served))
    for (const one of resting.toReversed()) assert.equal(await asks(one, post(served.port)), 200)
    const waiting: Wire[] = []
    for (let i = 0; i < 6; i++) waiting.push(await wait(await dial(t, served)))
    const ended = resting.map(({ isEnded }) => isEnded)
    assert.deepEqual(ended, [false, false, true])
    for (const one of resting.slice(0, 2)) await wait(one)
    const refused = new Wire(t, served.port)
    await until(() => refused.isEnded)
    assert.ok([...waiting, ...resting.slice(0, 2)].every(({ isEnded }) => !isEnded))
    assert.match(served.warnings[0] ?? '', /the one that has been idle longest is closed for a new one$/)
  })

  test('a body that comes later than its head is a whole request too', async (t) => {
    const served = await front(t, { limits })
    const text = post(served.port, 'wait', 'Expect: 100-continue\r\n')
    const bodyAt = text.indexOf('\r\n\r\n') + 4
    const slow = await dial(t, served)
    slow.socket.write(text.slice(0, bodyAt))
    await until(() => slow.heard.includes('100 Continue'))
    slow.socket.write(text.slice(bodyAt))
    await until(() => served.sessions.length === 1)
    const silent = [await dial(t, served), await dial(t, served), await dial(t, served)]
    await dial(t, served)
    await until(() => silent[0]?.isEnded === true)
    assert.equal(slow.isEnded, false)
  })

  test('a system that has no more descriptors is the same', async (t) => {
    let room: 'enough' | 'none' = 'enough'
    const served = await front(t, { roomOf: () => room })
    const silent = [await dial(t, served), await dial(t, served)]
    room = 'none'
    assert.equal(await asks(await dial(t, served), post(served.port)), 200)
    const ends = silent.map(({ isEnded }) => isEnded)
    assert.deepEqual(ends, [true, false])
  })
})
