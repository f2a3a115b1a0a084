import assert from 'node:assert/strict'
import { test } from 'node:test'
import { drawKind } from './draw-kind.js'
import { inTurn } from './in-turn.js'
import { runSeeds } from './run-seeds.js'
import { simulate } from './simulate.js'
import { warm } from './warm.js'

const OPS = 25

test('requests without a session over HTTP: each call is executed once, and whoever closes a response has given it up', () =>
  runSeeds(900_001, 1, 60, OPS, ({ seed }) => drawKind('http-eras', seed, OPS), '--http --eras'))

/** Seeds whose traces are compared; all of them: `npm run sim -- --http --eras --twice`. */
const COMPARED = 10

test('a seed stands for one run with such requests too', async () => {
  await warm()
  for (let seed = 1; seed <= COMPARED; seed++)
    assert.equal(await hashOf(seed), await hashOf(seed), `seed ${seed}`)
})

function hashOf(seed: number): Promise<string> {
  return inTurn(() => simulate(drawKind('http-eras', seed, OPS)).hash())
}
