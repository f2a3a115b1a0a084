// Tokens that are revoked in the store of several instances.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { FrontAccess, hashOf } from '../../src/gateway/front-access.js'
import { Revocations, revokeEverywhere } from '../../src/gateway/revocations.js'
import { Cluster } from '../../src/store/cluster.js'
import { MemoryStore, SharedMemory } from '../support/memory-store.js'
import { StoreAway } from '../../src/store/store.js'
import { FakeClock } from '../upstream/support/fake-clock.js'

const named = (name: string) => ({
  name,
  sha256: hashOf(name).toString('hex'),
  profiles: undefined,
  expiresAtMs: undefined,
})
const [ann, bob] = [named('ann'), named('bob')]

const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

/** So many instances on one store. */
async function instances(clock: FakeClock, count = 1) {
  const shared = new SharedMemory()
  const one = async (at: number) => {
    const store = new MemoryStore(shared, clock)
    const options = { label: `i${at}`, store, secrets: () => ['secret'], runtime: clock, log: () => {} }
    const cluster = new Cluster(options)
    await cluster.start()
    const revocations = new Revocations(cluster, clock)
    const access = new FrontAccess({ token: 'all', tokens: [ann, bob] }, () => 0, undefined, revocations)
    let ends = 0
    revocations.onRevoked = () => void ends++
    /** The principal of a client with this token, or the status of its refusal. */
    const get = (token: string): string | number => {
      const verdict = access.senderOf(token, '/mcp', '')
      assert(!(verdict instanceof Promise))
      return 'principal' in verdict ? verdict.principal : verdict.status
    }
    const revoke = async ({ sha256 }: typeof ann): Promise<void> => {
      await revokeEverywhere(cluster, sha256)
      clock.advance(0)
    }
    return { store, revocations, get, ends: () => ends, revoke }
  }
  const others = Array.from({ length: count - 1 }, (_, at) => one(at + 1))
  return [await one(0), ...(await Promise.all(others))] as const
}

describe('a token', () => {
  test('that was revoked before the start is refused, and others are not', async () => {
    const [{ revocations, get, revoke }] = await instances(new FakeClock())
    await revoke(ann)
    await revocations.read([ann, bob])
    assert.deepEqual([get('ann'), get('bob')], [401, 'bob'])
    assert.match(String(get('all')), /^bearer /)
  })

  test('that another process revokes is refused immediately, and its sessions end', async () => {
    const [one, other] = await instances(new FakeClock(), 2)
    await other?.revocations.read([ann, bob])
    assert.deepEqual([other?.get('ann'), other?.ends()], ['ann', 0])
    await one.revoke(ann)
    assert.deepEqual([other?.get('ann'), other?.get('bob'), other?.ends()], [401, 'bob', 1])
  })

  test('is found revoked within a minute where the message was lost', async () => {
    const clock = new FakeClock()
    const [{ store, revocations, get, ends, revoke }] = await instances(clock)
    await revocations.read([ann, bob])
    await revoke(ann)
    store.isAway = true
    clock.advance(60_000)
    await settled()
    assert.equal(get('ann'), 'ann')
    store.isAway = false
    clock.advance(60_000)
    await settled()
    assert.deepEqual([get('ann'), get('bob'), ends()], [401, 'bob', 1])
  })

  test('stays revoked for instances that start after the store has lost everything', async () => {
    const clock = new FakeClock()
    const [one, other] = await instances(clock, 2)
    await one.revocations.read([ann, bob])
    await one.revoke(ann)
    await one.store.delete(`revoked:${ann.sha256}`)
    await one.revocations.read()
    await other?.revocations.read([ann, bob])
    assert.deepEqual([other?.get('ann'), other?.get('bob')], [401, 'bob'])
  })

  test('stays revoked where the store had answered before', async () => {
    const [one, other] = await instances(new FakeClock(), 2)
    await other?.revocations.read([ann])
    const read = other?.revocations.read([ann])
    await one.revoke(ann)
    await read
    assert.equal(other?.get('ann'), 401)
  })

  test('that the store cannot be asked about is refused for now', async () => {
    const clock = new FakeClock()
    const [{ store, revocations, get }] = await instances(clock)
    store.isAway = true
    await assert.rejects(revocations.read([ann]), StoreAway)
    assert.deepEqual([get('ann'), String(get('all')).slice(0, 6)], [503, 'bearer'])
    store.isAway = false
    clock.advance(60_000)
    await settled()
    assert.equal(get('ann'), 'ann')
  })
})
