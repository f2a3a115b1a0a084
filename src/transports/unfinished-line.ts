// A line, or the body of an HTTP message, whose end has not arrived yet.

import { Buffer } from 'node:buffer'
import { CR, OPEN_OBJECT } from '../jsonrpc/ascii.js'
import { type Line, joinLine, lineAt, toLine } from '../jsonrpc/line.js'
import { LongLine } from '../jsonrpc/long-line.js'
import { LONG_BYTES_MIN, StringFinder } from '../jsonrpc/long-strings.js'
import { Pieces } from './pieces.js'

const NOTHING = Buffer.alloc(0)

/** Returns the offset of the object in the first part of a line; undefined for any other line. */
export type Beginning = (first: Buffer) => number | undefined

export const wholeObject: Beginning = (first) => (first[0] === OPEN_OBJECT ? 0 : undefined)

export class UnfinishedLine {
  readonly #beginning: Beginning
  readonly #parts = new Pieces()
  /** The strings of a long object, from its second part on; null for any other long line. */
  #strings: StringFinder | null | undefined
  #start = 0

  constructor(beginning: Beginning = wholeObject) {
    this.#beginning = beginning
  }

  get bytes(): number {
    return this.#parts.bytes
  }

  /** Most lines have two parts, so the first part is not copied twice. */
  add(part: Buffer): void {
    if (this.#parts.bytes === 0) return this.#parts.keep(part)
    this.#parts.add(part)
    if (this.#strings === undefined && this.bytes >= LONG_BYTES_MIN && part.length > 0) this.#begin()
    else this.#strings?.push(part)
  }

  /** Returns the line without a final CR, and empties this object. A long object stays in parts. */
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

  /** Returns all parts, which the caller may keep, and empties this object. */
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

/** Removes a byte order mark at the beginning of a line. */
export function withoutMark<T extends Line | LongLine>(line: T): T | Line {
  if (line instanceof LongLine || line[0] !== MARK[0] || !line.subarray(0, MARK.length).equals(MARK))
    return line
  return lineFrom(line, MARK.length)
}

export function lineFrom({ buffer, byteOffset, length }: Line, start: number): Line {
  return lineAt(Buffer.from(buffer, byteOffset, length + 1), start, length)
}
