// Every fault of a process in three phases, so that every phase meets at least three faults.

import { describe, test } from 'node:test'
import { runCell } from './cell.js'
import { faults } from './faults.js'
import { phases } from './phases.js'

const PHASES_EACH = 3
/** Cells at a time; most of a cell is waiting. */
const AT_ONCE = 8

const stdio = faults.filter(({ place, name }) => place === 'stdio' && name !== 'emfile')

/** Neighbouring faults meet phases that lie apart, and no two the same three. */
const cells = stdio.flatMap((fault, row) =>
  Array.from({ length: PHASES_EACH }, (_, column) => {
    const phase = phases[(row * PHASES_EACH + column * 5) % phases.length]
    if (phase === undefined) throw new Error('no such phase')
    return { fault, phase }
  }),
)

describe('a fault in a phase', { concurrency: AT_ONCE, skip: process.platform !== 'linux' }, () => {
  for (const { fault, phase } of cells)
    test(`${fault.name}, ${phase.name}: ${fault.what} when ${phase.when}`, (t) =>
      runCell(t, fault.name, phase.name))
})
