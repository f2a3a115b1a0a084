// The members of one object, as spans.

import { BACKSLASH, OPEN_ARRAY, OPEN_OBJECT } from './ascii.js'
import { FrameError } from './jsonrpc-errors.js'
import type { LongLine } from './long-line.js'
import { MEMBERS_MAX, type RoutedNames, indexOfName } from './routed-names.js'
import { type MemberSink, Scanner, type Span } from './scan.js'
import { isKey, stringAt } from './text.js'

/** One member: its key with the quotes, and its value. */
export interface Member {
  readonly key: Span
  readonly value: Span
}

/** The integers of a member: start and end of its key and of its value, and the index of its name. */
const FIELDS = 5
const NO_NAME = -1

/** More members than any real object has; the offsets take less than a megabyte. */
const UNROUTED_MEMBERS_MAX = 10_000

const ITEMS_MAX = 10_000

/** The members of an object in the order of the text; spans count from the start of the bytes. */
export class Members implements MemberSink {
  readonly bytes: Buffer
  /** Whether a key is no routed name or appears twice. `ambiguity` must then compare all keys. */
  isOdd = false
  readonly #names: RoutedNames | undefined
  /** The message in parts whose skeleton is `bytes`, and the map from offsets in `bytes` to offsets in it. */
  readonly #long: LongLine | undefined
  readonly #origin: (offset: number) => number
  #places: number[] = []
  /** The routed names that the object has, as bits. */
  #seen = 0
  /** The last member whose own members are routed by, and those members. */
  #innerKey = ''
  #inner: Members | undefined

  constructor(
    bytes: Buffer,
    names?: RoutedNames,
    long?: LongLine,
    origin: (offset: number) => number = same,
  ) {
    this.bytes = bytes
    this.#names = names
    this.#long = long
    this.#origin = origin
  }

  get size(): number {
    return this.#places.length / FIELDS
  }

  inside(key: number, keyEnd: number): MemberSink | undefined {
    const inners = this.#names?.inners
    if (inners === undefined) return undefined
    for (const inner of inners) {
      if (!isKey(this.bytes, key, keyEnd, inner.key)) continue
      this.#innerKey = inner.key
      this.#inner = new Members(this.bytes, inner.names)
      return this.#inner
    }
    return undefined
  }

  /** Returns false when the object has more members than are kept. */
  add(key: number, keyEnd: number, value: number, end: number): boolean {
    const name = this.#names === undefined ? NO_NAME : this.#numberOf(this.#names, key, keyEnd)
    this.#places.push(key, keyEnd, value, end, name)
    return this.#places.length <= FIELDS * (this.#names === undefined ? UNROUTED_MEMBERS_MAX : MEMBERS_MAX)
  }

  /** The members of the object under `key`; undefined if the key is not routed by, or its value is no object. */
  inner(key: string): Members | undefined {
    return this.#innerKey === key ? this.#inner : undefined
  }

  /**
   * The value of the member `name`. If several have the name, the last counts, as in `JSON.parse`. A name
   * that is not routed by is found only if it is written without escapes.
   */
  span(name: string): Span | undefined {
    for (let at = this.#places.length - FIELDS; at >= 0; at -= FIELDS)
      if (this.#isCalled(at, name)) return this.#span(at + 2)
    return undefined
  }

  /** The text of the member `name`; undefined if it is not a string. */
  string(name: string): string | undefined {
    const span = this.span(name)
    if (this.#long !== undefined && span !== undefined) {
      const bytes = this.#long.slice(span.start, span.end)
      return stringAt(bytes, { start: 0, end: bytes.length })
    }
    return stringAt(this.bytes, span)
  }

  at(index: number): Member {
    return { key: this.#span(index * FIELDS), value: this.#span(index * FIELDS + 2) }
  }

  /** The routed name of a member, even if it is written with escapes; undefined for another name. */
  name(index: number): string | undefined {
    return this.#names?.names[this.#places[index * FIELDS + 4] ?? NO_NAME]
  }

  /** Whether a member has one of these names, even if it is written with escapes. */
  isNamed(index: number, names: readonly string[]): boolean {
    const routed = this.name(index)
    if (routed !== undefined) return names.includes(routed)
    const start = this.#places[index * FIELDS] ?? 0
    const end = this.#places[index * FIELDS + 1] ?? 0
    if (names.some((name) => isKey(this.bytes, start, end, name))) return true
    const isEscaped = this.bytes.subarray(start, end).includes(BACKSLASH)
    return isEscaped && names.includes(stringAt(this.bytes, { start, end }) ?? '')
  }

  /** The same members for a copy of the bytes. If `long` is set, spans count from its start. */
  movedTo(bytes: Buffer, long?: LongLine, origin?: (offset: number) => number): Members {
    const members = new Members(bytes, this.#names, long, origin)
    members.#places = this.#places
    members.#innerKey = this.#innerKey
    members.#inner = this.#inner?.movedTo(bytes, long, origin)
    return members
  }

  *[Symbol.iterator](): IterableIterator<Member> {
    for (let i = 0; i < this.size; i++) yield this.at(i)
  }

  /** The index of the name that a key spells. */
  #numberOf({ names, exact }: RoutedNames, key: number, keyEnd: number): number {
    const number = indexOfName(this.bytes, key, keyEnd, exact)
    if (number >= 0) {
      if ((this.#seen & (1 << number)) !== 0) this.isOdd = true
      this.#seen |= 1 << number
      return number
    }
    this.isOdd = true
    for (let at = key; at < keyEnd; at++)
      if (this.bytes[at] === BACKSLASH)
        return names.indexOf(stringAt(this.bytes, { start: key, end: keyEnd }) ?? '')
    return NO_NAME
  }

  /** Whether the member at `at` has this name. The scan has compared routed names already. */
  #isCalled(at: number, name: string): boolean {
    const number = this.#places[at + 4] ?? NO_NAME
    if (number !== NO_NAME) return this.#names?.names[number] === name
    return isKey(this.bytes, this.#places[at] ?? 0, this.#places[at + 1] ?? 0, name)
  }

  #span(at: number): Span {
    return { start: this.#origin(this.#places[at] ?? 0), end: this.#origin(this.#places[at + 1] ?? 0) }
  }
}

function same(offset: number): number {
  return offset
}

/**
 * The members of the object at `span` of one JSON text; undefined if there is no object, or if it has more
 * members than are kept.
 */
export function membersAt(bytes: Buffer, span: Span | undefined): Members | undefined {
  if (span === undefined || bytes[span.start] !== OPEN_OBJECT) return undefined
  const members = new Members(bytes)
  try {
    scannerOf(bytes, span).object(span.start, 1, members)
  } catch (error) {
    if (error instanceof FrameError && error.code === 'FRAME_TOO_LARGE') return undefined
    throw error
  }
  return members
}

export function membersOf(json: string | Buffer): Members | undefined {
  const bytes = typeof json === 'string' ? Buffer.from(json) : json
  return membersAt(bytes, { start: 0, end: bytes.length })
}

/**
 * The items of the array at `span` of one JSON text, in order; empty if there is no array. The scan stops
 * after `itemsMax + 1` items.
 */
export function itemsAt(bytes: Buffer, span: Span | undefined, itemsMax: number = ITEMS_MAX): Span[] {
  const items: Span[] = []
  if (span === undefined || bytes[span.start] !== OPEN_ARRAY) return items
  scannerOf(bytes, span).array(span.start, 1, items, itemsMax)
  return items
}

/** For a value that a scan has accepted: the depth needs no limit, and the bytes after the value are not read. */
function scannerOf(bytes: Buffer, { end }: Span): Scanner {
  return new Scanner(bytes.subarray(0, end), Number.MAX_SAFE_INTEGER)
}
