// What has come of a body, piece by piece.
//
// A client may send a body in chunks of one byte, and each piece of its own costs a hundred
// bytes besides: what is counted as little would be much. So small pieces are put together.

import { Buffer } from 'node:buffer'

/** A piece of this size is kept as it lies. */
const SMALL_BYTES = 1024

/** So many small pieces are, since most bodies have only a few. */
const KEPT_MAX = 8

const TAIL_BYTES = 4 * 1024

/** Pieces in their order. */
export class Pieces {
  readonly #pieces: Uint8Array[] = []
  /** What came last, put together, and the memory behind it. */
  #tail: Buffer | undefined
  #tailBytes = 0

  add(piece: Buffer): void {
    if (piece.length >= SMALL_BYTES || (this.#tail === undefined && this.#pieces.length < KEPT_MAX)) {
      this.#close()
      this.#pieces.push(piece)
      return
    }
    if (this.#tail === undefined || this.#tailBytes + piece.length > this.#tail.length) {
      this.#close()
      this.#tail = Buffer.allocUnsafeSlow(TAIL_BYTES)
    }
    this.#tail.set(piece, this.#tailBytes)
    this.#tailBytes += piece.length
  }

  /** All that came. */
  get all(): readonly Uint8Array[] {
    this.#close()
    return this.#pieces
  }

  #close(): void {
    if (this.#tail === undefined || this.#tailBytes === 0) return
    this.#pieces.push(this.#tail.subarray(0, this.#tailBytes))
    // A piece in between does not cost the rest.
    this.#tail = this.#tail.subarray(this.#tailBytes)
    this.#tailBytes = 0
  }
}
