// The viewers of the inspector: each gets the rows that it has not seen, in batches, and skips what it is too slow for.

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

/** Most rows that are made for one viewer at a time, and the milliseconds after which no further one is begun. */
const ROWS_MAX = 600
const ROWS_MS = 1

/** One open feed. */
export class Viewer {
  readonly #ring: Ring
  readonly #rows: Rows
  readonly #stream: ViewerStream
  /** A page that is not looked at gets numbers only. */
  readonly #wantsRows: boolean
  /** The next frame. */
  #at: number
  #counted = -1

  /** `since` is the last frame that the viewer has. */
  constructor(ring: Ring, rows: Rows, stream: ViewerStream, wantsRows: boolean, since: number | undefined) {
    this.#ring = ring
    this.#rows = rows
    this.#stream = stream
    this.#wantsRows = wantsRows
    this.#at = since === undefined ? ring.first : Math.min(since + 1, ring.next)
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

  #write(line: FeedLine): void {
    this.#stream.write([Buffer.from(`${JSON.stringify(line)}\n`)])
  }
}
