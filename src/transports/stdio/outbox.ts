// Joins the messages of one turn of the event loop to one write.
//
// Short pieces are copied behind each other. A long piece is written from where it lies; every message
// has its line feed directly behind it in memory.

import { Buffer } from 'node:buffer'
import type { Message } from '../../jsonrpc/splice.js'

/** Above this a piece is not copied. */
const COPIED_BYTES_MAX = 4 * 1024
const BLOCK_BYTES = 32 * 1024
const NO_BLOCK = Buffer.alloc(0)

/** Messages that wait for the end of the turn. */
export class Outbox {
  #buffers: Uint8Array[] = []
  bytes = 0
  /** The memory for short pieces; the bytes between `#from` and `#to` are not among the buffers yet. */
  #block: Buffer = NO_BLOCK
  #from = 0
  #to = 0

  add(message: Message): void {
    const bytes = message.length + 1
    if (bytes > COPIED_BYTES_MAX) return this.#addParts(message.parts)
    const at = this.#room(bytes)
    message.writeTo(this.#block, at)
  }

  /** Everything that waits, as few buffers as are worth making; empty afterwards. */
  take(): readonly Uint8Array[] {
    this.#cut()
    const buffers = this.#buffers
    this.#buffers = []
    this.bytes = 0
    // A turn that crosses into another block leaves as two buffers, which are dearer to write than one.
    if (this.#to > BLOCK_BYTES / 2) this.#block = NO_BLOCK
    return buffers
  }

  #addParts(parts: readonly Uint8Array[]): void {
    const last = parts.length - 1
    for (const [i, part] of parts.entries()) this.#addPart(part, i === last ? 1 : 0)
  }

  /** `feeds`: how many line feeds lie behind it and belong to it. */
  #addPart(part: Uint8Array, feeds: 0 | 1): void {
    const bytes = part.length + feeds
    const view = feeds === 0 ? part : Buffer.from(part.buffer, part.byteOffset, bytes)
    if (bytes <= COPIED_BYTES_MAX) {
      const at = this.#room(bytes)
      this.#block.set(view, at)
    } else {
      this.#cut()
      this.bytes += bytes
      this.#buffers.push(view)
    }
  }

  /** Makes room for so many bytes in the block; gives where they go. */
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
