// The members of one object, as spans.

import { CLOSE_ARRAY, COMMA, OPEN_ARRAY, OPEN_OBJECT } from './ascii.js'
import type { LongLine } from './fast/long-line.js'
import type { Scanner, Span } from './scan.js'
import { stringAt } from './text.js'

/** One member: its key with the quotes, and its value. */
export interface Member {
  readonly key: Span
  readonly value: Span
}

const FIELDS = 4
const NOTHING = Buffer.alloc(0)

/** An object's members in the order in which they are written; spans count from the start of the bytes. */
export class Members {
  readonly #bytes: Buffer
  /** The message, where it is in parts. */
  readonly #long: LongLine | undefined
  readonly #offsets: number[] = []

  constructor(bytes: Buffer, long?: LongLine) {
    this.#bytes = bytes
    this.#long = long
  }

  get bytes(): Buffer {
    return this.#long === undefined ? this.#bytes : this.#long.line
  }

  get size(): number {
    return this.#offsets.length / FIELDS
  }

  add(keyStart: number, keyEnd: number, valueStart: number, valueEnd: number): void {
    this.#offsets.push(keyStart, keyEnd, valueStart, valueEnd)
  }

  /** The value of the member called `name`, written without escapes. */
  span(name: string): Span | undefined {
    for (let i = 0; i < this.#offsets.length; i += FIELDS) {
      if (this.#isKey(this.#offset(i), this.#offset(i + 1), name)) return this.#span(i + 2)
    }
    return undefined
  }

  /** The text of the string member called `name`. */
  string(name: string): string | undefined {
    const span = this.span(name)
    if (this.#long === undefined || span === undefined) return stringAt(this.#bytes, span)
    return stringAt(this.#long.slice(span.start, span.end), { start: 0, end: span.end - span.start })
  }

  at(index: number): Member {
    return { key: this.key(index), value: this.#span(index * FIELDS + 2) }
  }

  key(index: number): Span {
    return this.#span(index * FIELDS)
  }

  /** The same members in a message that is in parts. */
  movedInto(long: LongLine, move: (offset: number) => number): Members {
    return this.#movedTo(new Members(NOTHING, long), move)
  }

  #movedTo(members: Members, move: (offset: number) => number): Members {
    if (this.#long === undefined && this.size === 0 && this.#bytes.length === 0) return this
    for (const offset of this.#offsets) members.#offsets.push(move(offset))
    return members
  }

  /** The same members in a copy of the bytes. */
  copied(bytes: Buffer): Members {
    return this.#movedTo(new Members(bytes), (offset) => offset)
  }

  *[Symbol.iterator](): IterableIterator<Member> {
    for (let i = 0; i < this.size; i++) yield this.at(i)
  }

  #isKey(start: number, end: number, name: string): boolean {
    if (this.#long === undefined) return isKey(this.#bytes, start, end, name)
    return end - start === name.length + 2 && isKey(this.#long.slice(start, end), 0, end - start, name)
  }

  #span(index: number): Span {
    return { start: this.#offset(index), end: this.#offset(index + 1) }
  }

  #offset(index: number): number {
    return this.#offsets[index] ?? 0
  }
}

/** Whether the string from `start` to `end`, quotes included, spells `name` byte for byte; `name` is ASCII. */
export function isKey(bytes: Buffer, start: number, end: number, name: string): boolean {
  if (end - start !== name.length + 2) return false
  for (let i = 0; i < name.length; i++) {
    if (bytes[start + 1 + i] !== name.charCodeAt(i)) return false
  }
  return true
}

/** The members of the object at `span`, or undefined when there is no object; `scanner` has accepted it already. */
export function membersAt(scanner: Scanner, span: Span | undefined): Members | undefined {
  if (span === undefined || scanner.byte(span.start) !== OPEN_OBJECT) return undefined
  const members = new Members(scanner.bytes)
  let end = span.start + 1
  for (let key = scanner.firstKey(end); key >= 0; key = scanner.nextKey(end)) {
    const keyEnd = scanner.string(key)
    const value = scanner.colon(keyEnd)
    end = scanner.value(value, 0)
    members.add(key, keyEnd, value, end)
  }
  return members
}

/** The items of the array at `span`, in order; empty when there is no array. */
export function itemsAt(scanner: Scanner, span: Span | undefined): Span[] {
  const items: Span[] = []
  if (span === undefined || scanner.byte(span.start) !== OPEN_ARRAY) return items
  let at = scanner.skipSpace(span.start + 1)
  while (scanner.byte(at) !== CLOSE_ARRAY) {
    const end = scanner.value(at, 0)
    items.push({ start: at, end })
    at = scanner.skipSpace(end)
    if (scanner.byte(at) === COMMA) at = scanner.skipSpace(at + 1)
  }
  return items
}
