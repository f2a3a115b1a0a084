// The viewers of the inspector: each gets the rows that it has not seen, in batches, and skips what it is too slow for.
//
// A page that is opened gets the newest rows first, and then the older ones backwards.

import { Buffer } from 'node:buffer'
import type { FeedLine, FrameRow, Hello } from './protocol.js'
import type { Ring } from './ring.js'
import type { Rows } from './rows.js'

/** The stream to one viewer. */
export interface ViewerStream {
  /** Bytes that the viewer has not taken. */
  readonly unsentBytes: number
  write(pieces: readonly Uint8Array[]): void
  end(): void
}

/** Milliseconds between two batches. */
export const BATCH_MS = 100

/** Most bytes that wait for a viewer. */
const UNSENT_BYTES_MAX = 1024 * 1024

/** Milliseconds between two batches while older rows follow. */
export const OLDER_BATCH_MS = 20

/** Most rows that are made for one viewer at a time, and the milliseconds after which no further one is begun. */
const ROWS_MAX = 600
const ROWS_MS = 1
const OLDER_ROWS_MS = 4

/** The frames that a viewer has already. */
export interface Seen {
  /** The last of them. */
  readonly since?: number | undefined
  /** The first of them. */
  readonly before?: number | undefined
}

/** One open feed. */
export class Viewer {
  readonly #ring: Ring
  readonly #rows: Rows
  readonly #stream: ViewerStream
  /** A page that is not looked at gets numbers only. */
  readonly #wantsRows: boolean
  /** The next frame. */
  #at: number
  /** Frames before this one are still to be sent. */
  #oldest: number
  #counted = -1

  constructor(ring: Ring, rows: Rows, stream: ViewerStream, wantsRows: boolean, { since, before }: Seen) {
    this.#ring = ring
    this.#rows = rows
    this.#stream = stream
    this.#wantsRows = wantsRows
    this.#at =
      since === undefined ? Math.max(ring.first, ring.next - ROWS_MAX) : Math.min(since + 1, ring.next)
    this.#oldest = Math.min(before ?? this.#at, this.#at)
  }

  /** Whether older rows follow. */
  get hasOlder(): boolean {
    return this.#wantsRows && this.#oldest > this.#ring.first
  }

  /** Nothing more follows. */
  end(): void {
    this.#stream.end()
  }

  greet(hello: Hello): void {
    this.#write({ hello })
  }

  /** Sends what there is, unless the viewer has not taken what was sent before. */
  send(now: () => number): void {
    if (this.#stream.unsentBytes > UNSENT_BYTES_MAX) return
    if (!this.#wantsRows) return this.#count(this.#ring.next - 1)
    if (this.#at < this.#ring.first) {
      this.#write({ skipped: this.#ring.first - this.#at })
      this.#at = this.#ring.first
    }
    const rows = this.#take(now)
    if (rows.length > 0) this.#write({ frames: rows })
    if (this.hasOlder) this.#write({ older: this.#takeOlder(now) })
  }

  #count(frames: number): void {
    if (frames !== this.#counted) this.#write({ counts: { frames } })
    this.#counted = frames
  }

  #take(now: () => number): FrameRow[] {
    const rows: FrameRow[] = []
    const until = now() + ROWS_MS
    for (; this.#at < this.#ring.next && rows.length < ROWS_MAX && now() <= until; this.#at++) {
      const frame = this.#ring.get(this.#at)
      if (frame !== undefined) rows.push(this.#rows.rowOf(frame))
    }
    return rows
  }

  #takeOlder(now: () => number): FrameRow[] {
    const rows: FrameRow[] = []
    const until = now() + OLDER_ROWS_MS
    while (this.hasOlder && rows.length < ROWS_MAX && now() <= until) {
      const frame = this.#ring.get(--this.#oldest)
      if (frame !== undefined) rows.push(this.#rows.rowOf(frame))
    }
    return rows.toReversed()
  }

  #write(line: FeedLine): void {
    this.#stream.write([Buffer.from(`${JSON.stringify(line)}\n`)])
  }
}
