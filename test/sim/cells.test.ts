// Every fault in every phase. A fault strikes a server of its kind; the faults of the machine strike a process.

import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'
import { faults, phases } from './matrix.js'
import { simulateCell } from './cells.js'
import { inTurn } from './in-turn.js'
import { failuresText } from './simulate.js'
import { warm } from './warm.js'

before(warm)

for (const fault of faults)
  describe(`${fault.name}: ${fault.what}`, () => {
    for (const phase of phases)
      test(`${phase.name}: ${phase.when}`, async () => {
        const { failures } = await inTurn(() => simulateCell(fault, phase, 1))
        const again = `npm run sim -- --fault ${fault.name} --phase ${phase.name} --seed 1 --trace`
        assert.equal(failures.length === 0 ? '' : `${again}\n${failuresText(failures)}`, '')
      })
  })
