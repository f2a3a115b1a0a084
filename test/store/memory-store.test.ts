import { realClock } from '../../src/runtime/deadline.js'
import { MemoryStore, SharedMemory } from '../support/memory-store.js'
import { describeStore } from './store-contract.js'

describeStore('a store in memory', (_, count) => {
  const shared = new SharedMemory()
  return Promise.resolve(Array.from({ length: count }, () => new MemoryStore(shared, realClock)))
})
