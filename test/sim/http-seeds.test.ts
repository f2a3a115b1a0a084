import assert from 'node:assert/strict'
import { test } from 'node:test'
import { drawPlan } from './draw.js'
import { withHttp } from './draw-http.js'
import { inTurn } from './in-turn.js'
import { runSeeds } from './run-seeds.js'
import { simulate } from './simulate.js'
import { warm } from './warm.js'

test('clients over HTTP: everything is answered once, in time and to whom it belongs, and nothing is left', () =>
  runSeeds(500_001, 1, 150, 25, withHttp))

/** Seeds whose traces are compared; all of them: `npm run sim -- --http --twice`. */
const COMPARED = 20

test('a seed stands for one run over HTTP too', async () => {
  await warm()
  for (let seed = 1; seed <= COMPARED; seed++)
    assert.equal(await hashOf(seed), await hashOf(seed), `seed ${seed}`)
})

function hashOf(seed: number): Promise<string> {
  return inTurn(() => simulate(withHttp(drawPlan(seed, 25))).hash())
}
