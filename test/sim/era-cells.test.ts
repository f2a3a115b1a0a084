// Whatever happens while a call without a session waits for answers: it is executed once, answered once, and given up
// when nobody comes back.

import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'
import { faults } from './matrix.js'
import { type EraPhase, type EraStrike, eraPhases, eraStrikes, simulateEraCell } from './era-cells.js'
import { inTurn } from './in-turn.js'
import { failuresText } from './report.js'
import { warm } from './warm.js'

/** Runs of one cell. */
const SEEDS = 1

before(warm)

const strikes: readonly EraStrike[] = [...faults.map(({ name }) => name), ...eraStrikes]
const names: readonly EraPhase[] = ['parked', 'answering', 'resumed']

for (const phase of names) {
  describe(`${phase}: ${eraPhases[phase]}`, () => {
    for (const strike of strikes) {
      test(strike, async () => {
        for (let seed = 1; seed <= SEEDS; seed++) {
          const { failures } = await inTurn(() => simulateEraCell(strike, phase, seed))
          assert.equal(failuresText(failures), '', `seed ${seed}`)
        }
      })
    }
  })
}
