// A line, or the body of a message of HTTP, whose end has not come yet.
//
// Large parts are kept as they are. Small ones are copied together, so that a
// line in tiny chunks costs little more memory than its bytes, and so that the
// short end of a chunk does not keep the whole of it.

import { Buffer } from 'node:buffer'
import { type Line, joinLine, lineAt } from '../jsonrpc/line.js'

/** A longer part is kept as a separate object. */
const SMALL_BYTES_MAX = 4 * 1024
const BLOCK_BYTES = 16 * 1024
const NOTHING = Buffer.alloc(0)

/** The parts of one line, joined once. */
export class UnfinishedLine {
  #parts: Buffer[] = []
  #bytes = 0
  /** The first part, as long as it is small and alone: most bodies have no other, and need no block. */
  #only: Buffer | undefined
  /** The memory for small parts; the bytes between `#from` and `#to` are not among the parts yet. */
  #block: Buffer = NOTHING
  #from = 0
  #to = 0

  get bytes(): number {
    return this.#bytes
  }

  get firstByte(): number | undefined {
    const [first = this.#block.subarray(this.#from, this.#to)] = this.#parts
    return (this.#only ?? first)[0]
  }

  add(part: Buffer): void {
    const isFirst = this.#bytes === 0
    this.#bytes += part.length
    if (part.length > SMALL_BYTES_MAX) {
      this.#cut()
      this.#parts.push(part)
      return
    }
    if (isFirst) return void (this.#only = part)
    const only = this.#only
    this.#only = undefined
    if (only !== undefined) this.#copy(only)
    this.#copy(part)
  }

  /** Returns a copy of the whole line, and is empty afterwards. */
  take(): Line {
    this.#cut()
    const line = joinLine(this.#parts, this.#bytes)
    this.clear()
    return line
  }

  /** Those of its parts that will not grow. */
  get settled(): readonly Buffer[] {
    return this.#parts
  }

  /** All its parts so far. */
  parts(): readonly Buffer[] {
    this.#cut()
    return this.#parts
  }

  /** All its parts, which are the receiver's to keep; empty afterwards. */
  give(): readonly Buffer[] {
    this.#cut()
    const parts = this.#parts
    this.clear()
    this.#block = NOTHING
    return parts
  }

  clear(): void {
    this.#parts = []
    this.#bytes = 0
    this.#only = undefined
    this.#from = 0
    this.#to = 0
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
    if (this.#only !== undefined) this.#parts.push(this.#only)
    this.#only = undefined
    if (this.#to > this.#from) this.#parts.push(this.#block.subarray(this.#from, this.#to))
    this.#from = this.#to
  }
}

/** Some programs write a byte order mark before JSON, which a reader may skip (RFC 8259, section 8.1). */
const MARK = Buffer.from('\u{feff}')

/** A line without the byte order mark that it may begin with. */
export function withoutMark(line: Line): Line {
  if (line[0] !== MARK[0] || !line.subarray(0, MARK.length).equals(MARK)) return line
  const { buffer, byteOffset, length } = line
  return lineAt(Buffer.from(buffer, byteOffset, length + 1), MARK.length, length)
}
