// Collects pieces of bytes that leave together: the messages of one turn, or the parts of one line.
//
// Short pieces are copied into one block, so many of them cost little more than their bytes. A long piece is
// not copied.

import { Buffer } from 'node:buffer'
import type { Message } from '../jsonrpc/splice.js'

/** The messages of a turn, and the parts of a line or body, mostly fit into one block. */
const BLOCK_BYTES = 16 * 1024

/** A longer piece is not copied. */
const COPIED_BYTES_MAX = 4 * 1024
const NO_BLOCK = Buffer.alloc(0)

export class Pieces {
  bytes = 0
  #buffers: Buffer[] = []
  /** The memory for short pieces. The bytes between `#from` and `#to` are not in a buffer yet. */
  #block: Buffer = NO_BLOCK
  #from = 0
  #to = 0

  /** Adds a message with a line feed after it. */
  addMessage(message: Message): void {
    const bytes = message.length + 1
    if (bytes > COPIED_BYTES_MAX) return this.#addParts(message.parts)
    const at = this.#room(bytes)
    message.writeTo(this.#block, at)
  }

  add(piece: Buffer): void {
    if (piece.length > COPIED_BYTES_MAX) return this.keep(piece)
    const at = this.#room(piece.length)
    this.#block.set(piece, at)
  }

  /** Adds a piece without a copy, even a short one. */
  keep(piece: Buffer): void {
    this.#cut()
    this.bytes += piece.length
    this.#buffers.push(piece)
  }

  /** All pieces so far, in order. */
  get buffers(): readonly Buffer[] {
    this.#cut()
    return this.#buffers
  }

  /** Returns all pieces in order, in few buffers, and empties this object. */
  take(): Buffer[] {
    this.#cut()
    const buffers = this.#buffers
    this.#buffers = []
    this.bytes = 0
    // A turn that continues in another block leaves as two buffers, which cost more to write than one.
    if (this.#to > BLOCK_BYTES / 2) this.#block = NO_BLOCK
    return buffers
  }

  /** A line feed follows the last part. */
  #addParts(parts: readonly Uint8Array[]): void {
    const last = parts.length - 1
    for (const [i, { buffer, byteOffset, length }] of parts.entries())
      this.add(Buffer.from(buffer, byteOffset, i === last ? length + 1 : length))
  }

  /** Reserves this many bytes in the block, and returns their offset. */
  #room(bytes: number): number {
    if (bytes > this.#block.length - this.#to) {
      this.#cut()
      this.#block = Buffer.allocUnsafeSlow(BLOCK_BYTES)
      this.#from = this.#to = 0
    }
    const at = this.#to
    this.#to += bytes
    this.bytes += bytes
    return at
  }

  #cut(): void {
    if (this.#to > this.#from) this.#buffers.push(this.#block.subarray(this.#from, this.#to))
    this.#from = this.#to
  }
}
