// The viewers of the inspector. A viewer gets the rows that it lacks, in batches, and skips rows if it is too slow.
//
// A new page first gets the newest rows, and then batches of ever older rows.

import { Buffer } from 'node:buffer'
import type { FeedLine, FrameRow } from './protocol.js'
import type { MessageRedactor } from './redaction.js'
import type { Ring } from './ring.js'
import { rowOf } from './rows.js'

export interface ViewerStream {
  /** Bytes that the viewer has not read. */
  readonly unsentBytes: number
  write(pieces: readonly Uint8Array[]): void
  end(): void
}

/** Milliseconds between two batches. */
export const BATCH_MS = 100

/** A viewer with more unread bytes gets no further rows for now. */
const UNSENT_BYTES_MAX = 1024 * 1024

/** Milliseconds between two batches while older rows follow. */
export const OLDER_BATCH_MS = 20

/** The most rows of one batch, and the time after which a batch gets no further row, in milliseconds. */
const ROWS_MAX = 600
const ROWS_MS = 1
const OLDER_ROWS_MS = 4

export class Viewer {
  readonly #ring: Ring
  readonly #redactor: MessageRedactor
  readonly #stream: ViewerStream
  /** The number of the next frame to send. */
  #at: number
  /** The frames before this number are still to be sent. */
  #oldest: number

  constructor(ring: Ring, redactor: MessageRedactor, stream: ViewerStream) {
    this.#ring = ring
    this.#redactor = redactor
    this.#stream = stream
    this.#at = Math.max(ring.first, ring.next - ROWS_MAX)
    this.#oldest = this.#at
  }

  get hasOlder(): boolean {
    return this.#oldest > this.#ring.first
  }

  end(): void {
    this.#stream.end()
  }

  /** Sends the next batch, unless the viewer has too many unread bytes. */
  send(now: () => number): void {
    if (this.#stream.unsentBytes > UNSENT_BYTES_MAX) return
    if (this.#at < this.#ring.first) {
      this.#write({ skipped: this.#ring.first - this.#at })
      this.#at = this.#ring.first
    }
    const rows = this.#take(now)
    if (rows.length > 0) this.#write({ frames: rows })
    if (this.hasOlder) this.#write({ older: this.#takeOlder(now) })
  }

  #take(now: () => number): FrameRow[] {
    const rows: FrameRow[] = []
    const until = now() + ROWS_MS
    for (; this.#at < this.#ring.next && rows.length < ROWS_MAX && now() <= until; this.#at++) {
      const frame = this.#ring.get(this.#at)
      if (frame !== undefined) rows.push(rowOf(frame, this.#ring, this.#redactor))
    }
    return rows
  }

  #takeOlder(now: () => number): FrameRow[] {
    const rows: FrameRow[] = []
    const until = now() + OLDER_ROWS_MS
    while (this.hasOlder && rows.length < ROWS_MAX && now() <= until) {
      const frame = this.#ring.get(--this.#oldest)
      if (frame !== undefined) rows.push(rowOf(frame, this.#ring, this.#redactor))
    }
    return rows.toReversed()
  }

  #write(line: FeedLine): void {
    this.#stream.write([Buffer.from(`${JSON.stringify(line)}\n`)])
  }
}
