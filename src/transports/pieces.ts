// Bytes that come in pieces and go on together: the messages of one turn of the event loop, or the parts of one line.
//
// Short pieces are copied behind each other, so that many of them cost little more than their bytes. A long piece stays where
// it lies.

import { Buffer } from 'node:buffer'
import type { Message } from '../jsonrpc/splice.js'

/** The parts of most lines and bodies fit into one. */
const BLOCK_BYTES = 16 * 1024

/** Above this a piece is not copied. */
const COPIED_BYTES_MAX = 4 * 1024
const NO_BLOCK = Buffer.alloc(0)

export class Pieces {
  bytes = 0
  readonly #blockBytes: number
  #buffers: Buffer[] = []
  /** The memory for short pieces; the bytes between `#from` and `#to` are not among the buffers yet. */
  #block: Buffer = NO_BLOCK
  #from = 0
  #to = 0

  /** Short pieces are copied into blocks of this size. */
  constructor(blockBytes: number = BLOCK_BYTES) {
    this.#blockBytes = blockBytes
  }

  /** Adds a message with a line feed behind it. */
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

  /** Adds a piece as it lies, also a short one. */
  keep(piece: Buffer): void {
    this.#cut()
    this.bytes += piece.length
    this.#buffers.push(piece)
  }

  /** All of them so far, in order. */
  get buffers(): readonly Buffer[] {
    this.#cut()
    return this.#buffers
  }

  /** All of them in order, in as few buffers as are worth making; empty afterwards. */
  take(): Buffer[] {
    this.#cut()
    const buffers = this.#buffers
    this.#buffers = []
    this.bytes = 0
    // A turn that crosses into another block leaves as two buffers, which are dearer to write than one.
    if (this.#to > this.#blockBytes / 2) this.#block = NO_BLOCK
    return buffers
  }

  /** A line feed lies behind the last part. */
  #addParts(parts: readonly Uint8Array[]): void {
    const last = parts.length - 1
    for (const [i, { buffer, byteOffset, length }] of parts.entries())
      this.add(Buffer.from(buffer, byteOffset, i === last ? length + 1 : length))
  }

  /** Makes room for so many bytes in the block; gives where they go. */
  #room(bytes: number): number {
    if (bytes > this.#block.length - this.#to) {
      this.#cut()
      this.#block = Buffer.allocUnsafeSlow(this.#blockBytes)
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
