// The tap of the inspector: copies all messages of all connections into a ring.

import { Buffer } from 'node:buffer'
import { LF } from '../jsonrpc/ascii.js'
import type { Edit } from '../jsonrpc/splice.js'
import type { Hop, LiveTap } from '../jsonrpc/wire-tap.js'
import { KEPT_BYTES_MAX } from './kept-edits.js'
import type { FrameHead, Ring } from './ring.js'

/** The ring does not keep more edits of one message: most of so many edits replace line breaks. */
const EDITS_MAX = 1000

export class Capture implements LiveTap {
  readonly #ring: Ring
  /** The unfinished lines of each stream, by the number of its connection. An entry ends with the connection. */
  readonly #lines = new Map<number, { readonly in: UnfinishedFrame; readonly out: UnfinishedFrame }>()

  constructor(ring: Ring) {
    this.#ring = ring
  }

  wire(hop: Hop, direction: 'in' | 'out', given: Uint8Array, whole: boolean, at: number): void {
    const head = { hop, direction, whole, at }
    const bytes = Buffer.from(given.buffer, given.byteOffset, given.length)
    if (whole) return this.#ring.add(head, Buffer.from(bytes.subarray(0, KEPT_BYTES_MAX)), bytes.length)
    this.#take(head, this.#lineOf(hop.connection, direction), bytes)
  }

  forward(to: Hop, input: Uint8Array, edits: readonly Edit[]): void {
    if (edits.length > 0 && edits.length <= EDITS_MAX) this.#ring.addEdits(to, input, edits)
  }

  ended(connection: number): void {
    this.#lines.delete(connection)
  }

  /** Drops unfinished lines, because the tap may miss their ends. */
  clear(): void {
    this.#lines.clear()
  }

  #take(head: FrameHead, line: UnfinishedFrame, bytes: Buffer): void {
    let start = 0
    for (let end = bytes.indexOf(LF); end >= 0; end = bytes.indexOf(LF, start)) {
      line.add(bytes.subarray(start, end + 1))
      const { size } = line
      this.#ring.add(head, line.take(), size)
      start = end + 1
    }
    if (start < bytes.length) line.add(bytes.subarray(start))
  }

  #lineOf(connection: number, direction: 'in' | 'out'): UnfinishedFrame {
    const lines = this.#lines.get(connection) ?? { in: new UnfinishedFrame(), out: new UnfinishedFrame() }
    this.#lines.set(connection, lines)
    return lines[direction]
  }
}

/** An unfinished line: its size, and a copy of its beginning. A view would keep the whole piece in memory. */
class UnfinishedFrame {
  #parts: Buffer[] = []
  #kept = 0
  size = 0

  add(part: Buffer): void {
    this.size += part.length
    const kept = Buffer.from(part.subarray(0, KEPT_BYTES_MAX - this.#kept))
    if (kept.length > 0) this.#parts.push(kept)
    this.#kept += kept.length
  }

  take(): Buffer {
    const [first = Buffer.alloc(0)] = this.#parts
    const bytes = this.#parts.length === 1 ? first : Buffer.concat(this.#parts)
    this.#parts = []
    this.#kept = 0
    this.size = 0
    return bytes
  }
}
