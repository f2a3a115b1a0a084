// Servers that are started when they are needed, and stopped when they are not.

import { strict as assert } from 'node:assert'
import { describe, test } from 'node:test'
import { said } from './support/client.js'
import { at, numberAt, textAt } from './support/json.js'
import { libraryProxy } from './support/library.js'
import { phases } from './support/phases.js'
import { itServer } from './support/programs.js'
import { spawnProxy } from './support/spawned.js'
import { until } from './support/waiting.js'
import { gatewayOf } from './support/gateway.js'

const changed = 'notifications/tools/list_changed'

describe('a lazy server', () => {
  test('is not started for a client that only opens a session, and is for a list', async (t) => {
    const [s, eager] = [phases(t, [{}], { lazy: true }), phases(t, [{}])]
    const { attach, proxy } = await libraryProxy(t, { s: s.entry, eager: eager.entry })
    const { client } = await attach()
    const opened = await client.open()
    assert.notEqual(at(opened, 'capabilities', 'tools'), undefined, 'it may have tools')
    await client.call('eager__which')
    assert.deepEqual([s.starts(), proxy.status()[0]?.state], [0, 'disconnected'])
    const listed = await client.toolNames()
    assert(listed.includes('s__which') && listed.includes('eager__which'), listed.join())
    await until(() => proxy.status()[0]?.state === 'connected')
    assert.equal(s.starts(), 1)
  })

  test('is not started before its time by the command, nor by the gateway', async (t) => {
    const [s, o] = [phases(t, [{}], { lazy: true }), phases(t, [{}])]
    const { client } = spawnProxy(t, { s: s.entry, o: o.entry })
    await client.open()
    await client.call('o__which')
    assert.equal(s.starts(), 0)
    assert.equal(numberAt(said(await client.call('s__which')), 'start'), 0)

    const g = phases(t, [{}], { lazy: true })
    await gatewayOf(t, { mcpServers: { g: g.entry, o: o.entry } })
    await until(() => o.starts() === 2)
    assert.equal(g.starts(), 0)
  })
})

describe('a server that is stopped while nobody needs it', () => {
  test('is back for the next call, with the level, and can ask for roots', async (t) => {
    const s = phases(t, [{ tools: ['which', 'ask'] }], { idleTimeout: 100, lazy: true })
    const { attach, proxy } = await libraryProxy(t, { s: s.entry })
    const { client } = await attach()
    client.onRequest = () => '{"roots":[{"uri":"file:///r"}]}'
    await client.open({ roots: {} })
    await client.request('logging/setLevel', { level: 'error' })
    for (let round = 0; round < 3; round++) {
      const heard = await client.call('s__ask', { n: round })
      assert.match(heard.text, /file:\/\/\/r/)
      await until(() => proxy.status()[0]?.pids.length === 0)
      assert.equal(proxy.status()[0]?.state, 'connected')
      assert((await client.toolNames()).includes('s__ask'))
      assert.equal(s.starts(), round + 1, 'a list starts nothing that is known')
    }
    assert.equal(s.told('logging/setLevel').length, 3)
    assert.equal(
      client.count((value) => textAt(value, 'method') === changed),
      0,
    )
  })
})

test('a server of which each client has its own process starts for nobody when nobody is there', async (t) => {
  const servers = { s: itServer({}, { isolation: 'session' }) }
  const { proxy, attach } = await libraryProxy(t, servers, { ownStart: 'with-client' })
  const { client, connection } = await attach()
  await client.open()
  await client.call('s__nonce', { n: '1' })
  assert.equal(proxy.status()[0]?.state, 'connected')
  await connection.close()
  await until(() => proxy.status()[0]?.pids.length === 0)
  assert.equal(proxy.status()[0]?.state, 'disconnected')
})
