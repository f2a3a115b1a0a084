// Compares an expected frame with the one that arrived, and finds the first difference.
//
// Two readings. `json` leaves the order of members, white space and the spelling
// of strings free; numbers count as they are written, so `1.0` is not `1`.
// `bytes` is that and then every byte, but for the places that may vary.

import type { Span } from '../jsonrpc/scan.js'
import { type ArrayNode, type JsonNode, idOf, kindOf, partsOf, pathAt } from './json-tree.js'
import { type Hole, type Pattern, REST_PATH, misfit } from './pattern.js'

export type Mode = 'bytes' | 'json'

/** The first difference. */
export interface Difference {
  /** The JSON path of the member. */
  readonly path: string
  readonly problem: string
  /** The first byte that differs, counted from the start of the frame that came. */
  readonly offset: number
  /** The same place in the frame that was expected. */
  readonly expectedOffset: number
}

export interface ReceivedFrame {
  readonly bytes: Buffer
  readonly tree: JsonNode
}

export type MessageVerdict =
  | {
      readonly kind: 'equal'
      /** Names that got a value, as raw JSON. */
      readonly bound: ReadonlyMap<string, string>
      /** Dates that were accepted although they differ. */
      readonly times: number
    }
  | { readonly kind: 'different'; readonly difference: Difference }

export function compareFrames(
  pattern: Pattern,
  received: ReceivedFrame,
  mode: Mode,
  values: ReadonlyMap<string, string>,
): MessageVerdict {
  return new Comparison(pattern, received, mode, values).verdict()
}

/** Compares bytes that are no JSON. */
export function compareBytes(expected: Buffer, received: Buffer): MessageVerdict {
  if (expected.equals(received)) return { kind: 'equal', bound: new Map(), times: 0 }
  const offset = commonLength(expected, received)
  const difference = { path: '$', problem: 'is something else', offset, expectedOffset: offset }
  return { kind: 'different', difference }
}

/** Compares one frame; lives for one call. */
class Comparison {
  readonly #pattern: Pattern
  readonly #received: ReceivedFrame
  readonly #mode: Mode
  /** The values of names, as raw JSON. */
  readonly #values: ReadonlyMap<string, string>
  /** The places in which another value was accepted, in the order of the expected frame. */
  readonly #accepted: { readonly expected: Span; readonly received: Span }[] = []
  readonly #bound = new Map<string, string>()
  #times = 0

  constructor(pattern: Pattern, received: ReceivedFrame, mode: Mode, values: ReadonlyMap<string, string>) {
    this.#pattern = pattern
    this.#received = received
    this.#mode = mode
    this.#values = values
  }

  verdict(): MessageVerdict {
    const { tree } = this.#pattern
    const came = this.#received.tree
    const difference =
      tree.kind === 'array' && came.kind === 'array'
        ? this.#batch(tree, came)
        : (this.#node(tree, came, '$') ?? this.#bytes(wholeOf(this.#pattern), wholeOf(this.#received)))
    if (difference !== undefined) return { kind: 'different', difference }
    return { kind: 'equal', bound: this.#bound, times: this.#times }
  }

  /** The answers of a batch come in any order (JSON-RPC 2.0, section 6). */
  #batch(expected: ArrayNode, came: ArrayNode): Difference | undefined {
    const left = [...came.items]
    const ordered = expected.items.map((item) => {
      const at = left.findIndex((candidate) => idOf(candidate) === idOf(item))
      return left.splice(at === -1 ? 0 : at, 1)[0]
    })
    if (left.length > 0 || ordered.includes(undefined)) return this.#parts(expected, came, '$')
    for (const [at, item] of expected.items.entries()) {
      const answer = ordered[at]
      if (answer === undefined) continue
      const found = this.#node(item, answer, `$[${came.items.indexOf(answer)}]`) ?? this.#bytes(item, answer)
      if (found !== undefined) return found
    }
    return undefined
  }

  #node(expected: JsonNode, came: JsonNode, path: string): Difference | undefined {
    const hole = this.#pattern.holes.get(expected.start)
    if (hole !== undefined) return this.#hole(hole, expected, came, path)
    const isCompound = expected.kind === 'object' || expected.kind === 'array'
    if (isCompound && came.kind === expected.kind) return this.#parts(expected, came, path)
    if (expected.kind === 'string' && came.kind === 'string') {
      if (expected.text === came.text) return undefined
      const times = this.#pattern.timesVary ? differingTimes(expected.text, came.text) : 0
      if (times > 0) return this.#accept(expected, came, times)
    } else if (textAt(this.#pattern, expected) === textAt(this.#received, came)) return undefined
    return this.#differs(expected, came, path)
  }

  /** The members of an object, in any order, or the items of an array. */
  #parts(expected: JsonNode, came: JsonNode, path: string): Difference | undefined {
    const left = partsOf(came)
    const isOpen = this.#pattern.open.has(expected.start)
    for (const part of partsOf(expected)) {
      if (isOpen && part.path === REST_PATH) continue
      const here = `${path}${part.path}`
      const at = left.findIndex((other) => other.path === part.path)
      const [other] = at === -1 ? [] : left.splice(at, 1)
      if (other === undefined) {
        const offset = came.end - 1
        return { path: here, problem: 'is missing', offset, expectedOffset: part.value.start }
      }
      const found = this.#node(part.value, other.value, here)
      if (found !== undefined) return found
    }
    const [extra] = isOpen ? [] : left
    if (extra === undefined) return undefined
    const where = { offset: extra.start, expectedOffset: expected.end - 1 }
    return { path: `${path}${extra.path}`, problem: 'is not expected', ...where }
  }

  #hole(hole: Hole, expected: JsonNode, came: JsonNode, path: string): Difference | undefined {
    const raw = textAt(this.#received, came)
    const problem = this.#refusal(hole, expected, came, raw)
    if (problem !== undefined) return { path, problem, offset: came.start, expectedOffset: expected.start }
    if (hole.kind === 'bind') this.#bound.set(hole.name, raw)
    return this.#accept(expected, came, 0)
  }

  /** Why the value may not be at this place. */
  #refusal(hole: Hole, expected: JsonNode, came: JsonNode, raw: string): string | undefined {
    if (hole.kind !== 'same') return misfit(hole, came)
    const value = this.#bound.get(hole.name) ?? this.#values.get(hole.name) ?? textAt(this.#pattern, expected)
    return raw === value ? undefined : `is not ${value}, which came before`
  }

  #accept(expected: Span, received: Span, times: number): undefined {
    this.#accepted.push({ expected, received })
    this.#times += times
  }

  #differs(expected: JsonNode, came: JsonNode, path: string): Difference {
    const a = this.#pattern.bytes.subarray(expected.start, expected.end)
    const b = this.#received.bytes.subarray(came.start, came.end)
    const same = commonLength(a, b)
    const problem = `is ${came.kind === expected.kind ? 'another value' : kindOf(came)}`
    return { path, problem, offset: came.start + same, expectedOffset: expected.start + same }
  }

  /** The first byte of a span that differs although its values are equal; what was accepted may differ. */
  #bytes(expected: Span, came: Span): Difference | undefined {
    if (this.#mode === 'json' || this.#pattern.open.size > 0) return undefined
    const accepted = this.#accepted.filter(
      (place) => expected.start <= place.expected.start && place.expected.end <= expected.end,
    )
    const end = {
      expected: { start: expected.end, end: expected.end },
      received: { start: came.end, end: came.end },
    }
    let [at, offset] = [expected.start, came.start]
    for (const place of [...accepted, end]) {
      const wanted = this.#pattern.bytes.subarray(at, place.expected.start)
      const got = this.#received.bytes.subarray(offset, place.received.start)
      const same = commonLength(wanted, got)
      if (same < Math.max(wanted.length, got.length)) {
        const path = pathAt(this.#received.tree, offset + same)
        return { path, problem: 'is written differently', offset: offset + same, expectedOffset: at + same }
      }
      at = place.expected.end
      offset = place.received.end
    }
    return undefined
  }
}

/** The spelling of a value. */
function textAt({ bytes }: { readonly bytes: Buffer }, { start, end }: Span): string {
  return bytes.toString('utf8', start, end)
}

function wholeOf({ bytes }: { readonly bytes: Buffer }): Span {
  return { start: 0, end: bytes.length }
}

function commonLength(left: Uint8Array, right: Uint8Array): number {
  const end = Math.min(left.length, right.length)
  let at = 0
  while (at < end && left[at] === right[at]) at++
  return at
}

const STAMP =
  /\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}(?::\d{2}(?:[.,]\d+)?)?(?:Z|[+-]\d{2}:?\d{2})?)?|\b(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day\b/g

/** How many dates and days of the week differ, when nothing else does; 0 when something else does. */
export function differingTimes(expected: string, received: string): number {
  if (expected.replaceAll(STAMP, '\0') !== received.replaceAll(STAMP, '\0')) return 0
  const before = expected.match(STAMP) ?? []
  const now = received.match(STAMP) ?? []
  return before.filter((stamp, at) => stamp !== now[at]).length
}
