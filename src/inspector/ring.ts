// Keeps the latest frames, and the edits of messages, in memory. New ones replace the oldest.

import type { Buffer } from 'node:buffer'
import type { Edit } from '../jsonrpc/splice.js'
import type { Hop } from '../jsonrpc/wire-tap.js'
import { type KeptEdit, areIn, editsInList, keptEdits, outputsOf } from './kept-edits.js'

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
  /** The beginning of the frame, with the line end if that is kept. */
  readonly bytes: Buffer
  /** The length of the whole frame. */
  readonly size: number
  /** The number of the latest edited message before the frame. */
  readonly edited: number
}

export interface RingLimits {
  readonly bytesMax: number
  readonly framesMax: number
}

export const defaultRingLimits: RingLimits = { bytesMax: 16 * 1024 * 1024, framesMax: 20_000 }

/** How many edited messages the ring searches for the edits of a frame: one write may contain as many. */
const SEARCHED_MAX = 500

/** The memory of an edit in addition to its bytes: its objects and buffers. */
const EDIT_BYTES = 400

interface EditedMessage {
  readonly connection: number
  readonly edits: readonly KeptEdit[]
  /** The size of the message after the edits. */
  readonly size: number
  /** The memory of the edits. */
  readonly bytes: number
}

/** Keeps frames and edited messages by their consecutive numbers. */
export class Ring {
  readonly #limits: RingLimits
  readonly #frames = new Map<number, CapturedFrame>()
  readonly #edited = new Map<number, EditedMessage>()
  #first = 1
  #next = 1
  #firstEdited = 1
  #nextEdited = 1
  #bytes = 0

  constructor(limits: RingLimits = defaultRingLimits) {
    this.#limits = limits
  }

  /** The number of the next frame. */
  get next(): number {
    return this.#next
  }

  /** The number of the oldest frame. */
  get first(): number {
    return this.#first
  }

  /** The bytes of the frames and edits. */
  get bytes(): number {
    return this.#bytes
  }

  /** `bytes` is the beginning of a frame of `size` bytes, and nothing else changes it. */
  add({ hop, direction, whole, at }: FrameHead, bytes: Buffer, size: number): void {
    const n = this.#next++
    this.#frames.set(n, { n, hop, direction, whole, at, bytes, size, edited: this.#nextEdited - 1 })
    this.#bytes += bytes.length
    this.#trim()
  }

  /** Copies the edits of an outgoing message. */
  addEdits(to: Hop, input: Uint8Array, edits: readonly Edit[]): void {
    const kept = keptEdits(input, edits)
    let [size, bytes] = [input.length, 0]
    for (const { start, end, length, replaced, written } of kept) {
      size += length - (end - start)
      bytes += EDIT_BYTES + replaced.length + written.length
    }
    this.#edited.set(this.#nextEdited++, { connection: to.connection, edits: kept, size, bytes })
    this.#bytes += bytes
    this.#trim()
  }

  get(n: number): CapturedFrame | undefined {
    return this.#frames.get(n)
  }

  /** Returns the edits of an outgoing frame, in order; empty if the proxy forwarded the message unchanged. */
  editsOf(frame: CapturedFrame, message: Buffer): readonly KeptEdit[] {
    for (const { edits, size } of this.#editedBefore(frame))
      if (isSize(size, frame, message) && areIn(message, outputsOf(edits))) return edits
    return []
  }

  /** Returns the edits of list items at their places in the list that the proxy made of the items. */
  itemEditsOf(frame: CapturedFrame, message: Buffer): readonly KeptEdit[] {
    const found = new Map<number, KeptEdit>()
    for (const { edits, size } of this.#editedBefore(frame))
      for (const edit of editsInList(message, edits, size)) found.set(edit.start, edit)
    return [...found.values()].sort((a, b) => a.start - b.start)
  }

  /** Yields the edited messages before an outgoing frame on its connection, the latest first. */
  *#editedBefore({ edited, hop, direction }: CapturedFrame): Generator<EditedMessage> {
    if (direction === 'in') return
    for (let n = edited; n > edited - SEARCHED_MAX; n--) {
      const message = this.#edited.get(n)
      if (message === undefined) return
      if (message.connection === hop.connection) yield message
    }
  }

  /** Frees the memory. The numbers of later frames continue. */
  clear(): void {
    this.#frames.clear()
    this.#edited.clear()
    this.#first = this.#next
    this.#firstEdited = this.#nextEdited
    this.#bytes = 0
  }

  #trim(): void {
    const { bytesMax, framesMax } = this.#limits
    while (this.#bytes > bytesMax || this.#frames.size > framesMax) this.#dropOldest()
  }

  #dropOldest(): void {
    const [frame, edited] = [this.#frames.get(this.#first), this.#edited.get(this.#firstEdited)]
    if (edited !== undefined && (frame === undefined || this.#firstEdited <= frame.edited)) {
      this.#edited.delete(this.#firstEdited++)
      this.#bytes -= edited.bytes
    } else if (frame !== undefined) {
      this.#frames.delete(this.#first++)
      this.#bytes -= frame.bytes.length
    }
  }
}

/** Whether the message has this size. The size of a cut frame may include a line end. */
function isSize(outputSize: number, { bytes, size }: CapturedFrame, message: Buffer): boolean {
  if (size > bytes.length) return outputSize === size || outputSize === size - 1
  return outputSize === message.length
}
