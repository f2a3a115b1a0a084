// A line, or the body of a message of HTTP, whose end has not come yet.

import { Buffer } from 'node:buffer'
import { CR, OPEN_OBJECT } from '../jsonrpc/ascii.js'
import { type Line, joinLine, lineAt, toLine } from '../jsonrpc/line.js'
import { LongLine } from '../jsonrpc/long-line.js'
import { LONG_BYTES_MIN, StringFinder } from '../jsonrpc/long-strings.js'
import { Pieces } from './pieces.js'

const NOTHING = Buffer.alloc(0)

/** Where an object begins in the first part of a line; undefined for any other line. */
export type Beginning = (first: Buffer) => number | undefined

export const wholeObject: Beginning = (first) => (first[0] === OPEN_OBJECT ? 0 : undefined)

/** The parts of one line after the other. */
export class UnfinishedLine {
  readonly #beginning: Beginning
  readonly #parts = new Pieces()
  /** Of a long object, from its second part on; null for any other long line. */
  #strings: StringFinder | null | undefined
  #start = 0

  /** A long object stays in parts. */
  constructor(beginning: Beginning = wholeObject) {
    this.#beginning = beginning
  }

  get bytes(): number {
    return this.#parts.bytes
  }

  /** Most lines have two parts, and the first of them need not be copied twice. */
  add(part: Buffer): void {
    if (this.#parts.bytes === 0) return this.#parts.keep(part)
    this.#parts.add(part)
    if (this.#strings === undefined && this.bytes >= LONG_BYTES_MIN && part.length > 0) this.#begin()
    else this.#strings?.push(part)
  }

  /** The line without a CR at its end: a long object in its parts, any other as a copy. Empty afterwards. */
  end(): Line | LongLine {
    const strings = this.#strings
    const start = this.#start
    const parts = this.take()
    const last = parts.pop() ?? NOTHING
    const line = last.at(-1) === CR ? last.subarray(0, -1) : last
    const [first] = parts
    if (!strings || first === undefined) return joinLine([...parts, line])
    return new LongLine([first.subarray(start), ...parts.slice(1)], toLine(line), strings.end())
  }

  /** All its parts, which are the receiver's to keep; empty afterwards. */
  take(): Buffer[] {
    this.#strings = undefined
    return this.#parts.take()
  }

  #begin(): void {
    const [first = NOTHING, ...others] = this.#parts.buffers
    const start = this.#beginning(first)
    this.#strings = start === undefined ? null : new StringFinder()
    this.#start = start ?? 0
    this.#strings?.push(first.subarray(start))
    for (const part of others) this.#strings?.push(part)
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
