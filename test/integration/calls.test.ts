// What can happen to a call on its way: crashes, deadlines, cancels, limits.

import { strict as assert } from 'node:assert'
import { describe, test } from 'node:test'
import { limits } from '../../src/index.js'
import { type RawClient, failure, said } from './support/client.js'
import { at, listAt, numberAt, parsed, textAt } from './support/json.js'
import { libraryProxy } from './support/library.js'
import { enter, scripted, simple } from './support/scripted.js'
import { itServer } from './support/programs.js'
import type { Scope, Servers } from './support/spawned.js'
import { until } from './support/waiting.js'

async function opened(t: Scope, servers: Servers, more = {}): Promise<RawClient> {
  const { client } = await (await libraryProxy(t, servers, {}, more)).attach()
  await client.open()
  return client
}

/** The messages that a test server got, in order. */
async function linesOf(client: RawClient, service = 's'): Promise<unknown[]> {
  const seen = said(await client.call(`${service}__seen`))
  return listAt(seen, 'lines').map((line) => parsed(Buffer.from(String(line), 'base64').toString()))
}

const withMethod = (lines: readonly unknown[], method: string): unknown[] =>
  lines.filter((line) => textAt(line, 'method') === method)

const callsOf = (lines: readonly unknown[], tool: string): unknown[] =>
  lines.filter((line) => textAt(line, 'params', 'name') === tool)

const holdLine = (id: string, key: string): string =>
  `{"jsonrpc":"2.0","id":${id},"method":"tools/call","params":{"name":"s__hold","arguments":{"key":"${key}"}}}`

test('a server may answer in a batch', async (t) => {
  const it = await scripted(t, { s: {} }, (method, child) => {
    if (method !== 'tools/call') return simple(method, child)
    child.say(`[{"jsonrpc":"2.0","id":${child.lastId},"result":{"content":[]}}]`)
    return undefined
  })
  const { client } = await enter(it)
  assert.deepEqual(at((await client.call('s__t')).value, 'result'), { content: [] })
})

describe('a server that ends in the middle of calls', () => {
  test('each call in flight gets one error, and the next call works', async (t) => {
    const client = await opened(t, { s: itServer({}, { restartDelay: 1 }) })
    const before = numberAt(said(await client.call('s__nonce', { n: 'a' })), 'pid')
    const ids = Array.from({ length: 20 }, (_, i) => `held-${i}`)
    const held = ids.map((id) => client.call('s__hold', { key: id }, undefined, id))
    const died = client.call('s__die', { code: 9 }, undefined, 'died')
    for (const heard of await Promise.all([...held, died])) {
      assert.deepEqual(failure(heard), [-32603, 's', 'exited'])
      assert.match(textAt(heard.value, 'error', 'message'), /code 9/)
    }
    const after = numberAt(said(await client.call('s__nonce', { n: 'b' })), 'pid')
    assert.notEqual(after, before)
    for (const id of [...ids, 'died']) assert.equal(client.answersTo(id), 1)
  })
})

describe('cancels', () => {
  test('a cancelled call gets no answer, and the server one cancel with the id it knows', async (t) => {
    const { attach } = await libraryProxy(t, { s: itServer() })
    const [one, two] = [await attach(), await attach()]
    await one.client.open()
    await two.client.open()
    await one.client.call('s__nonce', { n: 'known' })
    await two.client.call('s__nonce', { n: 'known' })
    // Both have a call 77 in flight, so that one of them is known by another id.
    const ends = [one, two].map(({ client }, i) => {
      client.send(
        `{"jsonrpc":"2.0","id":77,"method":"tools/call","params":{"name":"s__hold","arguments":{"key":"c${i}"}}}`,
      )
      client.notify('notifications/cancelled', { requestId: 77, reason: `because ${i}` })
      return client
    })
    // What a client sent before a ping has been dealt with when the answer comes.
    for (const client of ends) await client.request('ping')
    const lines = await linesOf(one.client)
    const calls = callsOf(lines, 'hold')
    const cancels = withMethod(lines, 'notifications/cancelled')
    assert.equal(cancels.length, 2)
    for (const [i] of ends.entries()) {
      const call = calls.find((each) => textAt(each, 'params', 'arguments', 'key') === `c${i}`)
      const cancel = cancels.find((each) => textAt(each, 'params', 'reason') === `because ${i}`)
      assert.notEqual(at(call, 'id'), undefined)
      assert.deepEqual(at(cancel, 'params', 'requestId'), at(call, 'id'))
    }
    // The server answers all the same.
    await one.client.call('s__release', { key: 'c0' })
    await one.client.call('s__release', { key: 'c1' })
    await two.client.call('s__nonce', { n: 'after' })
    for (const client of ends) assert.equal(client.answersTo(77), 0)
  })

  test('a cancelled id may be used again at once', async (t) => {
    const client = await opened(t, { s: itServer() })
    client.send(
      '{"jsonrpc":"2.0","id":9,"method":"tools/call","params":{"name":"s__hold","arguments":{"key":"old"}}}',
    )
    client.notify('notifications/cancelled', { requestId: 9 })
    const again = client.call('s__hold', { key: 'new' }, undefined, 9)
    await client.call('s__release', { key: 'old' })
    await client.call('s__release', { key: 'new' })
    assert.equal(textAt(said(await again), 'n'), 'new')
    assert.equal(client.answersTo(9), 1)
  })
})

describe('ids', () => {
  test('an id in use is refused, and the first call still answered', async (t) => {
    const client = await opened(t, { s: itServer() })
    client.send(holdLine('3', 'first'))
    const refused = client.next('a refusal', ({ value }) => at(value, 'error', 'code') === -32600)
    client.send(holdLine('3.0', 'second'))
    assert.match((await refused).text, /"id":3\.0/)
    const answer = client.answer(3)
    await client.call('s__release', { key: 'first' })
    assert.equal(textAt(said(await answer), 'n'), 'first')
  })

  test('an id is refused too while the answer to initialize is awaited', async (t) => {
    const { attach } = await libraryProxy(t, { s: itServer({ IT_START: 'late:150' }) })
    const { client } = await attach()
    const params = {
      protocolVersion: '2025-06-18',
      capabilities: {},
      clientInfo: { name: 'i', version: '1' },
    }
    const open = client.request('initialize', params, 'open')
    const refusals = (): number => client.count((value) => at(value, 'error', 'code') === -32600)
    const first = client.call('s__nonce', { n: 'first' }, undefined, 'twin')
    const refused = client.next('a refusal', ({ value }) => at(value, 'error', 'code') === -32600)
    void client.call('s__nonce', { n: 'second' }, undefined, 'twin')
    await refused
    await open
    await client.call('s__nonce', { n: 'z' })
    await first
    assert.equal(refusals(), 1)
    assert.equal(client.answersTo('twin'), 2)
    const results = client.heard.filter(
      ({ value }) => at(value, 'id') === 'twin' && at(value, 'result') !== undefined,
    )
    assert.deepEqual(
      results.map((heard) => textAt(said(heard), 'n')),
      ['first'],
    )
  })
})

describe('limits and turns', () => {
  test('concurrency 1 runs one at a time and in order, whichever tool and however new', async (t) => {
    const client = await opened(t, { s: itServer({}, { concurrency: 1 }) })
    // The schema of `strict` has to be compiled when it is first called.
    const names = Array.from({ length: 30 }, (_, i) => `n${i}`)
    await Promise.all(
      names.map((n, i) => client.call(i % 10 === 0 ? 's__strict' : 's__turn', { n, ticks: i % 4 })),
    )
    const turns = said(await client.call('s__turns'))
    assert.equal(numberAt(turns, 'activeMax'), 1)
    assert.deepEqual(listAt(turns, 'order'), names)
  })

  test('processes 3 spreads what is more than one process takes', async (t) => {
    const client = await opened(t, { s: itServer({}, { processes: 3, concurrency: 1 }) })
    const calls = Array.from({ length: 12 }, (_, i) =>
      client.call('s__slow', { steps: 2, everyMs: 20, i }, { progressToken: i }),
    )
    const nonces = Array.from({ length: 12 }, (_, i) => client.call('s__turn', { n: String(i), ticks: 5 }))
    await Promise.all(calls)
    const pids = new Set((await Promise.all(nonces)).map((heard) => numberAt(said(heard), 'pid')))
    assert.equal(pids.size, 3)
  })

  test('a process that keeps crashing does not take the calls that others could serve', async (t) => {
    const restart = { ...limits.upstream.restart, crashesMax: 1 }
    const servers = { s: itServer({}, { processes: 2, concurrency: 1 }) }
    const options = { limits: { ...limits, upstream: { ...limits.upstream, restart } } }
    const { client } = await (await libraryProxy(t, servers, options)).attach()
    await client.open()
    client.send(
      '{"jsonrpc":"2.0","id":"h","method":"tools/call","params":{"name":"s__hold","arguments":{"key":"k"}}}',
    )
    const other = numberAt(said(await client.call('s__nonce', { n: '1' })), 'pid')
    client.notify('notifications/cancelled', { requestId: 'h' })
    await client.request('ping')
    await client.call('s__die')
    for (let i = 0; i < 5; i++) assert.equal(numberAt(said(await client.call('s__nonce', {})), 'pid'), other)
  })

  test('idleTimeout stops a process that never had a call, but not one whose resources are followed', async (t) => {
    const servers = {
      s: itServer({}, { idleTimeout: 60 }),
      f: itServer({ IT_NAME: 'f' }, { idleTimeout: 60 }),
    }
    const { attach, proxy } = await libraryProxy(t, servers)
    const { client } = await attach()
    await client.open()
    await client.request('resources/subscribe', { uri: 'it://f/a' })
    const pid = numberAt(said(await client.call('f__nonce', {})), 'pid')
    await until(() => proxy.status()[0]?.pids.length === 0)
    await client.call('s__nonce', {})
    await until(() => proxy.status()[0]?.pids.length === 0)
    assert.deepEqual(proxy.status()[1]?.pids, [pid])
  })
})
