// Newline-delimited messages out of chunks of any size.
//
// Splits on the byte 0x0A and on nothing else; a CR directly before it belongs
// to the line end. A line inside one chunk is a view on it; a line over several
// is joined once, when its end has come, so that the work is linear however the
// bytes are cut. A line over the limit is dropped as it arrives, and only its id
// is looked for.

import { Buffer } from 'node:buffer'
import { CR, LF } from '../../jsonrpc/ascii.js'
import { type Line, lineAt, toLine } from '../../jsonrpc/line.js'
import type { LongLine } from '../../jsonrpc/fast/long-line.js'
import { IdFinder } from '../../jsonrpc/id-finder.js'
import type { RequestId } from '../../jsonrpc/request-id.js'
import { LONG_BYTES_MIN, LongLines } from '../long-lines.js'
import { UnfinishedLine } from '../unfinished-line.js'

export interface LineSink {
  line(line: Line): void
  /** A long line, which may be in parts; who does not take it so is given it as `line`. */
  readonly long?: ((long: LongLine) => void) | undefined
  /** `isCall`: the line has a `method`, and so the id is its sender's own. */
  oversize(id: RequestId | undefined, bytes: number, isCall: boolean): void
}

const EMPTY = Buffer.alloc(0)

/** Cuts one stream into lines. */
export class LineSplitter {
  readonly #sink: LineSink
  readonly #lineBytesMax: number
  readonly #unfinished = new UnfinishedLine()
  readonly #longLines = new LongLines()
  /** Whether a line has begun and not ended. */
  #isMidLine = false
  /** Of a line over the limit. */
  #dropped: IdFinder | undefined

  constructor(sink: LineSink, lineBytesMax: number) {
    this.#sink = sink
    this.#lineBytesMax = lineBytesMax
  }

  /** Bytes of the line that has not ended yet. */
  get pendingBytes(): number {
    return this.#unfinished.bytes + (this.#dropped?.bytes ?? 0)
  }

  push(chunk: Buffer): void {
    let start = 0
    for (let end = chunk.indexOf(LF); end >= 0; end = chunk.indexOf(LF, start)) {
      if (this.#isMidLine || end - start > this.#lineBytesMax) this.#endLine(chunk.subarray(start, end))
      else this.#whole(chunk, start, end)
      start = end + 1
    }
    if (start === chunk.length) return
    this.#isMidLine = true
    this.#keep(start === 0 ? chunk : chunk.subarray(start))
  }

  /** The stream has ended: a last line without a line feed counts. */
  end(): void {
    if (this.pendingBytes > 0) this.#endLine(EMPTY)
  }

  /** The line from `start` to the line feed at `end`. */
  #whole(chunk: Buffer, start: number, end: number): void {
    const line = chunk[end - 1] === CR ? toLine(chunk.subarray(start, end - 1)) : lineAt(chunk, start, end)
    if (line.length === 0) return
    if (line.length < LONG_BYTES_MIN || this.#sink.long === undefined) this.#sink.line(line)
    else this.#sink.long(this.#longLines.whole(line))
  }

  #keep(part: Buffer): void {
    if (this.#unfinished.bytes + part.length > this.#lineBytesMax) this.#dropped ??= this.#drop()
    if (this.#dropped === undefined) {
      this.#unfinished.add(part)
      this.#longLines.follow(this.#unfinished.settled)
    } else this.#dropped.push(part)
  }

  #drop(): IdFinder {
    const dropped = new IdFinder()
    for (const part of this.#unfinished.give()) dropped.push(part)
    this.#longLines.forget()
    return dropped
  }

  #endLine(rest: Buffer): void {
    this.#isMidLine = false
    this.#keep(rest)
    if (this.#dropped === undefined) return this.#endUnfinished()
    const { id, isCall } = this.#dropped.found()
    const { bytes } = this.#dropped
    this.#dropped = undefined
    this.#sink.oversize(id, bytes, isCall)
  }

  #endUnfinished(): void {
    if (this.#unfinished.bytes < LONG_BYTES_MIN || this.#sink.long === undefined) {
      this.#longLines.forget()
      const line = withoutCr(this.#unfinished.take())
      if (line.length > 0) this.#sink.line(line)
      return
    }
    this.#sink.long(this.#longLines.end(this.#unfinished.give()))
  }
}

/** The line feed behind a copied line may move up. */
function withoutCr(line: Line): Line {
  const end = line.length - 1
  if (line[end] !== CR) return line
  line[end] = LF
  return lineAt(line, 0, end)
}
