// What happens to a client over HTTP, in every phase.

import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'
import { phases } from './matrix.js'
import { type FrontFault, frontFaults, simulateFrontCell } from './front-cells.js'
import { inTurn } from './in-turn.js'
import { failuresText } from './report.js'
import { warm } from './warm.js'

/** Runs of one cell. */
const SEEDS = 3

before(warm)

const names: readonly FrontFault[] = ['cut', 'vanish', 'finish', 'pause']

for (const name of names) {
  describe(`${name}: ${frontFaults[name].what}`, () => {
    for (const phase of phases) {
      test(`${phase.name}: ${phase.when}`, async () => {
        for (let seed = 1; seed <= SEEDS; seed++) {
          const { failures } = await inTurn(() => simulateFrontCell(name, phase, seed))
          assert.equal(failuresText(failures), '', `seed ${seed}`)
        }
      })
    }
  })
}
