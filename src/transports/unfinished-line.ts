// A line, or the body of a message of HTTP, whose end has not come yet.
//
// The first part and large ones are kept as they are. Small ones behind them are copied together, so that a
// line in tiny chunks costs little more memory than its bytes. The values of a long line are looked for while its parts come, so that
// no turn looks at more than one read.

import { Buffer } from 'node:buffer'
import { CR, OPEN_OBJECT } from '../jsonrpc/ascii.js'
import { LONG_BYTES_MIN, LongLine } from '../jsonrpc/fast/long-line.js'
import { ValueFinder } from '../jsonrpc/fast/value-finder.js'
import { type Line, joinLine, lineAt, toLine } from '../jsonrpc/line.js'

/** A longer part is kept as a separate object. */
const SMALL_BYTES_MAX = 4 * 1024
const BLOCK_BYTES = 16 * 1024
const NOTHING = Buffer.alloc(0)
const CR_ALONE = Buffer.from('\r')

/** Where a long message that is to be followed begins in its first part; undefined for any other line. */
type Beginning = (first: Buffer) => number | undefined

const wholeObject: Beginning = (first) => (first[0] === OPEN_OBJECT ? 0 : undefined)

/** The parts of one line after the other. */
export class UnfinishedLine {
  readonly #beginning: Beginning
  #parts: Buffer[] = []
  #bytes = 0
  /** The memory for small parts; the bytes between `#from` and `#to` are not among the parts yet. */
  #block: Buffer = NOTHING
  #from = 0
  #to = 0
  /** How many parts were looked at, where the message begins in the first of them, and who finds its values. */
  #followed = 0
  #start: number | undefined
  #finder: ValueFinder | undefined
  #hasCr = false

  constructor(beginning: Beginning = wholeObject) {
    this.#beginning = beginning
  }

  get bytes(): number {
    return this.#bytes
  }

  get firstByte(): number | undefined {
    return this.#parts[0]?.[0]
  }

  add(part: Buffer): void {
    if (part.length > SMALL_BYTES_MAX || this.#bytes === 0) {
      this.#cut()
      this.#parts.push(part)
    } else this.#copy(part)
    this.#bytes += part.length
    if (this.#bytes >= LONG_BYTES_MIN && this.#parts.length > this.#followed) this.#follow()
  }

  /** The line without a CR at its end: a message that was followed in its parts, any other as a copy. Empty afterwards. */
  end(): Line | LongLine {
    this.#cut()
    if (this.#bytes >= LONG_BYTES_MIN) this.#follow()
    const start = this.#start
    const finder = this.#finder
    const block = this.#block
    const parts = this.give()
    const last = parts.at(-1)
    if (last?.at(-1) === CR) parts[parts.length - 1] = last.subarray(0, -1)
    if (start === undefined) {
      // What was copied out of it may be overwritten.
      this.#block = block
      return joinLine(parts)
    }
    parts[0] = parts[0]?.subarray(start) ?? NOTHING
    return new LongLine(parts.slice(0, -1), toLine(parts.at(-1) ?? NOTHING), finder?.finish())
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
    this.#followed = 0
    this.#start = undefined
    this.#finder = undefined
    this.#hasCr = false
    return parts
  }

  /** Finds the values of the parts that are new. */
  #follow(): void {
    const [first] = this.#parts
    if (this.#followed === 0 && first !== undefined) {
      this.#start = this.#beginning(first)
      if (this.#start !== undefined) this.#finder = ValueFinder.make()
    }
    for (const part of this.#parts.slice(this.#followed))
      this.#push(part === first ? part.subarray(this.#start) : part)
    this.#followed = this.#parts.length
  }

  /** A CR at the end of a part waits for the next one: that of the last belongs to the end of the line. */
  #push(part: Buffer): void {
    if (this.#hasCr) this.#finder?.push(CR_ALONE)
    this.#hasCr = part.at(-1) === CR
    this.#finder?.push(this.#hasCr ? part.subarray(0, -1) : part)
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
  const { buffer, byteOffset, length } = line
  return lineAt(Buffer.from(buffer, byteOffset, length + 1), MARK.length, length)
}
