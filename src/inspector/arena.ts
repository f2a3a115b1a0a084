// Keeps bytes in one block of memory, in which new bytes overwrite the oldest. The garbage collector gets no work.

import { Buffer } from 'node:buffer'

/** The most bytes that the inspector keeps of one message. */
export const KEPT_BYTES_MAX: number = 64 * 1024

/** Keeps bytes by their places. A place is the number of bytes reserved before it, so each place is unique. */
export class Arena {
  readonly memory: Buffer
  /** Reads and writes numbers in `memory`. */
  readonly numbers: DataView
  /** The place of the first byte of `memory`. */
  #round = 0
  #used = 0

  constructor(size: number) {
    this.memory = Buffer.allocUnsafeSlow(size)
    this.numbers = new DataView(this.memory.buffer)
  }

  /** The place of the next byte. */
  get end(): number {
    return this.#round + this.#used
  }

  /** The bytes before this place are overwritten. */
  get floor(): number {
    return this.end - this.memory.length
  }

  /** Returns the place of `length` adjacent bytes, which the caller writes. The memory must have as many bytes. */
  reserve(length: number): number {
    if (this.#used + length > this.memory.length) {
      this.#round += this.memory.length
      this.#used = 0
    }
    const place = this.#round + this.#used
    this.#used += length
    return place
  }

  add(bytes: Buffer): number {
    const place = this.reserve(bytes.length)
    this.memory.set(bytes, this.indexOf(place))
    return place
  }

  /** Returns the offset in `memory` of a place. */
  indexOf(place: number): number {
    return place >= this.#round ? place - this.#round : place - this.#round + this.memory.length
  }

  /** Returns a view, which later bytes may overwrite. */
  view(place: number, length: number): Buffer {
    const start = this.indexOf(place)
    return this.memory.subarray(start, start + length)
  }
}
