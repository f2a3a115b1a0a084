// The tap of the inspector: copies all messages of all connections into a ring.

import { Buffer } from 'node:buffer'
import { LF } from '../jsonrpc/ascii.js'
import type { Edit } from '../jsonrpc/splice.js'
import type { Hop, LiveTap } from '../jsonrpc/wire-tap.js'
import { KEPT_BYTES_MAX } from './arena.js'
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
    const bytes = Buffer.from(given.buffer, given.byteOffset, given.length)
    const head = { hop, direction, whole, at }
    if (whole) return this.#add(head, bytes.subarray(0, KEPT_BYTES_MAX), bytes.length)
    const line = this.#lineOf(hop.connection, direction)
    for (let start = 0; start < bytes.length; start += KEPT_BYTES_MAX)
      this.#take(head, line, bytes.subarray(start, start + KEPT_BYTES_MAX))
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

  /** Adds a piece of a stream. One copy covers all lines that begin and end in the piece. */
  #take(head: FrameHead, line: UnfinishedFrame, piece: Buffer): void {
    let start = 0
    let end = piece.indexOf(LF)
    if (end >= 0 && line.size > 0) {
      line.add(piece.subarray(0, end + 1))
      const { size } = line
      this.#add(head, line.take(), size)
      start = end + 1
      end = piece.indexOf(LF, start)
    }
    const first = end < 0 ? 0 : this.#ring.copy(piece)
    for (; end >= 0; end = piece.indexOf(LF, start)) {
      const length = end + 1 - start
      this.#ring.add(head, first + start, length, length)
      start = end + 1
    }
    if (start < piece.length) line.add(piece.subarray(start))
  }

  #add(head: FrameHead, kept: Buffer, size: number): void {
    this.#ring.add(head, this.#ring.copy(kept), kept.length, size)
  }

  #lineOf(connection: number, direction: 'in' | 'out'): UnfinishedFrame {
    const lines = this.#lines.get(connection) ?? { in: new UnfinishedFrame(), out: new UnfinishedFrame() }
    this.#lines.set(connection, lines)
    return lines[direction]
  }
}

/** The kept beginning and the full size of a line that has not ended. */
class UnfinishedFrame {
  #parts: Buffer[] = []
  #kept = 0
  size = 0

  add(part: Buffer): void {
    this.size += part.length
    const room = KEPT_BYTES_MAX - this.#kept
    if (room <= 0) return
    // A copy, because the transport may overwrite the chunk.
    const copy = Buffer.from(part.subarray(0, room))
    this.#parts.push(copy)
    this.#kept += copy.length
  }

  take(): Buffer {
    const bytes = Buffer.concat(this.#parts)
    this.#parts = []
    this.#kept = 0
    this.size = 0
    return bytes
  }
}
