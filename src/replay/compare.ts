// Compares an expected frame with the one that arrived, and finds the first difference.
//
// Two readings. `json` leaves the order of members, white space and the spelling
// of strings free; numbers count as they are written, so `1.0` is not `1`.
// `bytes` is that and then every byte, but for the places that may vary.

import type { Span } from '../jsonrpc/scan.js'
import { type ArrayNode, type JsonNode, type ObjectNode, idOf, kindOf, pathAt } from './json-tree.js'
import { type Hole, type Pattern, REST, misfit } from './pattern.js'
import { memberPath } from '../text/member-path.js'

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
      tree.kind === 'array' && came.kind === 'array' ? this.#batch(tree, came) : this.#whole(tree, came)
    if (difference !== undefined) return { kind: 'different', difference }
    return { kind: 'equal', bound: this.#bound, times: this.#times }
  }

  /** The first member that differs, and the first byte. */
  #whole(tree: JsonNode, came: JsonNode): Difference | undefined {
    const member = this.#node(tree, came, '$')
    const whole = { start: 0, end: this.#pattern.bytes.length }
    const byte = this.#bytes(whole, { start: 0, end: this.#received.bytes.length })
    if (member === undefined || byte === undefined || byte.offset >= member.offset) return member ?? byte
    return { ...byte, path: member.path, problem: member.problem }
  }

  /** The answers of a batch come in any order (JSON-RPC 2.0, section 6). */
  #batch(expected: ArrayNode, came: ArrayNode): Difference | undefined {
    const left = [...came.items]
    const ordered = expected.items.map((item) => {
      const at = left.findIndex((candidate) => idOf(candidate) === idOf(item))
      return left.splice(at === -1 ? 0 : at, 1)[0]
    })
    if (left.length > 0 || ordered.includes(undefined)) return this.#items(expected, came, '$')
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
    if (expected.kind === 'object' && came.kind === 'object') return this.#members(expected, came, path)
    if (expected.kind === 'array' && came.kind === 'array') return this.#items(expected, came, path)
    if (expected.kind === 'string' && came.kind === 'string') {
      if (expected.text === came.text) return undefined
      const times = this.#pattern.timesVary ? differingTimes(expected.text, came.text) : 0
      if (times > 0) return this.#accept(expected, came, times)
    } else if (this.#expectedText(expected) === this.#cameText(came)) return undefined
    return this.#differs(
      expected,
      came,
      path,
      `is ${came.kind === expected.kind ? 'another value' : kindOf(came)}`,
    )
  }

  #members(expected: ObjectNode, came: ObjectNode, path: string): Difference | undefined {
    const left = [...came.members]
    for (const { name, value } of expected.members) {
      if (name === REST && this.#pattern.open.has(expected.start)) continue
      const at = left.findIndex((member) => member.name === name)
      const [member] = at === -1 ? [] : left.splice(at, 1)
      if (member === undefined) {
        const offset = came.end - 1
        return { path: memberPath(path, name), problem: 'is missing', offset, expectedOffset: value.start }
      }
      const found = this.#node(value, member.value, memberPath(path, name))
      if (found !== undefined) return found
    }
    const [extra] = this.#pattern.open.has(expected.start) ? [] : left
    if (extra === undefined) return undefined
    const where = { offset: extra.keyStart, expectedOffset: expected.end - 1 }
    return { path: memberPath(path, extra.name), problem: 'is not expected', ...where }
  }

  #items(expected: ArrayNode, came: ArrayNode, path: string): Difference | undefined {
    for (const [at, item] of expected.items.entries()) {
      const other = came.items[at]
      const here = `${path}[${at}]`
      if (other === undefined) {
        return { path: here, problem: 'is missing', offset: came.end - 1, expectedOffset: item.start }
      }
      const found = this.#node(item, other, here)
      if (found !== undefined) return found
    }
    const extra = came.items[expected.items.length]
    if (extra === undefined) return undefined
    const where = { offset: extra.start, expectedOffset: expected.end - 1 }
    return { path: `${path}[${expected.items.length}]`, problem: 'is not expected', ...where }
  }

  #hole(hole: Hole, expected: JsonNode, came: JsonNode, path: string): Difference | undefined {
    const raw = this.#cameText(came)
    const refused = this.#refusal(hole, expected, came, raw)
    if (refused !== undefined) {
      return { path, problem: refused, offset: came.start, expectedOffset: expected.start }
    }
    if (hole.kind === 'bind') this.#bound.set(hole.name, raw)
    return this.#accept(expected, came, 0)
  }

  /** Why the value may not stand there. */
  #refusal(hole: Hole, expected: JsonNode, came: JsonNode, raw: string): string | undefined {
    if (hole.kind !== 'same') return misfit(hole, came)
    const value = this.#bound.get(hole.name) ?? this.#values.get(hole.name) ?? this.#expectedText(expected)
    return raw === value ? undefined : `is not ${value}, which came before`
  }

  #accept(expected: Span, received: Span, times: number): undefined {
    this.#accepted.push({ expected, received })
    this.#times += times
  }

  #differs(expected: Span, came: Span, path: string, problem: string): Difference {
    const a = this.#pattern.bytes.subarray(expected.start, expected.end)
    const b = this.#received.bytes.subarray(came.start, came.end)
    const same = commonLength(a, b)
    return { path, problem, offset: came.start + same, expectedOffset: expected.start + same }
  }

  /** The first byte of a span that differs although its values are equal; what was accepted may differ. */
  #bytes(expected: Span, came: Span): Difference | undefined {
    if (this.#mode === 'json' || this.#pattern.open.size > 0) return undefined
    const accepted = this.#accepted.filter((place) => isWithin(place.expected, expected))
    const end = { expected: endOf(expected), received: endOf(came) }
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

  #expectedText(node: Span): string {
    return this.#pattern.bytes.toString('utf8', node.start, node.end)
  }

  #cameText(node: Span): string {
    return this.#received.bytes.toString('utf8', node.start, node.end)
  }
}

function endOf({ end }: Span): Span {
  return { start: end, end }
}

function isWithin(inner: Span, outer: Span): boolean {
  return outer.start <= inner.start && inner.end <= outer.end
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
