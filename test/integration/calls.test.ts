// Calls and the processes that take them.

import { strict as assert } from 'node:assert'
import { describe, test } from 'node:test'
import { limits } from '../../src/index.js'
import { type RawClient, said } from './support/client.js'
import { at, numberAt } from './support/json.js'
import { libraryProxy } from './support/library.js'
import { itServer } from './support/programs.js'
import { enter, scripted, simple } from './support/scripted.js'
import type { Scope, Servers } from './support/spawned.js'
import { until } from './support/waiting.js'

async function opened(t: Scope, servers: Servers, more = {}): Promise<RawClient> {
  const { client } = await (await libraryProxy(t, servers, {}, more)).attach()
  await client.open()
  return client
}

test('a server may answer in a batch', async (t) => {
  const it = await scripted(t, { s: {} }, (method, child) => {
    if (method !== 'tools/call') return simple(method, child)
    child.say(`[{"jsonrpc":"2.0","id":${child.lastId},"result":{"content":[]}}]`)
    return undefined
  })
  const { client } = await enter(it)
  assert.deepEqual(at((await client.call('s__t')).value, 'result'), { content: [] })
})

describe('limits and turns', () => {
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
