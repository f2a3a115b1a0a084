// Keeps the latest frames, and the edits of messages, in memory. New frames overwrite the oldest.
//
// The bytes are in one block and the facts in columns, because short-lived objects would cost the garbage collector
// more than all other work here.

import type { Buffer } from 'node:buffer'
import type { Edit } from '../jsonrpc/splice.js'
import type { Hop } from '../jsonrpc/wire-tap.js'
import { Arena } from './arena.js'
import { type KeptEdit, editsInList, containsEdits, keepEdits, keptEdits } from './kept-edits.js'

export interface FrameHead {
  readonly hop: Hop
  readonly direction: 'in' | 'out'
  /** Whether the transport delivers whole messages, as HTTP does. */
  readonly whole: boolean
  /** Milliseconds since the proxy started. */
  readonly at: number
}

/** One line or message as it crossed a connection. */
export interface CapturedFrame extends FrameHead {
  readonly n: number
  /** The beginning of the frame, with the line end if that is kept. A view, which later frames overwrite. */
  readonly bytes: Buffer
  /** The length of the whole frame. */
  readonly size: number
}

export interface RingLimits {
  readonly bytesMax: number
  readonly framesMax: number
}

export const defaultRingLimits: RingLimits = { bytesMax: 16 * 1024 * 1024, framesMax: 20_000 }

/** The edits of one message always fit into this size. */
const BYTES_MIN = 512 * 1024

/** How many edited messages the ring searches for the edits of a frame: one write may contain as many. */
const SEARCHED_MAX = 500

/** Keeps frames by their consecutive numbers, and edits by the connections of the outgoing messages. */
export class Ring {
  readonly #bytesMax: number
  readonly #framesMax: number
  /** Undefined while the ring is empty. */
  #kept: Kept | undefined
  #first = 1
  #next = 1

  constructor({ bytesMax, framesMax }: RingLimits = defaultRingLimits) {
    this.#bytesMax = Math.max(bytesMax, BYTES_MIN)
    this.#framesMax = framesMax
  }

  /** The number of the next frame. */
  get next(): number {
    return this.#next
  }

  /** The number of the oldest frame. */
  get first(): number {
    return this.#first
  }

  /** The bytes of the frames, and of the edits between them. */
  get bytes(): number {
    const { arena, places } = this.#kept ?? {}
    const oldest = this.#first === this.#next ? undefined : places?.[this.#first % this.#framesMax]
    return arena === undefined || oldest === undefined ? 0 : arena.end - oldest
  }

  /** Copies the bytes of frames, and returns their place. */
  copy(bytes: Buffer): number {
    const { arena } = this.#open()
    const place = arena.add(bytes)
    this.#drop(arena.floor)
    return place
  }

  /** Adds a frame. The caller has copied `length` of its `size` bytes to `place`. */
  add({ hop, direction, whole, at }: FrameHead, place: number, length: number, size: number): void {
    const kept = this.#open()
    if (this.#next - this.#first >= this.#framesMax) this.#first++
    const slot = this.#next++ % this.#framesMax
    kept.hops[slot] = hop
    kept.flags[slot] = (direction === 'in' ? IN : 0) | (whole ? WHOLE : 0)
    kept.times[slot] = at
    kept.places[slot] = place
    kept.lengths[slot] = length
    kept.sizes[slot] = size
    kept.edited[slot] = kept.nextEdited
  }

  /** Copies the edits of an outgoing message. */
  addEdits(to: Hop, input: Uint8Array, edits: readonly Edit[]): void {
    const kept = this.#open()
    let size = input.length
    for (const { start, end, bytes } of edits) size += bytes.length - (end - start)
    const slot = kept.nextEdited++ % this.#framesMax
    kept.editConnections[slot] = to.connection
    kept.editPlaces[slot] = keepEdits(kept.arena, input, edits)
    kept.editCounts[slot] = edits.length
    kept.editSizes[slot] = size
    this.#drop(kept.arena.floor)
  }

  get(n: number): CapturedFrame | undefined {
    const kept = this.#kept
    const slot = n % this.#framesMax
    const hop = kept?.hops[slot]
    if (kept === undefined || hop === undefined || n < this.#first || n >= this.#next) return undefined
    const flags = kept.flags[slot] ?? 0
    return {
      n,
      at: kept.times[slot] ?? 0,
      hop,
      direction: (flags & IN) === 0 ? 'out' : 'in',
      whole: (flags & WHOLE) !== 0,
      bytes: kept.arena.view(kept.places[slot] ?? 0, kept.lengths[slot] ?? 0),
      size: kept.sizes[slot] ?? 0,
    }
  }

  /** Returns the edits of an outgoing frame, in order; empty if the proxy forwarded the message unchanged. */
  editsOf(frame: CapturedFrame, message: Buffer): readonly KeptEdit[] {
    const { arena } = this.#open()
    for (const { place, count, size } of this.#editsBefore(frame))
      if (isSize(size, frame, message) && containsEdits(message, arena, place, count))
        return keptEdits(arena, place, count)
    return []
  }

  /** Returns the edits of list items at their places in the list that the proxy made of the items. */
  itemEditsOf(frame: CapturedFrame, message: Buffer): readonly KeptEdit[] {
    const { arena } = this.#open()
    const found = new Map<number, KeptEdit>()
    for (const { place, count, size } of this.#editsBefore(frame))
      for (const edit of editsInList(message, keptEdits(arena, place, count), size))
        found.set(edit.start, edit)
    return [...found.values()].sort((a, b) => a.start - b.start)
  }

  /** Yields the edits before an outgoing frame on its connection, the latest first. */
  *#editsBefore({ n, hop, direction }: CapturedFrame): Generator<FoundEdits> {
    const kept = this.#open()
    if (direction === 'in') return
    const latest = (kept.edited[n % this.#framesMax] ?? 0) - 1
    const oldest = Math.max(0, latest - SEARCHED_MAX, kept.nextEdited - this.#framesMax)
    for (let each = latest; each > oldest; each--) {
      const slot = each % this.#framesMax
      const place = kept.editPlaces[slot] ?? 0
      if (place < kept.arena.floor) return
      if (kept.editConnections[slot] === hop.connection)
        yield { place, count: kept.editCounts[slot] ?? 0, size: kept.editSizes[slot] ?? 0 }
    }
  }

  /** Frees the memory. The numbers of later frames continue. */
  clear(): void {
    this.#kept = undefined
    this.#first = this.#next
  }

  #open(): Kept {
    return (this.#kept ??= new Kept(this.#bytesMax, this.#framesMax))
  }

  #drop(floor: number): void {
    const { places } = this.#open()
    while (this.#first < this.#next && (places[this.#first % this.#framesMax] ?? 0) < floor) this.#first++
  }
}

/** Whether the message has this size. The size of a cut frame may include a line end. */
function isSize(outputSize: number, { bytes, size }: CapturedFrame, message: Buffer): boolean {
  if (size > bytes.length) return outputSize === size || outputSize === size - 1
  return outputSize === message.length
}

interface FoundEdits {
  readonly place: number
  readonly count: number
  /** The size of the message after the edits. */
  readonly size: number
}

const IN = 1
const WHOLE = 2

/** The memory of a ring. A frame, or a message with edits, has the slot of its number modulo the number of slots. */
class Kept {
  readonly arena: Arena
  readonly hops: Hop[] = []
  readonly flags: Uint8Array
  readonly times: Float64Array
  readonly places: Float64Array
  readonly lengths: Uint32Array
  readonly sizes: Float64Array
  /** The number of the first edited message after the frame. */
  readonly edited: Float64Array
  readonly editConnections: Float64Array
  readonly editPlaces: Float64Array
  readonly editCounts: Uint32Array
  readonly editSizes: Float64Array
  nextEdited = 1

  constructor(bytes: number, frames: number) {
    this.arena = new Arena(bytes)
    this.flags = new Uint8Array(frames)
    this.times = new Float64Array(frames)
    this.places = new Float64Array(frames)
    this.lengths = new Uint32Array(frames)
    this.sizes = new Float64Array(frames)
    this.edited = new Float64Array(frames)
    this.editConnections = new Float64Array(frames)
    this.editPlaces = new Float64Array(frames)
    this.editCounts = new Uint32Array(frames)
    this.editSizes = new Float64Array(frames)
  }
}
