// Newline-delimited messages out of chunks of any size.
//
// Splits on the byte 0x0A and on nothing else. A line inside one chunk is a view
// on it; a line over several is joined once, when its end has come, so that the
// work is linear however the bytes are cut. A line over the limit is dropped as
// it arrives, and only its id is looked for.

import { IdFinder } from '../jsonrpc/id-finder.js'
import { LF, type Line, joinLine, lineAt } from '../jsonrpc/line.js'
import type { RequestId } from '../jsonrpc/request-id.js'

const CR = 0x0d

export interface LineSink {
  line(line: Line): void
  oversize(id: RequestId | undefined, bytes: number): void
}

/** Holds the unfinished line of one stream. */
export class LineSplitter {
  readonly #sink: LineSink
  readonly #lineBytesMax: number
  #parts: Buffer[] = []
  #bytes = 0
  #finder: IdFinder | undefined

  constructor(sink: LineSink, lineBytesMax: number) {
    this.#sink = sink
    this.#lineBytesMax = lineBytesMax
  }

  /** Bytes of the line that has not ended yet. */
  get pendingBytes(): number {
    return this.#bytes
  }

  push(chunk: Buffer): void {
    let start = 0
    for (let end = chunk.indexOf(LF); end >= 0; end = chunk.indexOf(LF, start)) {
      this.#endLine(chunk, start, end)
      start = end + 1
    }
    if (start < chunk.length) this.#keep(start === 0 ? chunk : chunk.subarray(start))
  }

  /** The stream has ended: a last line without a line feed counts. */
  end(): void {
    if (this.#bytes > 0) this.#endLine(Buffer.from([LF]), 0, 0)
  }

  #keep(part: Buffer): void {
    this.#bytes += part.length
    if (this.#finder === undefined && this.#bytes > this.#lineBytesMax) this.#startDropping()
    if (this.#finder === undefined) this.#parts.push(part)
    else this.#finder.push(part)
  }

  #startDropping(): void {
    this.#finder = new IdFinder()
    for (const part of this.#parts) this.#finder.push(part)
    this.#parts = []
  }

  #endLine(chunk: Buffer, start: number, end: number): void {
    if (this.#bytes === 0 && end - start <= this.#lineBytesMax) {
      if (!isBlank(chunk, start, end)) this.#sink.line(lineAt(chunk, start, end))
      return
    }
    this.#keep(chunk.subarray(start, end))
    const parts = this.#parts
    const bytes = this.#bytes
    const finder = this.#finder
    this.#parts = []
    this.#bytes = 0
    this.#finder = undefined
    if (finder !== undefined) this.#sink.oversize(finder.id, bytes)
    else this.#joined(joinLine(parts, bytes))
  }

  #joined(line: Line): void {
    if (!isBlank(line, 0, line.length)) this.#sink.line(line)
  }
}

function isBlank(bytes: Buffer, start: number, end: number): boolean {
  return start === end || (end - start === 1 && bytes[start] === CR)
}
