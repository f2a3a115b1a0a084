// A long message, in the parts in which it came.
//
// Most long messages are only passed on. They leave in the parts in which they
// came, and are joined into one line only for a caller that looks into them.

import { type Line, joinLine, lengthOf, toLine } from '../line.js'

/** The first bytes that a JSON text may have, white space included. */
const BEGINNINGS: ReadonlySet<number> = new Set(Buffer.from('{["-0123456789tfn \t\r\n'))

/** The length of the excerpt of a message that is no JSON. */
const NOISE_BYTES = 256

/** The whole message in one piece. */
export function joinedLine(message: Line | LongLine): Line {
  return message instanceof LongLine ? message.line : message
}

/** One message in memory of several pieces; a line feed lies behind the last. */
export class LongLine {
  readonly parts: readonly Buffer[]
  readonly length: number
  /** The offsets at which its long strings begin and end, quotes included, in turn; undefined when unknown. */
  readonly strings: readonly number[] | undefined
  #line: Line | undefined

  constructor(head: readonly Buffer[], last: Line, strings: readonly number[] | undefined) {
    this.parts = [...head, last]
    this.length = lengthOf(this.parts)
    this.strings = strings
    if (head.length === 0) this.#line = last
  }

  /** A few of its bytes; the parts are not joined for them. */
  slice(start: number, end: number): Buffer {
    if (this.#line !== undefined) return this.#line.subarray(start, end)
    const views: Uint8Array[] = []
    new PartReader(this.parts).read(start, end, views)
    return Buffer.concat(views)
  }

  /** Its beginning, where that shows that it is no JSON at all; undefined when it may be. */
  get noise(): Line | undefined {
    const [first] = this.parts
    return first === undefined || BEGINNINGS.has(first[0] ?? 0)
      ? undefined
      : toLine(first.subarray(0, NOISE_BYTES))
  }

  /** The whole message in one piece, joined when it is first asked for. */
  get line(): Line {
    this.#line ??= joinLine(this.parts, this.length)
    return this.#line
  }
}

/** Reads ranges in order, each behind the one before, without a copy. */
export class PartReader {
  readonly #parts: readonly Uint8Array[]
  #index = 0
  /** The offset of the part at `#index` in the message. */
  #offset = 0

  constructor(parts: readonly Uint8Array[]) {
    this.#parts = parts
  }

  /** Adds the bytes from `from` to `to` as views on the parts. */
  read(from: number, to: number, into: Uint8Array[]): void {
    for (let part = this.#parts[this.#index]; part !== undefined; part = this.#parts[this.#index]) {
      const end = this.#offset + part.length
      const first = Math.max(from, this.#offset)
      const last = Math.min(to, end)
      const isWhole = last - first === part.length
      if (last > first) into.push(isWhole ? part : part.subarray(first - this.#offset, last - this.#offset))
      if (to <= end) return
      this.#offset = end
      this.#index++
    }
  }
}
