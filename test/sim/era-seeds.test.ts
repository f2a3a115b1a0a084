import assert from 'node:assert/strict'
import { test } from 'node:test'
import { drawPlan } from './draw.js'
import { withEras } from './draw-eras.js'
import { inTurn } from './in-turn.js'
import { runSeeds } from './run-seeds.js'
import { simulate } from './simulate.js'
import { warm } from './warm.js'

test('requests without a session: each call is executed once, and each question answered once, by its own client', () =>
  runSeeds(700_001, 1, 60, 25, withEras, '--eras'))

/** Seeds whose traces are compared; all of them: `npm run sim -- --eras --twice`. */
const COMPARED = 15

test('a seed stands for one run with requests without a session too', async () => {
  await warm()
  for (let seed = 1; seed <= COMPARED; seed++)
    assert.equal(await hashOf(seed), await hashOf(seed), `seed ${seed}`)
})

function hashOf(seed: number): Promise<string> {
  return inTurn(() => simulate(withEras(drawPlan(seed, 25))).hash())
}
