// An upper bound for the steps of a backtracking engine.
//
// A part of a pattern can match at one place in a number of ways; an engine that
// fails in the end has tried every combination. So the ways of a sequence are
// the product of the ways of its parts, and a part is run once for each way of
// what stands before it. The bound is exact enough for what people write, and
// infinite for `(a+)+`.

import type { PatternNode } from './pattern-syntax.js'

interface Cost {
  readonly ways: number
  readonly steps: number
}

/** A bound for testing a text of `length` code units, at every start when the pattern has no `^`. */
export function patternSteps(pattern: PatternNode, length: number): number {
  return costOf(pattern, length).steps * (isAnchored(pattern) ? 1 : length + 1)
}

function isAnchored(pattern: PatternNode): boolean {
  if (pattern.kind === 'choice') return pattern.options.every(isAnchored)
  if (pattern.kind === 'atom') return pattern.source === '^'
  const [first] = pattern.kind === 'sequence' ? pattern.items : []
  return first !== undefined && isAnchored(first)
}

function costOf(pattern: PatternNode, length: number): Cost {
  if (pattern.kind === 'atom') return { ways: 1, steps: 1 }
  if (pattern.kind === 'sequence') return sequenceCost(pattern.items, length)
  if (pattern.kind === 'choice') return choiceCost(pattern.options, length)
  const rounds = Math.min(pattern.max, length + pattern.min)
  return repeatCost(costOf(pattern.item, length), pattern.min, rounds)
}

function sequenceCost(items: readonly PatternNode[], length: number): Cost {
  let ways = 1
  let steps = 1
  for (const item of items) {
    const cost = costOf(item, length)
    steps += ways * cost.steps
    ways *= cost.ways
  }
  return { ways, steps }
}

function choiceCost(options: readonly PatternNode[], length: number): Cost {
  let ways = 0
  let steps = 0
  for (const option of options) {
    const cost = costOf(option, length)
    ways += cost.ways
    steps += cost.steps
  }
  return { ways, steps }
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
