// What messages of one connection have nearly in common: all but the values of a few members.
//
// A progress token or the number of a trace differs with each request. What stands around them is compared, and only a
// value that varies is looked at: a whole number, or a brief string without escapes.

import { BACKSLASH, CLOSE_OBJECT, QUOTE, SPACE, ZERO, isDigit } from '../ascii.js'
import type { FoundMembers, KnownMembers, MembersPattern } from '../members.js'
import type { Span } from '../scan.js'
import type { ComparedText } from './compared-text.js'

/** Numbers for each member among the places: its key's beginning and end, its value's beginning and end. */
const FIELDS = 4
/** More that vary are scanned as fast as they are looked for. */
const VARYING_MAX = 4
const VALUE_BYTES_MAX = 256
const DEL = 0x7f

/** Finds objects of one pattern. */
export class VaryingMembers implements MembersPattern {
  readonly varying: readonly number[]
  readonly #known: KnownMembers
  readonly #compared: ComparedText
  readonly #values: readonly Span[]
  /** One in which each value is as long as in the object that is known. */
  readonly #asLong: FoundMembers

  /** `varying` are the members of `known` whose values vary, and `values` where these stand. */
  constructor(
    known: KnownMembers,
    compared: ComparedText,
    varying: readonly number[],
    values: readonly Span[],
  ) {
    this.#known = known
    this.varying = varying
    this.#values = values
    this.#compared = compared
    this.#asLong = this.#found(known.text.length, known.places)
  }

  /** The object at `start`, where it is one of them. */
  at(bytes: Buffer, start: number): FoundMembers | undefined {
    const { length } = this.#known.text
    let from = 0
    let at = start
    let ends: number[] | undefined
    for (const [nth, { start: value, end }] of this.#values.entries()) {
      if (!this.#isPart(bytes, at, from, value)) return undefined
      at += value - from
      const valueEnd = briefEnd(bytes, at)
      if (valueEnd < 0) return undefined
      if (ends !== undefined || valueEnd - at !== end - value) {
        ends ??= this.#values.slice(0, nth).map((each) => each.end)
        ends.push(valueEnd - start)
      }
      at = valueEnd
      from = end
    }
    if (!this.#isPart(bytes, at, from, length)) return undefined
    return ends === undefined ? this.#asLong : this.#found(at - start + length - from, this.#placesFor(ends))
  }

  #isPart(bytes: Buffer, at: number, from: number, end: number): boolean {
    return at + end - from <= bytes.length && this.#compared.isAt(bytes, at, from, end)
  }

  #found(length: number, places: number[]): FoundMembers {
    return { length, places, known: undefined, pattern: this }
  }

  /** With values that end there. */
  #placesFor(ends: readonly number[]): number[] {
    const places = [...this.#known.places]
    let ahead = 0
    for (let at = 0, nth = 0; at < places.length; at += FIELDS) {
      const keyEnd = places[at + 1] ?? 0
      places[at] = (places[at] ?? 0) + ahead
      // Less than zero it says which of the routed names the key is.
      if (keyEnd >= 0) places[at + 1] = keyEnd + ahead
      places[at + 2] = (places[at + 2] ?? 0) + ahead
      const end = places[at + 3] ?? 0
      if (this.varying[nth] === at / FIELDS) ahead = (ends[nth++] ?? 0) - end
      places[at + 3] = end + ahead
    }
    return places
  }
}

/** The pattern of two objects that differ in a few values alone, which are looked at quickly; `compared` is the text of the other one. */
export function patternOf(
  one: KnownMembers,
  other: KnownMembers,
  compared: ComparedText,
): VaryingMembers | undefined {
  if (one.places.length !== other.places.length) return undefined
  const varying: number[] = []
  const values: Span[] = []
  let [from, otherFrom] = [0, 0]
  for (let at = 0; at < other.places.length; at += FIELDS) {
    const [value, otherValue] = [valueAt(one, at), valueAt(other, at)]
    if (areEqual(one, value, other, otherValue)) continue
    if (briefEnd(other.text, otherValue.start) !== otherValue.end) return undefined
    const before = { start: from, end: value.start }
    if (!areEqual(one, before, other, { start: otherFrom, end: otherValue.start })) return undefined
    varying.push(at / FIELDS)
    values.push(otherValue)
    from = value.end
    otherFrom = otherValue.end
  }
  const rest = { start: from, end: one.text.length }
  if (!areEqual(one, rest, other, { start: otherFrom, end: other.text.length })) return undefined
  const isFew = varying.length > 0 && varying.length <= VARYING_MAX
  return isFew ? new VaryingMembers(other, compared, varying, values) : undefined
}

function valueAt({ places }: KnownMembers, at: number): Span {
  return { start: places[at + 2] ?? 0, end: places[at + 3] ?? 0 }
}

function areEqual(one: KnownMembers, { start, end }: Span, other: KnownMembers, there: Span): boolean {
  return one.text.compare(other.text, there.start, there.end, start, end) === 0
}

/** The end of the whole number or the brief plain string at `at`; less than zero where there is another value, or none. */
function briefEnd(bytes: Buffer, at: number): number {
  const first = bytes[at] ?? CLOSE_OBJECT
  if (first === QUOTE) return plainEnd(bytes, at + 1)
  if (first === ZERO) return at + 1
  let end = at
  while (end - at < VALUE_BYTES_MAX && isDigit(bytes[end] ?? CLOSE_OBJECT)) end++
  return end > at ? end : -1
}

/** Behind the quote that ends a string of ASCII. */
function plainEnd(bytes: Buffer, from: number): number {
  for (let at = from; at - from < VALUE_BYTES_MAX; at++) {
    const c = bytes[at] ?? DEL
    if (c === QUOTE) return at + 1
    if (c < SPACE || c >= DEL || c === BACKSLASH) return -1
  }
  return -1
}
