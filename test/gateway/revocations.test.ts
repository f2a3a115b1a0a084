// Tokens that are revoked in the store of several instances.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { FrontAccess, hashOf } from '../../src/gateway/front-access.js'
import { Revocations, writeRevoked } from '../../src/gateway/revocations.js'
import { MemoryStore, SharedMemory } from '../../src/store/memory-store.js'
import { StoreAway } from '../../src/store/store.js'
import { FakeClock } from '../upstream/support/fake-clock.js'

const named = (name: string) => ({
  name,
  sha256: hashOf(name).toString('hex'),
  profiles: undefined,
  expiresAtMs: undefined,
})
const [ann, bob] = [named('ann'), named('bob')]

interface Instance {
  readonly store: MemoryStore
  readonly clock: FakeClock
  readonly revocations: Revocations
  /** What a client with this token gets: its principal, or a status. */
  get(token: string): string | number
  /** How often sessions were ended. */
  ends(): number
}

function instance(shared = new SharedMemory()): Instance {
  const clock = new FakeClock()
  const store = new MemoryStore(shared, clock)
  const revocations = new Revocations(store, clock)
  const access = new FrontAccess({ token: 'all', tokens: [ann, bob] }, () => 0, undefined, revocations)
  let ends = 0
  revocations.onRevoked = () => void ends++
  const get = (token: string): string | number => {
    const verdict = access.senderOf(token, '/mcp', '')
    assert(!(verdict instanceof Promise))
    return 'principal' in verdict ? verdict.principal : verdict.status
  }
  return { store, clock, revocations, get, ends: () => ends }
}

const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

describe('a token', () => {
  test('that was revoked before the start is refused, and others are not', async () => {
    const { store, revocations, get } = instance()
    await writeRevoked(store, ann.sha256)
    await revocations.read([ann, bob])
    assert.deepEqual([get('ann'), get('bob'), get('all')], [401, 'bob', get('all')])
    assert.match(String(get('all')), /^bearer /)
  })

  test('that is revoked now is refused immediately, and its sessions end', async () => {
    const { revocations, get, ends } = instance()
    await revocations.read([ann, bob])
    assert.deepEqual([get('ann'), ends()], ['ann', 0])
    revocations.revoke(ann.sha256)
    assert.deepEqual([get('ann'), get('bob'), ends()], [401, 'bob', 1])
  })

  test('is found revoked within a minute where the message was lost', async () => {
    const { store, revocations, clock, get, ends } = instance()
    await revocations.read([ann, bob])
    await writeRevoked(store, ann.sha256)
    store.isAway = true
    clock.advance(60_000)
    await settled()
    assert.equal(get('ann'), 'ann')
    store.isAway = false
    clock.advance(60_000)
    await settled()
    assert.deepEqual([get('ann'), get('bob'), ends()], [401, 'bob', 1])
  })

  test('stays revoked where the store had answered before', async () => {
    const { revocations, get } = instance()
    const read = revocations.read([ann])
    revocations.revoke(ann.sha256)
    await read
    assert.equal(get('ann'), 401)
  })

  test('that nobody can be asked about is refused for now, and its sessions stay', async () => {
    const { store, revocations, clock, get } = instance()
    store.isAway = true
    await assert.rejects(revocations.read([ann]), StoreAway)
    assert.deepEqual([get('ann'), String(get('all')).slice(0, 6)], [503, 'bearer'])
    store.isAway = false
    clock.advance(60_000)
    await settled()
    assert.equal(get('ann'), 'ann')
  })
})
