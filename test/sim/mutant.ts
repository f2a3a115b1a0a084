// One wrong proxy, in a process of its own: runs until everything is found that
// should be, and prints where each was found.

import { faults } from '../faults/faults.js'
import { phases } from '../faults/phases.js'
import { simulateCell } from './cells.js'
import { drawKind, runKind } from './draw-kind.js'
import { inTurn } from './in-turn.js'
import type { Outcome } from './outcome.js'
import { eraRegressions } from './era-regressions.js'
import { regressions } from './regressions.js'
import { simulate } from './simulate.js'
import { warm } from './warm.js'

/** Seeds that come before the cells, which take longer than all of these. */
const FIRST_SEEDS = 300

const [seedsText = '', kindText, ...wanted] = process.argv.slice(2)
const kind = runKind(kindText)
const seeds = Number(seedsText)
const missing = new Set(wanted)
const found: string[] = []

async function look(where: string, run: () => Outcome): Promise<void> {
  if (missing.size === 0) return
  const { failures } = await inTurn(run)
  for (const { check } of failures) if (missing.delete(check)) found.push(`${check} (${where})`)
}

async function lookAtSeeds(from: number, to: number): Promise<void> {
  for (let seed = from; seed <= to; seed++) {
    await look(`seed ${seed}`, () => simulate(drawKind(kind, seed, 25)))
  }
}

Error.stackTraceLimit = 0
await warm()
for (const { what, plan } of [...regressions, ...(kind === 'eras' ? eraRegressions : [])])
  await look(what, () => simulate(plan))
await lookAtSeeds(1, Math.min(FIRST_SEEDS, seeds))
for (const fault of faults) {
  for (const phase of phases) {
    if (seeds > FIRST_SEEDS) await look(`${fault.name}, ${phase.name}`, () => simulateCell(fault, phase, 1))
  }
}
await lookAtSeeds(FIRST_SEEDS + 1, seeds)
process.stdout.write(`${found.join(', ')}\n`)
process.exitCode = missing.size === 0 ? 0 : 1
