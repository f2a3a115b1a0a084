// Two gateways on one store: limits that they share, and what their clients get while the store is away.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { realClock } from '../../src/runtime/deadline.js'
import { MemoryStore, SharedMemory } from '../support/memory-store.js'
import { gatewayOf, sendStateless } from '../integration/support/gateway.js'
import { at } from '../integration/support/json.js'
import { itServer } from '../integration/support/programs.js'
import type { Scope } from '../integration/support/spawned.js'
import { messageIn } from '../transports/support/http.js'

async function instances(scope: Scope, limits: object) {
  const shared = new SharedMemory()
  const one = async (instance: string) => {
    const store = new MemoryStore(shared, realClock)
    const server = { instance, stateKey: 'a key of all instances' }
    const config = { server, limits: [limits], mcpServers: { it: itServer() } }
    const { port } = await gatewayOf(scope, config, { store })
    const params = { name: 'it__nonce', arguments: { n: 'a' } }
    /** Calls a tool: the HTTP status, the reason of an error and the field `Retry-After`. */
    const call = async () => {
      const { status, headers, body } = await sendStateless(port, { method: 'tools/call', params })
      return [status, at(messageIn(body), 'error', 'data', 'reason'), headers['retry-after']] as const
    }
    return { store, call }
  }
  return Promise.all([one('a'), one('b')])
}

const passed = [200, undefined, undefined]

describe('two gateways on one store', () => {
  test('count the calls of a principal together', async (t) => {
    const [one, other] = await instances(t, { perMinute: 1, burst: 3 })
    for (const { call } of [one, other, one]) assert.deepEqual(await call(), passed)
    for (const { call } of [one, other]) assert.deepEqual(await call(), [429, 'rate-limited', '60'])
  })

  test('let through what they have of the limit while the store is away, and then say that it is', async (t) => {
    const [one, other] = await instances(t, { perMinute: 20 })
    assert.deepEqual(await one.call(), passed)
    one.store.isAway = true
    other.store.isAway = true
    assert.deepEqual(await one.call(), passed)
    for (const { call } of [one, other]) assert.deepEqual(await call(), [503, 'store-away', '2'])
  })
})
