import assert from 'node:assert/strict'
import { Buffer } from 'node:buffer'
import { test } from 'node:test'
import { realClock } from '../../src/runtime/deadline.js'
import { MemoryStore, SharedMemory } from '../support/memory-store.js'
import { StoreAway } from '../../src/store/store.js'
import { describeStore } from './store-contract.js'

describeStore('a store in memory', (_, count) => {
  const shared = new SharedMemory()
  return Promise.resolve(Array.from({ length: count }, () => new MemoryStore(shared, realClock)))
})

test('a store in memory that is away refuses everything, and says when that changes', async () => {
  const store = new MemoryStore(new SharedMemory(), realClock)
  const changes: boolean[] = []
  store.onChange = () => changes.push(store.isAway)
  store.isAway = true
  await assert.rejects(store.get('key'), StoreAway)
  await assert.rejects(store.send('other', Buffer.of(1)), StoreAway)
  store.isAway = false
  assert.equal(await store.get('key'), undefined)
  assert.deepEqual(changes, [true, false])
})
