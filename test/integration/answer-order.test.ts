// Which answer comes first, where a client writes many messages at once.

import { strict as assert } from 'node:assert'
import { type TestContext, describe, test } from 'node:test'
import { type RawClient } from './support/client.js'
import { at, textAt } from './support/json.js'
import { libraryProxy } from './support/library.js'
import { itServer, nodeProgram } from './support/programs.js'

const initialized = '{"jsonrpc":"2.0","method":"notifications/initialized"}'
const exit = '{"jsonrpc":"2.0","method":"notifications/exit"}'

const request = (id: number | string, method: string, params: unknown = {}): string =>
  JSON.stringify({ jsonrpc: '2.0', id, method, params })

const call = (id: number, name: string, args: unknown = {}): string =>
  request(id, 'tools/call', { name, arguments: args })

const initialize = (capabilities: unknown = {}): string =>
  request('init', 'initialize', {
    protocolVersion: '2025-06-18',
    capabilities,
    clientInfo: { name: 'it', version: '1' },
  })

/** What came, by its id or else by its method, in its order. */
const order = ({ heard }: RawClient): unknown[] =>
  heard.map(({ value }) => at(value, 'id') ?? at(value, 'method'))

/** A client whose `initialize` waits for half a second. */
async function waiting(t: TestContext): Promise<RawClient> {
  const servers = { s: itServer({ IT_START: 'hang' }) }
  const { attach } = await libraryProxy(t, servers, {}, { startupGraceMs: 500 })
  return (await attach()).client
}

describe('while initialize waits for servers', () => {
  test('everything but a ping is answered after it, in order', async (t) => {
    const client = await waiting(t)
    const last = client.answer('shutdown')
    const behind = [
      request('unknown', 'invalid/method'),
      request('ping', 'ping'),
      initialize().replace('"init"', '"again"'),
      '{"jsonrpc":"2.0","id":"odd","method":1}',
      request('level', 'logging/setLevel', { level: 'info' }),
      request('shutdown', 'shutdown'),
    ]
    for (const line of [initialize(), ...behind]) client.send(line)
    await last
    assert.deepEqual(order(client), ['ping', 'init', 'unknown', 'again', 'odd', 'level', 'shutdown'])
  })

  test('a client that ends its session meanwhile is answered everything that it has asked', async (t) => {
    const client = await waiting(t)
    const last = client.answer(2)
    const lines = [initialize(), request(1, 'prompts/get'), request(2, 'invalid/method'), exit]
    for (const line of lines) client.send(line)
    await last
    assert.deepEqual(order(client), ['init', 1, 2])
  })

  test('a server asks the client nothing before it is answered', async (t) => {
    const servers = {
      asks: nodeProgram('asks.mjs', { ASKS_AT_ONCE: '1' }, {}),
      s: itServer({ IT_START: 'hang' }),
    }
    const { attach } = await libraryProxy(t, servers, { ownStart: 'with-client' }, { startupGraceMs: 500 })
    const { client } = await attach()
    client.onRequest = () => '{"roots":[]}'
    const asked = client.notification('roots/list')
    for (const line of [initialize({ roots: {} }), initialized]) client.send(line)
    await asked
    assert.equal(order(client)[0], 'init')
  })
})

describe('shutdown', () => {
  test('lets calls before it finish, takes no new ones, and concerns one client alone', async (t) => {
    const { attach } = await libraryProxy(t, { s: itServer() })
    const [{ client, session }, other] = [await attach(), await attach()]
    for (const each of [client, other.client]) await each.open()
    const before = client.heard.length
    client.send(call(101, 's__hold', { key: 'k' }))
    client.send(request(102, 'shutdown'))
    client.send(call(103, 's__nonce'))
    client.send(request(104, 'shutdown'))
    await client.request('ping', {}, 105)
    assert.deepEqual(order(client).slice(before), [102, 103, 104, 105])
    const refused = client.heard.find(({ value }) => at(value, 'id') === 103)
    assert.equal(textAt(refused?.value, 'error', 'data', 'reason'), 'shutting-down')
    await other.client.call('s__release', { key: 'k' })
    await client.some('s__hold', ({ value }) => at(value, 'id') === 101)
    client.send(exit)
    assert.equal((await session.ended).exitCode, 0)
    assert.equal(at((await other.client.call('s__nonce')).value, 'error'), undefined)
  })
})
