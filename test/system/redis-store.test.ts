// The store on redis-server.

import assert from 'node:assert/strict'
import { Buffer } from 'node:buffer'
import { describe, test } from 'node:test'
import { freePort } from '../integration/support/free-port.js'
import type { Scope } from '../integration/support/spawned.js'
import { realClock } from '../../src/runtime/deadline.js'
import { openRedisStore, type RedisStore, StoreRefused } from '../../src/store/redis-store.js'
import { StoreAway } from '../../src/store/store.js'
import { describeStore, until } from '../store/store-contract.js'
import { startRedis, tellRedis } from './support/redis.js'

async function openAt(scope: Scope, port: number): Promise<RedisStore> {
  const store = await openRedisStore(`redis://127.0.0.1:${port}`, realClock)
  scope.after(() => store.close())
  return store
}

describeStore('a store in Redis', async (scope, count) => {
  const { port } = await startRedis(scope)
  return Promise.all(Array.from({ length: count }, () => openAt(scope, port)))
})

describe('a store in Redis', () => {
  test('is refused where Redis may drop entries', async (t) => {
    const { port } = await startRedis(t, 'allkeys-lru')
    await assert.rejects(openAt(t, port), (error) => {
      assert.ok(error instanceof StoreRefused)
      assert.match(error.message, /allkeys-lru/)
      assert.match(error.hint, /noeviction/)
      return true
    })
  })

  test('is refused where nothing listens', async (t) => {
    await assert.rejects(openAt(t, await freePort()), StoreRefused)
  })

  test('is away while Redis does not answer, and there again afterwards', async (t) => {
    const { port } = await startRedis(t)
    const store = await openAt(t, port)
    const changes: boolean[] = []
    store.onChange = () => changes.push(store.isAway)
    const came: string[] = []
    await store.receive('one', (message) => came.push(message.toString()))
    await tellRedis(port, 'CLIENT PAUSE 1500 ALL')
    await assert.rejects(store.put('key', Buffer.from('x'), 60_000), StoreAway)
    assert.equal(store.isAway, true)
    await assert.rejects(store.get('key'), StoreAway)
    await until(() => !store.isAway)
    assert.deepEqual(changes, [true, false])
    await store.send('one', Buffer.from('again'))
    await until(() => came.length > 0)
    assert.deepEqual(came, ['again'])
  })

  test('is away while Redis refuses to write', async (t) => {
    const { port } = await startRedis(t)
    const store = await openAt(t, port)
    let why: unknown
    store.onChange = (cause) => (why ??= cause)
    await tellRedis(port, 'CONFIG SET maxmemory 1')
    await assert.rejects(store.put('key', Buffer.from('x'), 60_000), StoreAway)
    assert.equal(store.isAway, true)
    assert.match(String(why), /OOM/)
    await tellRedis(port, 'CONFIG SET maxmemory 0')
    await until(() => !store.isAway)
    await store.put('key', Buffer.from('x'), 60_000)
  })

  test('goes on after each of its connections was closed', async (t) => {
    const { port } = await startRedis(t)
    const [one, other] = [await openAt(t, port), await openAt(t, port)]
    const came: string[] = []
    await other.receive('other', (message) => came.push(message.toString()))
    await tellRedis(port, 'CLIENT KILL TYPE normal SKIPME no')
    await until(() => one.isAway || other.isAway)
    await until(() => !one.isAway && !other.isAway)
    await one.send('other', Buffer.from('after it'))
    await until(() => came.length > 0)
    assert.deepEqual(came, ['after it'])
  })
})
