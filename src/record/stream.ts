// One direction of one connection, cut into frames and written as lines of a recording.
//
// The splitter of the transports drops blank lines and lines over their limit, since
// they are of no use. A recording may leave out nothing, so it cuts by itself.

import { Buffer } from 'node:buffer'
import type { WireEvent } from '../jsonrpc/wire-tap.js'
import { type RecordLine, recordHead, recordLine } from './line.js'

/** Most bytes that are held of a line that has not ended; a longer line is written in pieces. */
const LINE_BYTES_MAX = 64 * 1024 * 1024

const LF = 0x0a

/** Holds the unfinished line of one stream. */
export class RecordStream {
  readonly #write: (line: RecordLine) => void
  readonly #lineBytesMax: number
  /** Says whose lines these are. */
  readonly #event: Omit<WireEvent, 'at' | 'bytes'>
  #parts: Buffer[] = []
  #bytes = 0
  #at = 0

  constructor(
    event: Omit<WireEvent, 'at' | 'bytes'>,
    write: (line: RecordLine) => void,
    lineBytesMax: number = LINE_BYTES_MAX,
  ) {
    this.#event = event
    this.#write = write
    this.#lineBytesMax = lineBytesMax
  }

  /** Takes what was read or written at `at` milliseconds. */
  push(chunk: Buffer, at: number): void {
    this.#at = at
    let start = 0
    for (let end = chunk.indexOf(LF); end >= 0; end = chunk.indexOf(LF, start)) {
      this.#keep(chunk.subarray(start, end + 1))
      this.end()
      start = end + 1
    }
    // A copy, because the caller may overwrite the chunk.
    if (start < chunk.length) this.#keep(Buffer.from(chunk.subarray(start)))
    if (this.#bytes > this.#lineBytesMax) this.end()
  }

  /** Writes what is held back, whether its line has ended or not. */
  end(): void {
    if (this.#bytes === 0) return
    const raw = Buffer.concat(this.#parts)
    this.#parts = []
    this.#bytes = 0
    this.#write(recordLine(recordHead(this.#event, this.#at), raw))
  }

  #keep(part: Buffer): void {
    this.#parts.push(part)
    this.#bytes += part.length
  }
}
