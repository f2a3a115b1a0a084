// The regular expressions of one schema, run only where that is cheap.
//
// A pattern that may be slow on a text counts as matching it: the server checks
// its arguments itself, and a proxy that hangs helps nobody.

import { patternSteps } from './pattern-cost.js'
import { type PatternNode, readPattern } from './pattern-syntax.js'
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
  #lengthsLeft: number = schemaLimits.patternLengthsMax
  #propertyEscapesLeft: number = schemaLimits.propertyEscapesMax

  /** `leftOut` is told of a pattern that is not, or for one text was not, run. */
  constructor(budget: RunBudget, leftOut: (pattern: string) => void) {
    this.#budget = budget
    this.#leftOut = leftOut
  }

  /** Never throws; `make` is called once for every use of a pattern in the schema. */
  make(source: string): TextTest {
    const pattern = this.#isAffordable(source) ? readPattern(source) : undefined
    const expression = pattern === undefined ? undefined : compile(source)
    if (pattern === undefined || expression === undefined) {
      this.#leftOut(source)
      return { test: () => true, toString: () => source }
    }
    const cost = new PatternPrice(pattern)
    return { test: (text) => this.#test(expression, cost, text), toString: () => source }
  }

  #isAffordable(source: string): boolean {
    if (source.length > schemaLimits.patternLengthMax) return false
    this.#lengthsLeft -= source.length
    this.#propertyEscapesLeft -= source.split(/\\p/i).length - 1
    return this.#lengthsLeft >= 0 && this.#propertyEscapesLeft >= 0
  }

  #test(expression: RegExp, price: PatternPrice, text: string): boolean {
    if (this.#budget.spendOnPattern(price.of(text.length))) return expression.test(text)
    this.#leftOut(expression.source)
    return true
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

/** What testing a pattern costs, worked out once for each length of text that is told apart. */
class PatternPrice {
  readonly #pattern: PatternNode
  readonly #steps = new Map<number, number>()

  constructor(pattern: PatternNode) {
    this.#pattern = pattern
  }

  of(length: number): number {
    // Longer texts are rounded up to a power of two: few prices then serve them all.
    const rounded = length <= 32 ? length : 2 ** (32 - Math.clz32(length - 1))
    const known = this.#steps.get(rounded)
    if (known !== undefined) return known
    const steps = patternSteps(this.#pattern, rounded)
    this.#steps.set(rounded, steps)
    return steps
  }
}
