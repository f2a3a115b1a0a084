// A long message, in the parts in which it came.
//
// Most long messages are only passed on. They leave in the parts in which they
// came, and are joined into one line only for a caller that looks into them.

import { type Line, joinLine, lengthOf } from '../line.js'
import type { KnownValues } from '../scan.js'
import { ValueFinder } from './value-finder.js'

/** From here on a message is worth more than one look. */
export const LONG_BYTES_MIN: number = 4 * 1024

/** The whole message in one piece. */
export function joinedLine(message: Line | LongLine): Line {
  return message instanceof LongLine ? message.line : message
}

/** One message in memory of several pieces; a line feed lies behind the last. */
export class LongLine {
  readonly parts: readonly Buffer[]
  readonly length: number
  /** Its long values; undefined where they are not known. */
  readonly known: KnownValues | undefined
  #line: Line | undefined

  constructor(head: readonly Buffer[], last: Line, known: KnownValues | undefined) {
    this.parts = [...head, last]
    this.length = lengthOf(this.parts)
    this.known = known
    if (head.length === 0) this.#line = last
  }

  static of(line: Line): LongLine {
    const finder = ValueFinder.make()
    finder?.push(line)
    return new LongLine([], line, finder?.finish())
  }

  /** A few of its bytes; the parts are not joined for them. */
  slice(start: number, end: number): Buffer {
    if (this.#line !== undefined) return this.#line.subarray(start, end)
    const views: Uint8Array[] = []
    new PartReader(this.parts).read(start, end, views)
    return Buffer.concat(views)
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
