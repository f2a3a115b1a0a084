// A line whose end has not come yet.
//
// Large parts are kept as they are. Small ones are copied together, so that a
// line in tiny chunks costs little more memory than its bytes, and so that the
// short end of a chunk does not keep the whole of it.

import { Buffer } from 'node:buffer'
import { type Line, joinLine } from '../jsonrpc/line.js'

/** A longer part is kept as a separate object. */
const SMALL_BYTES_MAX = 4 * 1024
const BLOCK_BYTES = 16 * 1024
const NOTHING = Buffer.alloc(0)

/** The parts of one line, joined once. */
export class UnfinishedLine {
  #parts: Buffer[] = []
  #bytes = 0
  /** The memory for small parts; the bytes between `#from` and `#to` are not among the parts yet. */
  #block: Buffer = NOTHING
  #from = 0
  #to = 0

  get bytes(): number {
    return this.#bytes
  }

  add(part: Buffer): void {
    this.#bytes += part.length
    if (part.length > SMALL_BYTES_MAX) {
      this.#cut()
      this.#parts.push(part)
    } else this.#copy(part)
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
    if (this.#to > this.#from) this.#parts.push(this.#block.subarray(this.#from, this.#to))
    this.#from = this.#to
  }
}
