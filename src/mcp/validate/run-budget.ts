// The budget of one run of a schema.
//
// Steps, not time: the same call is then checked on every machine and in every
// replay, and a seeded simulation stays exact.

import { schemaLimits } from './schema-limits.js'

/** Objects of more members than this may be hash tables, which have to be sorted to be listed. */
const FEW_MEMBERS = 128

/** The purse of one schema, filled anew for every run. Compiled schemas and rules are handed its functions. */
export class RunBudget {
  #steps = 0
  #patternSteps = 0

  refill(): void {
    this.#steps = schemaLimits.stepsMax
    this.#patternSteps = schemaLimits.patternStepsMax
  }

  /** Throws a RangeError, as running out of stack does, once the budget is spent. */
  readonly spend = (steps: number): void => {
    this.#steps -= steps
    if (this.#steps < 0) throw new RangeError('the budget of a schema is spent')
  }

  /** Pays for listing the members of `value`, `lists` times. */
  readonly spendOnMembers = (lists: number, value: unknown): void => {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return
    const members = Object.keys(value).length
    this.spend(members <= FEW_MEMBERS ? lists * members : 4 * lists * members)
  }

  /** False when too little is left, and then nothing is spent: a pattern can be left out, a subschema cannot. */
  spendOnPattern(steps: number): boolean {
    if (steps > this.#patternSteps) return false
    this.#patternSteps -= steps
    return true
  }
}
