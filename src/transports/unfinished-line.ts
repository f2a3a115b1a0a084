// A line, or the body of a message of HTTP, whose end has not come yet.
//
// The first part and large ones are kept as they are. Small ones behind them are copied together, so that a
// line in tiny chunks costs little more memory than its bytes.

import { Buffer } from 'node:buffer'
import { CR, OPEN_OBJECT } from '../jsonrpc/ascii.js'
import { type Line, joinLine, lineAt, toLine } from '../jsonrpc/line.js'
import { LongLine } from '../jsonrpc/long-line.js'
import { LONG_BYTES_MIN } from '../jsonrpc/long-strings.js'

/** A longer part is kept as a separate object. */
const SMALL_BYTES_MAX = 4 * 1024
const BLOCK_BYTES = 16 * 1024
const NOTHING = Buffer.alloc(0)

/** Where an object begins in the first part of a line; undefined for any other line. */
export type Beginning = (first: Buffer) => number | undefined

export const wholeObject: Beginning = (first) => (first[0] === OPEN_OBJECT ? 0 : undefined)

/** The parts of one line after the other. */
export class UnfinishedLine {
  readonly #beginning: Beginning
  #parts: Buffer[] = []
  #bytes = 0
  /** The memory for small parts; the bytes between `#from` and `#to` are not among the parts yet. */
  #block: Buffer = NOTHING
  #from = 0
  #to = 0

  /** A long object stays in parts. */
  constructor(beginning: Beginning = wholeObject) {
    this.#beginning = beginning
  }

  get bytes(): number {
    return this.#bytes
  }

  add(part: Buffer): void {
    if (part.length > SMALL_BYTES_MAX || this.#bytes === 0) {
      this.#cut()
      this.#parts.push(part)
    } else this.#copy(part)
    this.#bytes += part.length
  }

  /** The line without a CR at its end: a long object in its parts, any other as a copy. Empty afterwards. */
  end(): Line | LongLine {
    const isLong = this.#bytes >= LONG_BYTES_MIN
    const block = this.#block
    const parts = this.give()
    const last = parts.pop() ?? NOTHING
    const line = last.at(-1) === CR ? last.subarray(0, -1) : last
    const [first] = parts
    const start = isLong && first !== undefined ? this.#beginning(first) : undefined
    if (start !== undefined && first !== undefined)
      return new LongLine([first.subarray(start), ...parts.slice(1)], toLine(line))
    // What was copied out of it may be overwritten.
    this.#block = block
    return joinLine([...parts, line])
  }

  /** All its parts, which are the receiver's to keep; empty afterwards. */
  give(): Buffer[] {
    this.#cut()
    const parts = this.#parts
    this.#parts = []
    this.#bytes = 0
    this.#block = NOTHING
    this.#from = 0
    this.#to = 0
    return parts
  }

  #copy(part: Buffer): void {
    if (part.length > this.#block.length - this.#to) {
      this.#cut()
      this.#block = Buffer.allocUnsafeSlow(BLOCK_BYTES)
      this.#from = 0
      this.#to = 0
    }
    this.#block.set(part, this.#to)
    this.#to += part.length
  }

  #cut(): void {
    if (this.#to > this.#from) this.#parts.push(this.#block.subarray(this.#from, this.#to))
    this.#from = this.#to
  }
}

/** Some programs write a byte order mark before JSON, which a reader may skip (RFC 8259, section 8.1). */
const MARK = Buffer.from('\u{feff}')

/** A line without the byte order mark that it may begin with. */
export function withoutMark<T extends Line | LongLine>(line: T): T | Line {
  if (line instanceof LongLine || line[0] !== MARK[0] || !line.subarray(0, MARK.length).equals(MARK))
    return line
  return lineFrom(line, MARK.length)
}

/** The line without its first bytes. */
export function lineFrom({ buffer, byteOffset, length }: Line, start: number): Line {
  return lineAt(Buffer.from(buffer, byteOffset, length + 1), start, length)
}
