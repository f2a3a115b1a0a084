// The tap of the inspector: copies what crosses the connections into a ring.

import { Buffer } from 'node:buffer'
import { LF } from '../jsonrpc/ascii.js'
import type { ForwardEvent, LiveTap, WireEvent } from '../jsonrpc/wire-tap.js'
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

  wire(event: WireEvent): void {
    const bytes = Buffer.from(event.bytes.buffer, event.bytes.byteOffset, event.bytes.length)
    if (event.whole) return this.#add(event, Buffer.from(bytes.subarray(0, KEPT_BYTES_MAX)), bytes.length)
    const line = this.#lineOf(event)
    let start = 0
    for (let end = bytes.indexOf(LF); end >= 0; end = bytes.indexOf(LF, start)) {
      line.add(bytes.subarray(start, end + 1))
      const { size } = line
      this.#add(event, line.take(), size)
      start = end + 1
    }
    if (start < bytes.length) line.add(bytes.subarray(start))
  }

  forward({ to, input, edits }: Omit<ForwardEvent, 'output'>): void {
    if (edits.length === 0 || edits.length > EDITS_MAX) return
    const bytes = Buffer.from(input.subarray(0, KEPT_BYTES_MAX))
    let outputSize = input.length
    for (const edit of edits) outputSize += edit.bytes.length - (edit.end - edit.start)
    // The bytes of an edit may be a view of something large.
    const kept = edits.map((edit) => ({
      ...edit,
      bytes: Buffer.from(edit.bytes.subarray(0, KEPT_BYTES_MAX)),
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

  #lineOf({ connection, direction }: WireEvent): UnfinishedFrame {
    const lines = this.#lines.get(connection) ?? { in: new UnfinishedFrame(), out: new UnfinishedFrame() }
    this.#lines.set(connection, lines)
    return lines[direction]
  }

  #add(
    { at, direction, whole, hop, service, schema, connection }: WireEvent,
    bytes: Buffer,
    size: number,
  ): void {
    this.#frames++
    const { next: n } = this.#ring
    const of = { hop, service, schema, connection }
    this.#ring.add({ kind: 'frame', n, at, hop: of, direction, whole, bytes, size })
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
    const [first = Buffer.alloc(0)] = this.#parts
    const bytes = this.#parts.length === 1 ? first : Buffer.concat(this.#parts)
    this.#parts = []
    this.#kept = 0
    this.size = 0
    return bytes
  }
}
