// Servers that are started when they are needed, and stopped when they are not.

import { strict as assert } from 'node:assert'

import { test } from 'node:test'
import { toolNames } from './support/client.js'

import { at } from './support/json.js'
import { proxyWithClient } from './support/library.js'
import { itServer } from './support/programs.js'
import {
  type Act,
  type Scripted,
  handshake,
  opening,
  scripted,
  simple,
  timed,
  toolChanges,
} from './support/scripted.js'

import { until } from './support/waiting.js'

const processesOf = ({ runtime }: Scripted, name: string): number =>
  runtime.children.filter(({ command }) => command === name).length

test('a lazy server is not started with the others nor for a client that only opens a session, and is for a list', async (t) => {
  const it = await scripted(t, { s: { lazy: true }, eager: {} }, simple, { eager: true })
  const party = await it.attach()
  const { client } = party
  const { heard } = await timed(it, opening(party))
  assert.notEqual(at(heard.value, 'result', 'capabilities', 'tools'), undefined, 'it may have tools')
  await timed(it, client.call('eager__t'))
  assert.deepEqual([processesOf(it, 's'), it.proxy.status()[0]?.state], [0, 'disconnected'])
  assert.deepEqual(toolNames((await timed(it, client.request('tools/list'))).heard), ['s__t', 'eager__t'])
  assert.deepEqual([processesOf(it, 's'), it.proxy.status()[0]?.state], [1, 'connected'])
})

/** Asks for roots in each call, and says what it is answered. */
const asking: Act = (method, child) => {
  if (method === 'initialize') return handshake('s', '{"tools":{"listChanged":true},"logging":{}}')
  if (method !== 'tools/call') return simple(method, child)
  const { lastId } = child
  child.answered = (message) => {
    const text = JSON.stringify(JSON.stringify(message))
    child.say(`{"jsonrpc":"2.0","id":${lastId},"result":{"content":[{"type":"text","text":${text}}]}}`)
  }
  child.say('{"jsonrpc":"2.0","id":"q","method":"roots/list"}')
  return undefined
}

test('a server that is stopped while nobody needs it is back for the next call, with the level, and can ask for roots', async (t) => {
  const it = await scripted(t, { s: { idleTimeout: 100, lazy: true } }, asking)
  const party = await it.attach()
  const { client } = party
  client.onRequest = () => '{"roots":[{"uri":"file:///r"}]}'
  await timed(it, opening(party, { roots: {} }))
  client.notify('notifications/initialized')
  await timed(it, client.request('logging/setLevel', { level: 'error' }))
  for (let round = 0; round < 3; round++) {
    const { heard } = await timed(it, client.call('s__t'))
    assert.match(heard.text, /file:\/\/\/r/)
    await it.runtime.pass(10_000)
    assert.deepEqual([it.proxy.status()[0]?.pids, it.proxy.status()[0]?.state], [[], 'connected'])
    assert.deepEqual(toolNames((await timed(it, client.request('tools/list'))).heard), ['s__t'])
    assert.equal(processesOf(it, 's'), round + 1, 'a list starts nothing that is known')
  }
  const levels = it.runtime.children
    .flatMap(({ heard }) => heard)
    .filter((each) => each === 'logging/setLevel')
  assert.equal(levels.length, 3)
  assert.equal(toolChanges(party), 0)
})

test('a server of which each client has its own process starts for nobody when nobody is there', async (t) => {
  const servers = { s: itServer({}, { isolation: 'session' }) }
  const { client, connection, proxy } = await proxyWithClient(t, servers, { ownStart: 'with-client' })
  await client.call('s__nonce', { n: '1' })
  assert.equal(proxy.status()[0]?.state, 'connected')
  await connection.close()
  await until(() => proxy.status()[0]?.pids.length === 0)
  assert.equal(proxy.status()[0]?.state, 'disconnected')
})
