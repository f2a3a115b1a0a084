import assert from 'node:assert/strict'
import { test } from 'node:test'
import { drawPlan } from './draw.js'
import { inTurn } from './in-turn.js'
import { runSeeds } from './run-seeds.js'
import { simulate } from './simulate.js'
import { warm } from './warm.js'

test('the even seeds: everything is answered once, in time and to whom it belongs, and nothing is left', () =>
  runSeeds(2, 2, 250, 25))

/** Seeds whose traces are compared; all of them: `npm run sim -- --twice`. */
const COMPARED = 40

test('a seed stands for one run: the same gives the same trace after any other, another gives another', async () => {
  await warm()
  const hashes = new Map<number, string>()
  for (let seed = 1; seed <= COMPARED; seed++) hashes.set(seed, await hashOf(seed))
  // In another order, so that nothing is left of what came before.
  for (let seed = COMPARED; seed >= 1; seed--)
    assert.equal(await hashOf(seed), hashes.get(seed), `seed ${seed}`)
  assert.equal(new Set(hashes.values()).size, COMPARED)
})

function hashOf(seed: number): Promise<string> {
  return inTurn(() => simulate(drawPlan(seed, 25)).hash())
}
