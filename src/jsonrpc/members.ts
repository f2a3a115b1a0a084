// The members of one object, as spans.

import { OPEN_ARRAY, OPEN_OBJECT } from './ascii.js'
import { FrameError } from './errors.js'
import type { FamiliarText } from './fast/familiar-text.js'
import { MEMBERS_MAX, type RoutedNames, indexOfName } from './routed-names.js'
import { type MemberSink, Scanner, type Span } from './scan.js'
import { isKey, stringAt } from './text.js'

/** One member: its key with the quotes, and its value. */
export interface Member {
  readonly key: Span
  readonly value: Span
}

/** Of a member: where its key begins and ends, and its value. In place of a key's end may stand which routed name it is. */
const FIELDS = 4
const NO_NAME = -1
/** The first of the routed names; the next ones are less. */
const FIRST_NAME = -1

/** How many members of an object that is not routed by are kept: more than any real object has, and less than a megabyte of offsets. */
const UNROUTED_MEMBERS_MAX = 10_000

/** How many items of an array are kept where the caller names no limit, for the same reason. */
const ITEMS_MAX = 10_000

/** An object's members in the order in which they are written; spans count from the start of the bytes. */
export class Members implements MemberSink {
  readonly bytes: Buffer
  /** By which messages are routed, where the object is one of those that name them. */
  readonly #routed: RoutedNames | undefined
  /** The string that was read last of a message before. */
  readonly #latestText: FamiliarText | undefined
  readonly #places: number[] = []
  /** The routed names that stand here, as bits. */
  #seen = 0
  /** Whether a key is no routed name, or stands twice: then somebody has to look at all of them. */
  isOdd = false
  /** The members of the member that is routed by too. */
  inner: Members | undefined

  constructor(bytes: Buffer, routed?: RoutedNames, latestText?: FamiliarText) {
    this.bytes = bytes
    this.#routed = routed
    this.#latestText = latestText
  }

  get size(): number {
    return this.#places.length / FIELDS
  }

  inside(key: number, keyEnd: number): MemberSink | undefined {
    const inner = this.#routed?.inner
    if (inner === undefined || !isKey(this.bytes, key, keyEnd, inner.key)) return undefined
    this.inner = new Members(this.bytes, inner.names)
    return this.inner
  }

  /** Gives false when the object has more members than are kept. */
  add(key: number, keyEnd: number, value: number, end: number): boolean {
    const routed = this.#routed
    const name = routed === undefined ? NO_NAME : indexOfName(this.bytes, key, keyEnd, routed.exact)
    this.#places.push(key, name === NO_NAME ? keyEnd : FIRST_NAME - name, value, end)
    if (routed === undefined) return this.#places.length <= UNROUTED_MEMBERS_MAX * FIELDS
    const bit = 1 << name
    // No name is the thirty-second: a shift by -1 sets that bit.
    if (bit < 0 || (this.#seen & bit) !== 0) this.isOdd = true
    this.#seen |= bit
    return this.#places.length <= MEMBERS_MAX * FIELDS
  }

  /** The value of the member called `name`, written without escapes. */
  span(name: string): Span | undefined {
    for (let at = 0; at < this.#places.length; at += FIELDS)
      if (this.#isCalled(at, name)) return this.#span(at + 2)
    return undefined
  }

  /** The text of the string member called `name`. */
  string(name: string): string | undefined {
    const span = this.span(name)
    return this.#latestText === undefined ? stringAt(this.bytes, span) : this.#latestText.at(this.bytes, span)
  }

  /** Whether the key of a member is one of these names, written without escapes. */
  isNamed(index: number, names: readonly string[]): boolean {
    for (const name of names) if (this.#isCalled(index * FIELDS, name)) return true
    return false
  }

  at(index: number): Member {
    return { key: this.key(index), value: this.value(index) }
  }

  key(index: number): Span {
    const at = index * FIELDS
    const place = this.#places[at + 1] ?? 0
    if (place > FIRST_NAME) return this.#span(at)
    const start = this.#places[at] ?? 0
    return { start, end: start + 2 + (this.#routed?.names[FIRST_NAME - place] ?? '').length }
  }

  value(index: number): Span {
    return this.#span(index * FIELDS + 2)
  }

  /** The same members in a copy of the bytes. */
  copied(bytes: Buffer): Members {
    // Of an object that is not there.
    if (this.bytes.length === 0) return this
    const members = new Members(bytes, this.#routed)
    for (const place of this.#places) members.#places.push(place)
    return members
  }

  *[Symbol.iterator](): IterableIterator<Member> {
    for (let i = 0; i < this.size; i++) yield this.at(i)
  }

  /** Whether the member whose places begin at `at` has this name: that of a routed one was compared when it was scanned. */
  #isCalled(at: number, name: string): boolean {
    const place = this.#places[at + 1] ?? 0
    if (place <= FIRST_NAME) return this.#routed?.names[FIRST_NAME - place] === name
    const start = this.#places[at] ?? 0
    return isKey(this.bytes, start, place, name)
  }

  #span(index: number): Span {
    return { start: this.#places[index] ?? 0, end: this.#places[index + 1] ?? 0 }
  }
}

/** The members of the object at `span` of one JSON text; undefined when there is no object, or one with more than 10,000 members. */
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

/**
 * The items of the array at `span` of one JSON text, in order; empty when there is no array.
 *
 * Of an array with more than `itemsMax` items only the first `itemsMax + 1` are given: a caller that has a limit sees
 * that it is exceeded, and the rest costs nothing.
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
