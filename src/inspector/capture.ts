// The tap of the inspector: copies what crosses the connections into a ring.

import { Buffer } from 'node:buffer'
import { LF } from '../jsonrpc/ascii.js'
import type { Edit } from '../jsonrpc/splice.js'
import type { Hop, LiveTap } from '../jsonrpc/wire-tap.js'
import type { Ring } from './ring.js'

/** More of one message is not kept. */
export const KEPT_BYTES_MAX: number = 64 * 1024

/** A message with more edits has line breaks at most of them. */
const EDITS_MAX = 1000

/** Copies frames, and the inputs of forwarded messages that were edited. */
export class Capture implements LiveTap {
  readonly #ring: Ring
  /** The unfinished line of each direction of a stream; an entry goes with its connection. */
  readonly #lines = new Map<number, { readonly in: UnfinishedFrame; readonly out: UnfinishedFrame }>()
  #frames = 0

  constructor(ring: Ring) {
    this.#ring = ring
  }

  /** How many have been copied. */
  get frames(): number {
    return this.#frames
  }

  wire(of: Hop, direction: 'in' | 'out', given: Uint8Array, whole: boolean, at: number): void {
    const bytes = Buffer.from(given.buffer, given.byteOffset, given.length)
    const add = (kept: Buffer, size: number): void => {
      this.#frames++
      this.#ring.add({
        kind: 'frame',
        n: this.#ring.next,
        at,
        hop: of,
        direction,
        whole,
        bytes: kept,
        size,
        made: undefined,
      })
    }
    if (whole) return add(Buffer.from(bytes.subarray(0, KEPT_BYTES_MAX)), bytes.length)
    const line = this.#lineOf(of.connection, direction)
    let start = 0
    for (let end = bytes.indexOf(LF); end >= 0; end = bytes.indexOf(LF, start)) {
      line.add(bytes.subarray(start, end + 1))
      const { size } = line
      add(line.take(), size)
      start = end + 1
    }
    if (start < bytes.length) line.add(bytes.subarray(start))
  }

  forward(to: Hop, input: Uint8Array, edits: readonly Edit[]): void {
    if (edits.length === 0 || edits.length > EDITS_MAX) return
    const bytes = Buffer.from(input.subarray(0, KEPT_BYTES_MAX))
    let outputSize = input.length
    for (const edit of edits) outputSize += edit.bytes.length - (edit.end - edit.start)
    // The bytes of an edit may be a view of something large.
    const kept = edits.map(({ start, end, bytes: by, why }) => ({
      start,
      end,
      bytes: Buffer.from(by.subarray(0, KEPT_BYTES_MAX)),
      why,
    }))
    const { next: n } = this.#ring
    this.#ring.add({ kind: 'forward', n, to, bytes, size: input.length, edits: kept, outputSize })
  }

  ended(connection: number): void {
    this.#lines.delete(connection)
  }

  /** Drops unfinished lines: what follows is not known. */
  clear(): void {
    this.#lines.clear()
  }

  #lineOf(connection: number, direction: 'in' | 'out'): UnfinishedFrame {
    const lines = this.#lines.get(connection) ?? { in: new UnfinishedFrame(), out: new UnfinishedFrame() }
    this.#lines.set(connection, lines)
    return lines[direction]
  }
}

/** A line that has not ended: its beginning, and how long it is. */
class UnfinishedFrame {
  #parts: Buffer[] = []
  #kept = 0
  size = 0

  add(part: Buffer): void {
    this.size += part.length
    const room = KEPT_BYTES_MAX - this.#kept
    if (room <= 0) return
    // A copy, because the reader may overwrite the chunk.
    const copy = Buffer.from(part.subarray(0, room))
    this.#parts.push(copy)
    this.#kept += copy.length
  }

  take(): Buffer {
    const [first] = this.#parts
    const bytes = this.#parts.length === 1 && first !== undefined ? first : Buffer.concat(this.#parts)
    this.#parts = []
    this.#kept = 0
    this.size = 0
    return bytes
  }
}
