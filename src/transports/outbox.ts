// What one turn of the event loop says on one stream leaves in one write.
//
// Every message has its line feed directly behind it in memory, so a message is
// a slice, and messages that lie next to each other are one slice.

import { Buffer } from 'node:buffer'
import type { WireBytes } from '../jsonrpc/splice.js'

/** Up to here, copying slices together beats handing them over one by one. */
const COPY_BYTES_MAX = 64 * 1024

interface Slice {
  readonly memory: ArrayBufferLike
  readonly start: number
  end: number
}

/** Messages that wait for the end of the turn. */
export class Outbox {
  #slices: Slice[] = []
  #bytes = 0

  get bytes(): number {
    return this.#bytes
  }

  add(message: WireBytes): void {
    const start = message.byteOffset
    const end = start + message.length + 1
    this.#bytes += message.length + 1
    const last = this.#slices.at(-1)
    if (last !== undefined && last.memory === message.buffer && last.end === start) last.end = end
    else this.#slices.push({ memory: message.buffer, start, end })
  }

  /** Everything that waits, as few buffers as are worth making; empty afterwards. */
  take(): Buffer[] {
    const slices = this.#slices
    const bytes = this.#bytes
    this.#slices = []
    this.#bytes = 0
    const views = slices.map((slice) => Buffer.from(slice.memory, slice.start, slice.end - slice.start))
    if (views.length < 2 || bytes > COPY_BYTES_MAX) return views
    return [Buffer.concat(views, bytes)]
  }
}
