// The latest frames and edits, in memory: the oldest make room for the new.

import type { Buffer } from 'node:buffer'
import type { Edit } from '../jsonrpc/splice.js'
import type { Hop } from '../jsonrpc/wire-tap.js'

/** One line or message as it crossed a connection. */
export interface CapturedFrame {
  readonly kind: 'frame'
  readonly n: number
  /** Milliseconds since the proxy started. */
  readonly at: number
  readonly hop: Hop
  readonly direction: 'in' | 'out'
  /** Whether it came as one message, as over HTTP. */
  readonly whole: boolean
  /** With its line end; only the beginning of a long one. */
  readonly bytes: Buffer
  /** Of all of it. */
  readonly size: number
  /** The edits with which it was made, once they are found. */
  made: CapturedForward | undefined
}

/** A message that the proxy forwards with edits. */
export interface CapturedForward {
  readonly kind: 'forward'
  readonly n: number
  /** The connection on which the output leaves. */
  readonly to: Hop
  /** Only the beginning of a long one. */
  readonly bytes: Buffer
  readonly size: number
  readonly edits: readonly Edit[]
  readonly outputSize: number
}

/** Of each entry, beside its bytes; each edit of a message takes as much again. */
const ENTRY_BYTES = 200

export type Entry = CapturedFrame | CapturedForward

export interface RingLimits {
  readonly bytesMax: number
  readonly entriesMax: number
}

/** 20,000 frames, and as many messages that were forwarded with edits. */
export const defaultRingLimits: RingLimits = { bytesMax: 16 * 1024 * 1024, entriesMax: 40_000 }

/** Keeps entries by their numbers, which rise by one. */
export class Ring {
  readonly #limits: RingLimits
  /** An entry has the place of its number, modulo their number. */
  #slots: (Entry | undefined)[] = []
  #bytes = 0
  #first = 1
  #next = 1

  constructor(limits: RingLimits = defaultRingLimits) {
    this.#limits = limits
  }

  /** The number of the next entry. */
  get next(): number {
    return this.#next
  }

  /** The number of the oldest entry. */
  get first(): number {
    return this.#first
  }

  get bytes(): number {
    return this.#bytes
  }

  /** Takes an entry with the number `next`. */
  add(entry: Entry): void {
    const { bytesMax, entriesMax } = this.#limits
    if (this.#next - this.#first >= entriesMax) this.#drop()
    this.#slots[this.#next++ % entriesMax] = entry
    this.#bytes += memoryOf(entry)
    while (this.#bytes > bytesMax) this.#drop()
  }

  get(n: number): Entry | undefined {
    return n < this.#first || n >= this.#next ? undefined : this.#slots[n % this.#limits.entriesMax]
  }

  /** Numbers go on where they were. */
  clear(): void {
    this.#slots = []
    this.#first = this.#next
    this.#bytes = 0
  }

  #drop(): void {
    const at = this.#first++ % this.#limits.entriesMax
    const oldest = this.#slots[at]
    this.#slots[at] = undefined
    if (oldest !== undefined) this.#bytes -= memoryOf(oldest)
  }
}

/** In bytes, roughly. */
function memoryOf(entry: Entry): number {
  const own = entry.bytes.length + ENTRY_BYTES
  if (entry.kind === 'frame') return own
  return entry.edits.reduce((sum, { bytes }) => sum + bytes.length + ENTRY_BYTES, own)
}
