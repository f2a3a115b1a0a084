// Reads a regular expression just far enough to say what running it can cost.
//
// A part of a pattern can match at one place in a number of ways; a backtracking
// engine that fails in the end has tried every combination. So the ways of a
// sequence are the product of the ways of its parts, and a part is run once for
// each way of what stands before it. The bound is exact enough for what people
// write, and infinite for `(a+)+`. Groups, alternatives and repetition are all
// that makes ways; what else there is (look-around, back-references, inline
// flags) is given up on.

interface Cost {
  readonly ways: number
  readonly steps: number
}

/** One part of a pattern, or all of it. */
interface PatternPart {
  /** Whether it matches at the start of a text only. */
  readonly isAnchored: boolean
  /** A bound for matching at one place of a text of `length` code units. */
  cost(length: number): Cost
}

/** A bound for the steps of testing a text of `length` code units. */
export type PatternSteps = (length: number) => number

/** The deepest nesting of groups that is read. */
const DEPTH_MAX = 16

/** Undefined for what cannot be read; a pattern that is no valid expression may be read all the same. */
export function readPattern(source: string): PatternSteps | undefined {
  const pattern = new PatternReader(source).read()
  // Without `^` it is tried at every start.
  return pattern && ((length) => pattern.cost(length).steps * (pattern.isAnchored ? 1 : length + 1))
}

class PatternReader {
  readonly #source: string
  #at = 0
  #unknown = false

  constructor(source: string) {
    this.#source = source
  }

  read(): PatternPart | undefined {
    const pattern = this.#choice(0)
    return this.#unknown || this.#at < this.#source.length ? undefined : pattern
  }

  #choice(depth: number): PatternPart {
    if (depth > DEPTH_MAX) this.#unknown = true
    const options = [this.#sequence(depth)]
    while (!this.#unknown && this.#take(/^\|/) !== undefined) options.push(this.#sequence(depth))
    return choice(options)
  }

  #sequence(depth: number): PatternPart {
    const items: PatternPart[] = []
    while (!this.#unknown && /[^|)]/.test(this.#source.charAt(this.#at))) items.push(this.#repeated(depth))
    return sequence(items)
  }

  #repeated(depth: number): PatternPart {
    const item = this.#take(/^\(/) === undefined ? this.#atom() : this.#group(depth)
    const [text, sign, min = '0', comma, max] = this.#take(QUANTIFIER) ?? []
    if (text === undefined) return item
    if (sign !== undefined) return repeat(item, sign === '+' ? 1 : 0, sign === '?' ? 1 : Infinity)
    if (comma === undefined) return repeat(item, Number(min), Number(min))
    return repeat(item, Number(min), max === '' || max === undefined ? Infinity : Number(max))
  }

  #atom(): PatternPart {
    const [atom] = this.#take(ATOM) ?? []
    // What does not even start an atom is an unfinished class or escape.
    if (atom === undefined || BACK_REFERENCE.test(atom)) this.#unknown = true
    return { isAnchored: atom === '^', cost: () => ({ ways: 1, steps: 1 }) }
  }

  #group(depth: number): PatternPart {
    // Any other question mark cannot be read as an atom that is repeated.
    this.#take(/^\?(?::|<[A-Za-z_]\w*>)/)
    if (this.#source.charAt(this.#at) === '?') this.#unknown = true
    const inner = this.#choice(depth + 1)
    if (this.#take(/^\)/) === undefined) this.#unknown = true
    return inner
  }

  #take(expression: RegExp): RegExpExecArray | undefined {
    const found = expression.exec(this.#source.slice(this.#at)) ?? undefined
    this.#at += found?.[0].length ?? 0
    return found
  }
}

/** A class, an escape with or without braces, or any other character. Linear: no two parts can take the same text. */
const ATOM = /^(?:\[(?:[^\]\\]|\\[^])*\]|\\[upP]\{[^}]*\}|\\[^]|[^[\\])/
const BACK_REFERENCE = /^\\[1-9k]/
const QUANTIFIER = /^(?:([*+?])|\{(\d+)(,(\d*))?\})\??/

function sequence(items: readonly PatternPart[]): PatternPart {
  const cost = (length: number): Cost => {
    let ways = 1
    let steps = 1
    for (const item of items) {
      const one = item.cost(length)
      steps += ways * one.steps
      ways *= one.ways
    }
    return { ways, steps }
  }
  return { isAnchored: items[0]?.isAnchored === true, cost }
}

function choice(options: readonly PatternPart[]): PatternPart {
  const cost = (length: number): Cost => {
    const costs = options.map((option) => option.cost(length))
    const sum = (of: keyof Cost): number => costs.reduce((before, one) => before + one[of], 0)
    return { ways: sum('ways'), steps: sum('steps') }
  }
  return { isAnchored: options.every((option) => option.isAnchored), cost }
}

function repeat(item: PatternPart, min: number, max: number): PatternPart {
  const cost = (length: number): Cost => repeatCost(item.cost(length), min, Math.min(max, length + min))
  return { isAnchored: false, cost }
}

/** One more round multiplies the ways, unless there is only one; `rounds` of two ways each soon is no number at all. */
function repeatCost(item: Cost, min: number, rounds: number): Cost {
  if (item.ways === 1) return { ways: rounds - min + 1, steps: item.steps * (rounds + 1) }
  if (rounds > ROUNDS_MAX) return { ways: Infinity, steps: Infinity }
  let ways = 0
  let steps = 0
  for (let round = 0; round <= rounds; round++) {
    const waysHere = item.ways ** round
    if (round >= min) ways += waysHere
    steps += waysHere * item.steps
  }
  return { ways, steps }
}

const ROUNDS_MAX = 64
