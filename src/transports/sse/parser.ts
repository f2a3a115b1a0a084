// Server-sent events out of chunks of any size (WHATWG HTML, section 9.2.6).
//
// A push parser without I/O. The data of an event is a message, so it is handed
// on as bytes: a view on the chunk where the line lies in one chunk and ends with
// a line feed, the parts of a long object over several chunks, else one copy. An event over the limit is dropped while it
// arrives, and only its id is looked for.

import { Buffer } from 'node:buffer'
import { COLON, CR, LF, OPEN_OBJECT, SPACE } from '../../jsonrpc/ascii.js'
import { type Line, joinLine, lineAt, toLine } from '../../jsonrpc/line.js'
import { LongLine } from '../../jsonrpc/long-line.js'
import { IdFinder } from '../../jsonrpc/id-finder.js'
import type { RequestId } from '../../jsonrpc/request-id.js'
import { UnfinishedLine } from '../unfinished-line.js'

/** The events of a stream. */
export interface SseSink {
  /** An event with data, a long object perhaps in parts; `type` is `message` unless the stream says otherwise. */
  event(type: string, data: Line | LongLine): void
  /** An event over the limit, of which so many bytes have come; `isCall` says that it has a `method`, so that the id is its sender's own. */
  oversize(id: RequestId | undefined, bytes: number, isCall: boolean): void
}

export interface SseLimits {
  /** The data of one event. */
  readonly dataBytesMax: number
  /** A longer id, type or reconnection time is ignored; of a longer comment nothing is kept. */
  readonly fieldBytesMax: number
}

const BOM = Buffer.from('\u{feff}')

/** NUL the standard excludes; with any other of these an id could not be sent back in a header field. */
// oxlint-disable-next-line no-control-regex -- exactly these may not stand in a header field.
const control = /[\0-\x08\x0a-\x1f\x7f]/

/** The first byte of `data`, with which no other field begins. */
const D = 0x64

/** Cuts one stream into events. */
export class SseParser {
  readonly #limits: SseLimits
  readonly #unfinished = new UnfinishedLine((first) =>
    this.#data.isEmpty ? objectData(first, this.#lineStart(first, 0)) : undefined,
  )
  /** Set while a line over the limit is skipped. */
  #skipping: 'data' | 'other' | undefined
  #afterCr = false
  #isFirstLine = true
  #type = ''
  readonly #data: SseData
  #pendingId: string | undefined
  #lastEventId: string | undefined
  #retryMs: number | undefined

  constructor(sink: SseSink, limits: SseLimits) {
    this.#limits = limits
    this.#data = new SseData(sink, limits.dataBytesMax)
  }

  /** The id after which the stream can be resumed; undefined while it has named none. */
  get lastEventId(): string | undefined {
    return this.#lastEventId
  }

  /** How long to wait before the stream is opened again, without any limit; undefined when it has not said. */
  get retryMs(): number | undefined {
    return this.#retryMs
  }

  /** Takes a chunk, and returns how many lines end in it. */
  push(chunk: Buffer): number {
    let lines = 0
    let start = this.#afterCr && chunk[0] === LF ? 1 : 0
    if (chunk.length > 0) this.#afterCr = false
    let cr = nextOf(chunk, CR, start)
    let lf = nextOf(chunk, LF, start)
    while (start < chunk.length) {
      const end = Math.min(cr, lf)
      if (end === chunk.length) {
        this.#keep(start === 0 ? chunk : chunk.subarray(start))
        return lines
      }
      this.#endLine(chunk, start, end)
      lines++
      start = end + 1
      if (end === cr) {
        if (start === chunk.length) this.#afterCr = true
        else if (chunk[start] === LF) start++
        cr = nextOf(chunk, CR, start)
      }
      if (lf < start) lf = nextOf(chunk, LF, start)
    }
    return lines
  }

  #keep(part: Buffer): void {
    if (this.#skipping === undefined) {
      this.#unfinished.add(part)
      if (this.#unfinished.bytes > this.#lineBytesMax()) this.#skip()
    } else if (this.#skipping === 'data') this.#data.drop(part)
  }

  /** How much of the line that has begun is worth keeping. */
  #lineBytesMax(): number {
    const { dataBytesMax, fieldBytesMax } = this.#limits
    const { firstByte } = this.#unfinished
    const isData = firstByte === D || (this.#isFirstLine && firstByte === BOM[0])
    return isData ? dataBytesMax - this.#data.bytes + fieldBytesMax : fieldBytesMax
  }

  /** Gives up a line that is too long; of data, the id is still looked for. */
  #skip(): void {
    const start = Buffer.concat(this.#unfinished.give())
    const field = sseField(start, this.#lineStart(start, 0), start.length)
    this.#skipping = field.name === 'data' ? 'data' : 'other'
    if (field.name === 'data') this.#data.drop(start.subarray(field.start))
  }

  #endLine(chunk: Buffer, start: number, end: number): void {
    if (this.#skipping !== undefined) {
      this.#keep(chunk.subarray(start, end))
      this.#skipping = undefined
    } else if (this.#unfinished.bytes === 0) this.#line(chunk, start, end)
    else {
      this.#unfinished.add(chunk.subarray(start, end))
      const line = this.#unfinished.end()
      if (line instanceof LongLine) this.#data.add(line)
      // The line feed behind the line lies in the same memory.
      else this.#line(Buffer.from(line.buffer, line.byteOffset, line.length + 1), 0, line.length)
    }
    this.#isFirstLine = false
  }

  #line(memory: Buffer, start: number, end: number): void {
    if (start === end) return this.#dispatch()
    // A comment.
    if (memory[start] === COLON) return
    const field = sseField(memory, this.#lineStart(memory, start), end)
    if (field.name === 'data')
      this.#data.add(
        memory[end] === LF ? lineAt(memory, field.start, end) : toLine(memory.subarray(field.start, end)),
      )
    else if (end - field.start <= this.#limits.fieldBytesMax) this.#set(field, memory, end)
  }

  #lineStart(memory: Buffer, start: number): number {
    const hasBom = this.#isFirstLine && memory.subarray(start, start + BOM.length).equals(BOM)
    return hasBom ? start + BOM.length : start
  }

  #set(field: SseField, memory: Buffer, end: number): void {
    const value = memory.toString('utf8', field.start, end)
    if (field.name === 'event') this.#type = value
    else if (field.name === 'id' && !control.test(value)) this.#pendingId = value
    else if (field.name === 'retry' && /^\d+$/.test(value)) this.#retryMs = Number(value)
  }

  #dispatch(): void {
    const type = this.#type === '' ? 'message' : this.#type
    this.#lastEventId = this.#pendingId ?? this.#lastEventId
    this.#type = ''
    this.#data.dispatch(type)
  }
}

function nextOf(chunk: Buffer, byte: number, from: number): number {
  const at = chunk.indexOf(byte, from)
  return at < 0 ? chunk.length : at
}

const NEWLINE = Buffer.from('\n')

/** The data of an event so far; of an event over the limit only the id. */
class SseData {
  readonly #sink: SseSink
  readonly #bytesMax: number
  #lines: (Line | LongLine)[] = []
  #bytes = 0
  #dropped: IdFinder | undefined

  constructor(sink: SseSink, bytesMax: number) {
    this.#sink = sink
    this.#bytesMax = bytesMax
  }

  get bytes(): number {
    return this.#bytes
  }

  get isEmpty(): boolean {
    return this.#lines.length === 0 && this.#dropped === undefined
  }

  add(line: Line | LongLine): void {
    if (this.#dropped === undefined && this.#bytes + line.length <= this.#bytesMax) {
      this.#lines.push(line)
      this.#bytes += line.length
    } else for (const part of partsOf(line)) this.drop(part)
  }

  drop(part: Buffer): void {
    this.#dropped ??= this.#dropLines()
    this.#bytes += part.length
    this.#dropped.push(part)
  }

  /** The event is complete. */
  dispatch(type: string): void {
    if (this.isEmpty) return
    const lines = this.#lines
    const dropped = this.#dropped
    const bytes = this.#bytes
    this.#lines = []
    this.#bytes = 0
    this.#dropped = undefined
    if (dropped !== undefined) {
      const { id, isCall } = dropped.found()
      return this.#sink.oversize(id, bytes, isCall)
    }
    const data = joined(lines)
    if (data.length > 0) this.#sink.event(type, data)
  }

  #dropLines(): IdFinder {
    const dropped = new IdFinder()
    for (const part of this.#lines.flatMap(partsOf)) dropped.push(part)
    this.#lines = []
    return dropped
  }
}

/** Several data lines are one text with line feeds between them. */
function joined(lines: readonly (Line | LongLine)[]): Line | LongLine {
  const [only] = lines
  if (only !== undefined && lines.length === 1) return only
  return joinLine(lines.flatMap((line, index) => (index === 0 ? partsOf(line) : [NEWLINE, ...partsOf(line)])))
}

function partsOf(line: Line | LongLine): readonly Buffer[] {
  return line instanceof LongLine ? line.parts : [line]
}

/** One line of a stream: which field it is, and where its value begins. */
interface SseField {
  /** `other` for comments and unknown fields. */
  readonly name: 'data' | 'event' | 'id' | 'retry' | 'other'
  readonly start: number
}

const names = ['data', 'event', 'id', 'retry'] as const

const NAME_LENGTH_MAX = 5

/** Reads the line from `start` to `end`; one space behind the colon belongs to neither name nor value. */
function sseField(memory: Buffer, start: number, end: number): SseField {
  const beginning = memory.toString('latin1', start, Math.min(end, start + NAME_LENGTH_MAX + 1))
  const [before, behind] = beginning.split(':', 2)
  const name = names.find((each) => each === before)
  if (name === undefined || behind === undefined) return { name: name ?? 'other', start: end }
  const value = start + name.length + 1
  return { name, start: memory[value] === SPACE && value < end ? value + 1 : value }
}

/** The offset of the object that a line from `start` on has as its data; undefined without one in these bytes. */
function objectData(bytes: Buffer, start: number): number | undefined {
  const field = sseField(bytes, start, bytes.length)
  return field.name === 'data' && bytes[field.start] === OPEN_OBJECT ? field.start : undefined
}
