import assert from 'node:assert/strict'
import { type RunKind, drawKind, optionsOf } from './draw-kind.js'
import { inTurn } from './in-turn.js'
import { failuresText, simulate } from './simulate.js'

const FAILED_MAX = 5

type Seeds = { readonly from: number; readonly count: number; readonly ops: number }

/** Prints for each failing seed the command that repeats it. */
export async function runSeeds(kind: RunKind, { from, count, ops }: Seeds): Promise<void> {
  const failed: string[] = []
  for (let seed = from; seed < from + count && failed.length < FAILED_MAX; seed++) {
    const { failures } = await inTurn(() => simulate(drawKind(kind, seed, ops)))
    if (failures.length > 0)
      failed.push(`npm run sim -- --seed ${seed} --ops ${ops}${optionsOf[kind]}\n${failuresText(failures)}`)
  }
  assert.equal(failed.join('\n'), '')
}
