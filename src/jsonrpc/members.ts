// The members of one object, as spans.

import { BACKSLASH, OPEN_ARRAY, OPEN_OBJECT } from './ascii.js'
import { FrameError } from './errors.js'
import type { FamiliarText } from './fast/familiar-text.js'
import type { LongLine } from './fast/long-line.js'
import { MEMBERS_MAX, type RoutedNames, indexOfName } from './routed-names.js'
import { type MemberSink, Scanner, type Span } from './scan.js'
import { isKey, stringAt } from './text.js'

/** One member: its key with the quotes, and its value. */
export interface Member {
  readonly key: Span
  readonly value: Span
}

/** The integers of a member: start and end of its key, start and end of its value, and the number of its name. */
const FIELDS = 5
const NO_NAME = -1
const NOTHING = Buffer.alloc(0)

/** More members than any real object has, and less than a megabyte of offsets. */
const UNROUTED_MEMBERS_MAX = 10_000

/** The same for the items of an array, where the caller names no limit. */
const ITEMS_MAX = 10_000

/** An object's members in the order in which they are written; spans count from the start of the bytes. */
export class Members implements MemberSink {
  readonly bytes: Buffer
  /** Whether a key is no routed name, or stands twice: `ambiguity` must then compare all keys. */
  isOdd = false
  /** Gives the text of `string`, which the messages of one connection often have in common. */
  latestText: FamiliarText | undefined
  readonly #names: RoutedNames | undefined
  /** The message, where it is in parts. */
  readonly #long: LongLine | undefined
  #places: number[] = []
  /** The routed names that stand here, as bits. */
  #seen = 0
  /** The last member whose own members are routed by too, and those. */
  #innerKey = ''
  #inner: Members | undefined

  constructor(bytes: Buffer, names?: RoutedNames, long?: LongLine) {
    this.bytes = bytes
    this.#names = names
    this.#long = long
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

  /** Gives false when the object has more members than are kept. */
  add(key: number, keyEnd: number, value: number, end: number): boolean {
    const name = this.#names === undefined ? NO_NAME : this.#numberOf(this.#names, key, keyEnd)
    this.#places.push(key, keyEnd, value, end, name)
    return this.#places.length <= FIELDS * (this.#names === undefined ? UNROUTED_MEMBERS_MAX : MEMBERS_MAX)
  }

  /** The members of the member `key`; undefined where it is not routed by, or no object. */
  inner(key: string): Members | undefined {
    return this.#innerKey === key ? this.#inner : undefined
  }

  /** The value of the member called `name`, written without escapes. */
  span(name: string): Span | undefined {
    for (let at = 0; at < this.#places.length; at += FIELDS)
      if (this.#isCalled(at, name)) return this.#span(at + 2)
    return undefined
  }

  /** The values of the routed names, by their numbers; the first of several. */
  get values(): (Span | undefined)[] {
    const values: (Span | undefined)[] = []
    for (let at = this.#places.length - FIELDS; at >= 0; at -= FIELDS) {
      const number = this.#places[at + 4] ?? NO_NAME
      if (number !== NO_NAME) values[number] = this.#span(at + 2)
    }
    return values
  }

  /** The text of the string member called `name`. */
  string(name: string): string | undefined {
    const span = this.span(name)
    return this.latestText === undefined ? stringAt(this.bytes, span) : this.latestText.at(this.bytes, span)
  }

  /** Whether the key of a member is one of these names, written without escapes. */
  isNamed(index: number, names: readonly string[]): boolean {
    for (const name of names) if (this.#isCalled(index * FIELDS, name)) return true
    return false
  }

  key(index: number): Span {
    return this.#span(index * FIELDS)
  }

  value(index: number): Span {
    return this.#span(index * FIELDS + 2)
  }

  /** The routed name of a member, also where it is written with escapes; undefined for any other. */
  name(index: number): string | undefined {
    return this.#names?.names[this.#places[index * FIELDS + 4] ?? NO_NAME]
  }

  /** The value of the member with this routed name: of the last of several, as `JSON.parse` reads them. */
  named(name: string): Span | undefined {
    for (let index = this.size - 1; index >= 0; index--)
      if (this.name(index) === name) return this.value(index)
    return undefined
  }

  /** Whether the value of the member with this routed name is this JSON text, byte for byte. */
  isWritten(name: string, raw: string): boolean {
    const span = this.named(name)
    return span !== undefined && span.end - span.start === raw.length && this.#slice(span).toString() === raw
  }

  /** The text of the member with this routed name; undefined where it is no string. */
  text(name: string): string | undefined {
    const span = this.named(name)
    return span && stringAt(this.#slice(span), { start: 0, end: span.end - span.start })
  }

  /** The same members in a copy of the bytes. */
  copied(bytes: Buffer): Members {
    // Of an object that is not there.
    if (this.bytes.length === 0) return this
    const members = new Members(bytes, this.#names)
    members.#places = [...this.#places]
    return members
  }

  /** The same members in a message that is in parts; `move` gives the place of a byte of this one in that one. */
  movedInto(long: LongLine, move: (offset: number) => number): Members {
    const members = new Members(NOTHING, this.#names, long)
    members.#places = this.#places.map((place, at) => (at % FIELDS === FIELDS - 1 ? place : move(place)))
    members.#innerKey = this.#innerKey
    members.#inner = this.#inner?.movedInto(long, move)
    return members
  }

  *[Symbol.iterator](): IterableIterator<Member> {
    for (let i = 0; i < this.size; i++) yield { key: this.key(i), value: this.value(i) }
  }

  /** The number of the name that a key spells. */
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

  /** Whether the member at `at` has this name: that of a routed one was compared when it was scanned. */
  #isCalled(at: number, name: string): boolean {
    const number = this.#places[at + 4] ?? NO_NAME
    if (number !== NO_NAME) return this.#names?.names[number] === name
    return isKey(this.bytes, this.#places[at] ?? 0, this.#places[at + 1] ?? 0, name)
  }

  /** The bytes at a span of the message, which may be in parts. */
  #slice({ start, end }: Span): Buffer {
    return this.#long === undefined ? this.bytes.subarray(start, end) : this.#long.slice(start, end)
  }

  #span(at: number): Span {
    return { start: this.#places[at] ?? 0, end: this.#places[at + 1] ?? 0 }
  }
}

/**
 * The members of the object at `span` of one JSON text; undefined when there is no object, or one with more members than
 * are kept: 10,000, or 1,024 where `names` are routed by.
 */
export function membersAt(bytes: Buffer, span: Span | undefined, names?: RoutedNames): Members | undefined {
  if (span === undefined || bytes[span.start] !== OPEN_OBJECT) return undefined
  const members = new Members(bytes, names)
  try {
    scannerOf(bytes, span).object(span.start, 1, members)
  } catch (error) {
    if (error instanceof FrameError && error.code === 'FRAME_TOO_LARGE') return undefined
    throw error
  }
  return members
}

/** The same of a whole JSON text. */
export function membersOf(json: string | Buffer): Members | undefined {
  const bytes = typeof json === 'string' ? Buffer.from(json) : json
  return membersAt(bytes, { start: 0, end: bytes.length })
}

/**
 * The items of the array at `span` of one JSON text, in order; empty when there is no array.
 *
 * Of an array with more than `itemsMax` items only the first `itemsMax + 1` are given: a caller that has a limit sees
 * that it is exceeded, and no further item costs anything.
 */
export function itemsAt(bytes: Buffer, span: Span | undefined, itemsMax: number = ITEMS_MAX): Span[] {
  const items: Span[] = []
  if (span === undefined || bytes[span.start] !== OPEN_ARRAY) return items
  scannerOf(bytes, span).array(span.start, 1, items, itemsMax)
  return items
}

/** For a value that a scan has accepted already: no depth can surprise here, and nothing behind it is looked at. */
function scannerOf(bytes: Buffer, { end }: Span): Scanner {
  return new Scanner(bytes.subarray(0, end), Number.MAX_SAFE_INTEGER)
}
