// Bytes in one block of memory, in which the oldest make room for the new: nothing is made for the garbage collector.

import { Buffer } from 'node:buffer'

/** More of one message is not kept. */
export const KEPT_BYTES_MAX: number = 64 * 1024

/** Keeps bytes by their places. A place is the number of bytes that were reserved before it, so it is never used again. */
export class Arena {
  readonly memory: Buffer
  /** The same memory, for numbers. */
  readonly numbers: DataView
  /** The place of the first byte of the memory. */
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

  /** Everything before this place is overwritten. */
  get floor(): number {
    return this.end - this.memory.length
  }

  /** The place of so many bytes beside each other, which the caller writes; they are fewer than the memory has. */
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

  /** The offset of a place in the memory. */
  indexOf(place: number): number {
    return place >= this.#round ? place - this.#round : place - this.#round + this.memory.length
  }

  /** A view: the next bytes may overwrite it. */
  view(place: number, length: number): Buffer {
    const start = this.indexOf(place)
    return this.memory.subarray(start, start + length)
  }
}
