// Limits that several instances share by a store.

import { strict as assert } from 'node:assert'
import { describe, test } from 'node:test'
import { CallLimits, type LimitRefusal, type LimitRule } from '../../src/policy/limits.js'
import { MemoryStore, SharedMemory } from '../support/memory-store.js'
import { FakeClock } from '../upstream/support/fake-clock.js'

const rule = (more: Partial<LimitRule> = {}): LimitRule => ({
  principal: undefined,
  tools: ['*'],
  perMinute: 60,
  burst: 60,
  each: false,
  ...more,
})

type Instance = ReturnType<typeof instances>[number]

/** So many instances on one store. */
function instances(count: number, ...rules: LimitRule[]) {
  const clock = new FakeClock()
  const shared = new SharedMemory()
  return Array.from({ length: count }, () => {
    const store = new MemoryStore(shared, clock)
    /** How many tokens the store was asked for, each time. */
    const wants: number[] = []
    const limits = new CallLimits(rules, clock, {
      take: (key, bucket, want) => {
        wants.push(want)
        return store.take(key, bucket, want)
      },
    })
    /** Resolves when a call may go or is refused. */
    const take = async (name = 'a__x'): Promise<LimitRefusal | undefined> => {
      const taken = limits.take({ principal: 'p', tool: name, name })
      if (!(taken instanceof Promise)) return taken
      await taken
      return take(name)
    }
    return { store, limits, wants, clock, take }
  })
}

function instance(...rules: LimitRule[]): Instance {
  const [only] = instances(1, ...rules)
  assert(only !== undefined)
  return only
}

/** How many of so many calls may go, which come to the instances in turn. */
async function passed(all: readonly Instance[], calls: number): Promise<number> {
  let count = 0
  for (let at = 0; at < calls; at++) if ((await all[at % all.length]?.take()) === undefined) count++
  return count
}

for (const [perMinute, burst, least] of [
  [60, 60, 60 - 2 * 5],
  [6, 5, 5],
  [1, 1, 1],
] as const)
  test(`instances on one store let ${burst} calls through together, ${perMinute} in a minute`, async () => {
    const all = instances(3, rule({ perMinute, burst }))
    const first = await passed(all, 150)
    assert(first >= least && first <= burst, String(first))
    all[0]?.clock.advance(30_000)
    const both = first + (await passed(all, 150))
    assert(both >= least + Math.floor(perMinute / 2) && both <= burst + perMinute / 2, String(both))
  })

test('instances on one store share the buckets of equal rules, whatever other rules they have', async () => {
  const [one, other] = instances(2, rule({ burst: 1 }))
  other?.limits.change([rule({ burst: 1, tools: ['b'] }), rule({ burst: 1 })])
  assert.equal(await one?.take(), undefined)
  assert.deepEqual(await other?.take(), { waitMs: 1000, isAway: false })
})

describe('a lease', () => {
  test('is a tenth of a bucket, and its calls wait for nothing', async () => {
    const { limits, take, wants } = instance(rule())
    await take()
    const call = { principal: 'p', tool: 'a__x', name: 'a__x' }
    for (let calls = 1; calls < 6; calls++) assert.equal(limits.take(call), undefined)
    assert.deepEqual(wants, [6])
    assert(limits.take(call) instanceof Promise)
  })

  test('is taken once for all calls that come together, as large as they need it', async () => {
    const { take, wants } = instance(rule({ burst: 30 }))
    const taken = await Promise.all(Array.from({ length: 40 }, () => take()))
    assert.equal(taken.filter((refusal) => refusal === undefined).length, 30)
    assert(wants.length <= 3, String(wants))
  })

  test('counts while the store is away; then calls are refused until it is there', async () => {
    const { take, store, clock } = instance(rule({ burst: 20 }))
    assert.equal(await take(), undefined)
    store.isAway = true
    assert.equal(await take(), undefined)
    assert.deepEqual(await take(), { waitMs: 2000, isAway: true })
    store.isAway = false
    clock.advance(500)
    assert.deepEqual(await take(), { waitMs: 1500, isAway: true })
    clock.advance(1500)
    assert.equal(await take(), undefined)
  })
})
