import assert from 'node:assert/strict'
import { test } from 'node:test'
import { drawPlan } from './draw.js'
import { inTurn } from './in-turn.js'
import { runSeeds } from './run-seeds.js'
import { simulate } from './simulate.js'
import { warm } from './warm.js'

test('the even seeds: everything is answered once, in time and to whom it belongs, and nothing is left', () =>
  runSeeds(2, 2, 1000, 25))

test('a seed stands for one run: the same twice gives the same trace, another gives another', async () => {
  await warm()
  const hashes = new Set<string>()
  for (let seed = 1; seed <= 30; seed++) {
    const [one, other] = [1, 2].map(() => inTurn(() => simulate(drawPlan(seed, 60)).hash()))
    const hash = await one
    assert.equal(await other, hash, `seed ${seed}`)
    hashes.add(hash ?? '')
  }
  assert.equal(hashes.size, 30)
})
