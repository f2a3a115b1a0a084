// Seeds as a test.

import assert from 'node:assert/strict'
import { drawPlan } from './draw.js'
import { inTurn } from './in-turn.js'
import type { Plan } from './plan.js'
import { failuresText } from './report.js'
import { simulate } from './simulate.js'
import { warm } from './warm.js'

/** Failing seeds after which the rest is not tried. */
const FAILED_MAX = 5

/** Runs every `step`th seed from `from` on, and says of each that fails how to repeat it; `changed` changes what is drawn, as `option` does. */
export async function runSeeds(
  from: number,
  step: number,
  count: number,
  ops: number,
  changed?: (plan: Plan) => Plan,
  option = '--http',
): Promise<void> {
  await warm()
  const failed: string[] = []
  for (let at = 0; at < count && failed.length < FAILED_MAX; at++) {
    const seed = from + at * step
    const plan = drawPlan(seed, ops)
    const { failures } = await inTurn(() => simulate(changed?.(plan) ?? plan))
    if (failures.length > 0) {
      failed.push(
        `npm run sim -- --seed ${seed} --ops ${ops}${changed === undefined ? '' : ` ${option}`}\n${failuresText(failures)}`,
      )
    }
  }
  assert.equal(failed.join('\n'), '')
}
