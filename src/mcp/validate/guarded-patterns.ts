// The regular expressions of one schema, run only where that is cheap.
//
// A pattern that may be slow on a text counts as matching it: the server checks
// its arguments itself, and a proxy that hangs helps nobody.

import { type PatternSteps, readPattern } from './pattern-cost.js'
import type { RunBudget } from './run-budget.js'
import { schemaLimits } from './schema-limits.js'

/** What ajv asks of a compiled expression; it tells expressions apart by `toString`. */
export interface TextTest {
  test(text: string): boolean
  toString(): string
}

export class GuardedPatterns {
  readonly #budget: RunBudget
  readonly #leftOut: (pattern: string) => void
  readonly #made = new Map<string, TextTest>()
  #lengthsLeft: number = schemaLimits.patternLengthsMax
  #propertyEscapesLeft: number = schemaLimits.propertyEscapesMax

  /** `leftOut` is told of a pattern that is not, or for one text was not, run. */
  constructor(budget: RunBudget, leftOut: (pattern: string) => void) {
    this.#budget = budget
    this.#leftOut = leftOut
  }

  /** Never throws; called once for every use of a pattern in the schema. */
  make(source: string): TextTest {
    const made = { test: this.#testOf(source), toString: () => source }
    this.#made.set(source, made)
    return made
  }

  /** Whether a text has a pattern of the schema; true when that may not be found out. */
  matches(source: string, text: string): boolean {
    return this.#made.get(source)?.test(text) ?? true
  }

  #testOf(source: string): TextTest['test'] {
    const steps = this.#isAffordable(source) ? readPattern(source) : undefined
    const expression = steps && compile(source)
    if (steps === undefined || expression === undefined) {
      this.#leftOut(source)
      return () => true
    }
    const priceOf = remembered(steps)
    return (text) => {
      if (this.#budget.spendOnPattern(priceOf(text.length))) return expression.test(text)
      this.#leftOut(source)
      return true
    }
  }

  #isAffordable(source: string): boolean {
    if (source.length > schemaLimits.patternLengthMax) return false
    this.#lengthsLeft -= source.length
    this.#propertyEscapesLeft -= source.split(/\\p/i).length - 1
    return this.#lengthsLeft >= 0 && this.#propertyEscapesLeft >= 0
  }
}

/** Unicode mode is what JSON Schema asks for; much that people write, like `\-`, is valid only without. */
function compile(source: string): RegExp | undefined {
  for (const flags of /\\[upP]/.test(source) ? ['u'] : ['u', '']) {
    try {
      return new RegExp(source, flags)
    } catch {
      // The next mode, or none.
    }
  }
  return undefined
}

/** Works out what a test costs once for each length of text that is told apart. */
function remembered(stepsOf: PatternSteps): PatternSteps {
  const known = new Map<number, number>()
  return (length) => {
    // Longer texts are rounded up to a power of two: few prices then serve them all.
    const rounded = length <= 32 ? length : 2 ** (32 - Math.clz32(length - 1))
    const steps = known.get(rounded) ?? stepsOf(rounded)
    known.set(rounded, steps)
    return steps
  }
}
