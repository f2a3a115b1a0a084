// Splits chunks of any size into newline-delimited messages, and event streams into lines.
//
// Only the byte 0x0A splits; a CR directly before it belongs to the line end. A line inside one chunk is a
// view of it. A line over the limit is dropped as it arrives; the splitter only looks for its id.

import { Buffer } from 'node:buffer'
import { CR, LF } from '../../jsonrpc/ascii.js'
import { type Line, lineAt, toLine } from '../../jsonrpc/line.js'
import type { LongLine } from '../../jsonrpc/long-line.js'
import { IdFinder } from '../../jsonrpc/id-finder.js'
import type { RequestId } from '../../jsonrpc/request-id.js'
import { type Beginning, UnfinishedLine, wholeObject } from '../unfinished-line.js'

export interface LineSink {
  /** A long object may be in parts. */
  line(line: Line | LongLine): void
  /** Receives an empty line. */
  blank?(): void
  /** `isCall`: the line has a `method`, so its sender chose the id. */
  oversize(id: RequestId | undefined, bytes: number, isCall: boolean): void
}

const EMPTY = Buffer.alloc(0)

export class LineSplitter {
  readonly #sink: LineSink
  readonly #lineBytesMax: number
  readonly #beginning: Beginning
  readonly #unfinished: UnfinishedLine
  #isMidLine = false
  /** Looks for the id of a line over the limit. */
  #dropped: IdFinder | undefined

  constructor(sink: LineSink, lineBytesMax: number, beginning: Beginning = wholeObject) {
    this.#sink = sink
    this.#lineBytesMax = lineBytesMax
    this.#beginning = beginning
    this.#unfinished = new UnfinishedLine(beginning)
  }

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

  /** Ends the stream. A last line without a line feed counts. */
  end(): void {
    if (this.pendingBytes > 0) this.#endLine(EMPTY)
  }

  #whole(chunk: Buffer, start: number, end: number): void {
    const line = chunk[end - 1] === CR ? toLine(chunk.subarray(start, end - 1)) : lineAt(chunk, start, end)
    this.#emit(line)
  }

  #keep(part: Buffer): void {
    if (this.#dropped !== undefined) return this.#dropped.push(part)
    this.#unfinished.add(part)
    if (this.#unfinished.bytes > this.#lineBytesMax) this.#dropped = this.#drop()
  }

  #drop(): IdFinder {
    const dropped = new IdFinder()
    const parts = this.#unfinished.take()
    // The first part may have only a few bytes.
    const start = Buffer.concat(parts.splice(0, 2))
    for (const part of [start.subarray(this.#beginning(start)), ...parts]) dropped.push(part)
    return dropped
  }

  #emit(line: Line | LongLine): void {
    if (line.length > 0) this.#sink.line(line)
    else this.#sink.blank?.()
  }

  #endLine(rest: Buffer): void {
    this.#isMidLine = false
    this.#keep(rest)
    if (this.#dropped === undefined) return this.#emit(this.#unfinished.end())
    const { id, isCall } = this.#dropped.found()
    const { bytes } = this.#dropped
    this.#dropped = undefined
    this.#sink.oversize(id, bytes, isCall)
  }
}
