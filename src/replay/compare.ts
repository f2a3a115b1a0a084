// Compares an expected frame with the received frame, and finds the first difference.
//
// The mode `json` ignores the order of members, white space and the spelling of strings, but not the spelling of
// numbers: `1.0` differs from `1`. The mode `bytes` then also compares every byte outside the holes.

import type { Span } from '../jsonrpc/scan.js'
import type { JsonValue } from '../ask/json-value.js'
import { idOf } from './address.js'
import { type Pattern, REST, kindOf } from './pattern.js'

export type Mode = 'bytes' | 'json'

export interface Difference {
  readonly path: string
  readonly problem: string
  /** The offset of the first different byte in the received frame. */
  readonly offset: number
  /** The same place in the expected frame. */
  readonly expectedOffset: number
}

export interface ReceivedFrame {
  readonly bytes: Buffer
  readonly tree: JsonValue
}

export type MessageVerdict =
  | {
      readonly kind: 'equal'
      /** The values that names got from this frame, as raw JSON. */
      readonly bound: ReadonlyMap<string, string>
      /** The number of accepted dates that differ. */
      readonly times: number
    }
  | { readonly kind: 'different'; readonly difference: Difference }

/** `values` are the values that names got from earlier frames, as raw JSON. */
export function compareFrames(
  pattern: Pattern,
  received: ReceivedFrame,
  mode: Mode,
  values: ReadonlyMap<string, string>,
): MessageVerdict {
  return new Comparison(pattern, received, mode, values).verdict()
}

export function compareBytes(expected: Buffer, received: Buffer): MessageVerdict {
  if (expected.equals(received)) return { kind: 'equal', bound: new Map(), times: 0 }
  const offset = commonLength(expected, received)
  const difference = { path: '$', problem: 'is something else', offset, expectedOffset: offset }
  return { kind: 'different', difference }
}

class Comparison {
  readonly #pattern: Pattern
  readonly #received: ReceivedFrame
  readonly #mode: Mode
  readonly #values: ReadonlyMap<string, string>
  /** The places with an accepted different value, in the order of the expected frame. */
  readonly #accepted: { readonly expected: Span; readonly came: Span }[] = []
  readonly #bound = new Map<string, string>()
  #times = 0

  constructor(pattern: Pattern, received: ReceivedFrame, mode: Mode, values: ReadonlyMap<string, string>) {
    this.#pattern = pattern
    this.#received = received
    this.#mode = mode
    this.#values = values
  }

  verdict(): MessageVerdict {
    const { tree, bytes } = this.#pattern
    const { tree: came, bytes: cameBytes } = this.#received
    const difference =
      tree.kind === 'array' && came.kind === 'array'
        ? this.#batch(tree, came)
        : (this.#node(tree, came, '$') ??
          this.#spelling({ start: 0, end: bytes.length }, { start: 0, end: cameBytes.length }))
    if (difference !== undefined) return { kind: 'different', difference }
    return { kind: 'equal', bound: this.#bound, times: this.#times }
  }

  /** Compares the answers of a batch, which may have any order (JSON-RPC 2.0, section 6). */
  #batch(expected: JsonValue, came: JsonValue): Difference | undefined {
    const left = [...came.parts]
    const pairs = expected.parts.map(({ value }) => {
      const at = left.findIndex((candidate) => idOf(candidate.value) === idOf(value))
      return { value, answer: left.splice(Math.max(at, 0), 1)[0] }
    })
    if (expected.parts.length !== came.parts.length) return this.#parts(expected, came, '$')
    for (const { value, answer } of pairs) {
      const found =
        answer && (this.#node(value, answer.value, `$${answer.path}`) ?? this.#spelling(value, answer.value))
      if (found !== undefined) return found
    }
    return undefined
  }

  #node(expected: JsonValue, came: JsonValue, path: string): Difference | undefined {
    const { holes, timesVary } = this.#pattern
    if (holes.has(expected.start)) return this.#hole(expected, came, path)
    const isPlain = expected.kind !== 'object' && expected.kind !== 'array'
    if (expected.kind !== came.kind) return this.#differs(expected, came, path)
    if (!isPlain) return this.#parts(expected, came, path)
    if (expected.text === came.text) return undefined
    const times = timesVary && came.kind === 'string' ? differingTimes(expected.text, came.text) : 0
    if (times === 0) return this.#differs(expected, came, path)
    this.#times += times
    this.#accepted.push({ expected, came })
    return undefined
  }

  /** Compares the members of an object, in any order, or the items of an array. */
  #parts(expected: JsonValue, came: JsonValue, path: string): Difference | undefined {
    const left = [...came.parts]
    const isOpen = this.#pattern.open.has(expected.start)
    for (const part of expected.parts) {
      if (isOpen && part.name === REST) continue
      const here = `${path}${part.path}`
      const at = left.findIndex((other) => other.path === part.path)
      const [other] = at === -1 ? [] : left.splice(at, 1)
      if (other === undefined)
        return { path: here, problem: 'is missing', offset: came.end - 1, expectedOffset: part.value.start }
      const found = this.#node(part.value, other.value, here)
      if (found !== undefined) return found
    }
    const [extra] = isOpen ? [] : left
    if (extra === undefined) return undefined
    const where = { offset: extra.start, expectedOffset: expected.end - 1 }
    return { path: `${path}${extra.path}`, problem: 'is not expected', ...where }
  }

  #hole(expected: JsonValue, came: JsonValue, path: string): Difference | undefined {
    const { misfit, name, isNew } = this.#pattern.holes.get(expected.start) ?? {}
    const raw = this.#received.bytes.toString('utf8', came.start, came.end)
    const known =
      name === undefined || isNew === true ? undefined : (this.#bound.get(name) ?? this.#values.get(name))
    const problem =
      known === undefined || known === raw ? misfit?.(came) : `is not ${known}, which came before`
    if (problem !== undefined) return { path, problem, offset: came.start, expectedOffset: expected.start }
    if (name !== undefined) this.#bound.set(name, raw)
    this.#accepted.push({ expected, came })
    return undefined
  }

  #differs(expected: JsonValue, came: JsonValue, path: string): Difference {
    const same = commonLength(
      this.#pattern.bytes.subarray(expected.start, expected.end),
      this.#received.bytes.subarray(came.start, came.end),
    )
    const problem = `is ${came.kind === expected.kind ? 'another value' : kindOf(came)}`
    return { path, problem, offset: came.start + same, expectedOffset: expected.start + same }
  }

  /** Finds the first different byte between equal values, outside the accepted places. */
  #spelling(expected: Span, came: Span): Difference | undefined {
    if (this.#mode === 'json' || this.#pattern.open.size > 0) return undefined
    const inside = this.#accepted.filter(
      (place) => expected.start <= place.expected.start && place.expected.end <= expected.end,
    )
    let [at, offset] = [expected.start, came.start]
    const last = { expected: { start: expected.end, end: 0 }, came: { start: came.end, end: 0 } }
    for (const place of [...inside, last]) {
      const wanted = this.#pattern.bytes.subarray(at, place.expected.start)
      const got = this.#received.bytes.subarray(offset, place.came.start)
      const same = commonLength(wanted, got)
      if (same < Math.max(wanted.length, got.length)) {
        const path = pathAt(this.#received.tree, offset + same)
        return { path, problem: 'is written differently', offset: offset + same, expectedOffset: at + same }
      }
      ;[at, offset] = [place.expected.end, place.came.end]
    }
    return undefined
  }
}

/** Returns the path of the innermost value that contains the byte at `offset`. */
function pathAt(node: JsonValue, offset: number, path = '$'): string {
  const part = node.parts.find(({ start, value }) => start <= offset && offset < value.end)
  return part === undefined ? path : pathAt(part.value, offset, `${path}${part.path}`)
}

function commonLength(left: Uint8Array, right: Uint8Array): number {
  const end = Math.min(left.length, right.length)
  let at = 0
  while (at < end && left[at] === right[at]) at++
  return at
}

const STAMP =
  /\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}(?::\d{2}(?:[.,]\d+)?)?(?:Z|[+-]\d{2}:?\d{2})?)?|\b(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day\b/g

/** Returns how many dates and days of the week differ; 0 if anything else differs. */
export function differingTimes(expected: string, received: string): number {
  if (expected.replaceAll(STAMP, '\0') !== received.replaceAll(STAMP, '\0')) return 0
  const before = expected.match(STAMP) ?? []
  const now = received.match(STAMP) ?? []
  return before.filter((stamp, at) => stamp !== now[at]).length
}
