// The order of the answers to many messages in one write.

import { strict as assert } from 'node:assert'
import { type TestContext, test } from 'node:test'
import { type RawClient } from './support/client.js'
import { at } from './support/json.js'
import { libraryProxy } from './support/library.js'
import { itServer } from './support/programs.js'

const request = (id: number | string, method: string, params: unknown = {}): string =>
  JSON.stringify({ jsonrpc: '2.0', id, method, params })

const initialize = (capabilities: unknown = {}): string =>
  request('init', 'initialize', {
    protocolVersion: '2025-06-18',
    capabilities,
    clientInfo: { name: 'it', version: '1' },
  })

/** The ids, or else the methods, of the messages that came. */
const order = ({ heard }: RawClient): unknown[] =>
  heard.map(({ value }) => at(value, 'id') ?? at(value, 'method'))

/** A client whose `initialize` waits for half a second. */
async function waiting(t: TestContext): Promise<RawClient> {
  const servers = { s: itServer({ IT_START: 'hang' }) }
  const { attach } = await libraryProxy(t, servers, {}, { startupGraceMs: 500 })
  return (await attach()).client
}

test('while initialize waits for servers, everything but a ping is answered after it, in order', async (t) => {
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
