// Joins the messages of one turn of the event loop to one write.
//
// Every message has its line feed directly behind it in memory, so a message is
// a slice, and messages that lie next to each other are one slice.

import { Buffer } from 'node:buffer'
import type { WireParts } from '../../jsonrpc/fast/splice-parts.js'
import type { WireBytes } from '../../jsonrpc/splice.js'

/** Up to here, copying slices together beats handing them over one by one. */
const COPY_BYTES_MAX = 64 * 1024

interface Slice {
  /** The bytes from `start` to `end`, as long as nothing has been added to them. */
  view: Uint8Array | undefined
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
    this.#add(message, message.length + 1)
  }

  addParts(message: WireParts): void {
    const last = message.parts.length - 1
    for (const [i, part] of message.parts.entries())
      this.#add(part, i === last ? part.length + 1 : part.length)
  }

  #add(part: Uint8Array, bytes: number): void {
    const start = part.byteOffset
    const end = start + bytes
    this.#bytes += bytes
    const last = this.#slices.at(-1)
    if (last !== undefined && last.memory === part.buffer && last.end === start) {
      last.end = end
      last.view = undefined
    } else
      this.#slices.push({ view: bytes === part.length ? part : undefined, memory: part.buffer, start, end })
  }

  /** Everything that waits, as few buffers as are worth making; empty afterwards. */
  take(): Uint8Array[] {
    const slices = this.#slices
    const bytes = this.#bytes
    this.#slices = []
    this.#bytes = 0
    const views = slices.map(viewOf)
    if (views.length < 2 || bytes > COPY_BYTES_MAX) return views
    return [Buffer.concat(views, bytes)]
  }
}

function viewOf({ view, memory, start, end }: Slice): Uint8Array {
  return view ?? Buffer.from(memory, start, end - start)
}
