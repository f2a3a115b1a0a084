// The data of one event after the other, line by line.

import { Buffer } from 'node:buffer'
import { type Line, joinLine, lengthOf } from '../../jsonrpc/line.js'
import type { RequestId } from '../../jsonrpc/request-id.js'
import { LongLines } from '../long-lines.js'

const NEWLINE = Buffer.from('\n')

/** The events of a stream. */
export interface SseSink {
  /** An event with data; `type` is `message` unless the stream says otherwise. */
  event(type: string, data: Line): void
  /** One whose data is a long line that begins with `{`, in parts; who does not take it so is given it as `event`. */
  readonly long?: (type: string, parts: readonly Buffer[]) => void
  /** An event over the limit, of which so many bytes have come; `isCall` says that it has a `method`, so that the id is its sender's own. */
  oversize(id: RequestId | undefined, bytes: number, isCall: boolean): void
}

/** What an event has said so far; of what is over the limit only the id. */
export class SseData {
  readonly #sink: SseSink
  readonly #bytesMax: number
  #lines: Line[] = []
  /** The first line, where it is long and in parts. */
  #long: readonly Buffer[] = []
  #bytes = 0
  #dropped: LongLines | undefined
  /** Whether the sink knows that the event is over the limit. */
  #isTold = false

  constructor(sink: SseSink, bytesMax: number) {
    this.#sink = sink
    this.#bytesMax = bytesMax
  }

  get bytes(): number {
    return this.#bytes
  }

  hasRoom(bytes: number): boolean {
    return this.#dropped === undefined && this.#bytes + bytes <= this.#bytesMax
  }

  add(line: Line): void {
    this.#join()
    this.#lines.push(line)
    this.#bytes += line.length
  }

  /** Whether the next line may be one in parts. */
  get takesParts(): boolean {
    return this.#sink.long !== undefined && this.#bytes === 0 && this.#lines.length === 0
  }

  addParts(parts: readonly Buffer[]): void {
    this.#long = parts
    this.#bytes = lengthOf(parts)
  }

  drop(part: Buffer): void {
    this.#dropped ??= this.#dropLines()
    this.#bytes += part.length
    if (this.#isTold) return
    this.#dropped.push(part)
    if (this.#dropped.isSure) this.#tell(this.#dropped)
  }

  /** The event is complete. */
  dispatch(type: string): void {
    const lines = this.#lines
    const long = this.#long
    const dropped = this.#dropped
    if (dropped !== undefined) this.#tell(dropped)
    this.#lines = []
    this.#long = []
    this.#bytes = 0
    this.#dropped = undefined
    this.#isTold = false
    if (dropped !== undefined) return
    if (long.length > 0) return this.#sink.long?.(type, long)
    const line = joined(lines)
    if (line !== undefined && line.length > 0) this.#sink.event(type, line)
  }

  #tell(dropped: LongLines): void {
    if (this.#isTold) return
    this.#isTold = true
    const { id, isCall } = dropped.dropped()
    this.#sink.oversize(id, this.#bytes, isCall)
  }

  #dropLines(): LongLines {
    const dropped = new LongLines()
    for (const part of this.#long) dropped.push(part)
    for (const line of this.#lines) dropped.push(line)
    this.#lines = []
    this.#long = []
    return dropped
  }

  /** A line in parts stays so only while it is alone. */
  #join(): void {
    if (this.#long.length === 0) return
    this.#lines.push(joinLine(this.#long))
    this.#long = []
  }
}

/** Several data lines are one text with line feeds between them. */
function joined(lines: readonly Line[]): Line | undefined {
  if (lines.length < 2) return lines[0]
  const parts = lines.flatMap((line, index) => (index === 0 ? [line] : [NEWLINE, line]))
  return joinLine(parts)
}
