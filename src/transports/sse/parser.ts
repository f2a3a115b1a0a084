// Server-sent events out of chunks of any size (WHATWG HTML, section 9.2.6).
//
// A push parser without I/O. The data of an event is a message, so it is handed
// on as bytes: a view on the chunk where the line lies in one chunk and ends with
// a line feed, its parts where it is a long object over several chunks, else one copy. What is over the limit is dropped as it arrives, and
// only its id is looked for; it is told as soon as that is known, since the end of
// such an event may never come.

import { Buffer } from 'node:buffer'
import { CR, LF } from '../../jsonrpc/ascii.js'
import { lineAt, toLine } from '../../jsonrpc/line.js'
import { LONG_BYTES_MIN } from '../long-lines.js'
import { SseData, type SseSink } from './data.js'
import { type SseField, objectData, sseField } from './field.js'
import { UnfinishedLine } from '../unfinished-line.js'

export interface SseLimits {
  /** The data of one event. */
  readonly dataBytesMax: number
  /** A longer id, type or reconnection time is ignored; of a longer comment nothing is kept. */
  readonly fieldBytesMax: number
  readonly retryMsMin: number
  readonly retryMsMax: number
}

const BOM = Buffer.from('\u{feff}')

/** NUL the standard excludes; with any other of these an id could not be sent back in a header field. */
// oxlint-disable-next-line no-control-regex -- exactly these may not stand in a header field.
const control = /[\0-\x08\x0a-\x1f\x7f]/

/** What `data` begins with, and no other field does. */
const D = 0x64

/** Cuts one stream into events. */
export class SseParser {
  readonly #limits: SseLimits
  readonly #unfinished = new UnfinishedLine()
  #firstByte: number | undefined
  /** Set while the rest of a line over the limit is skipped. */
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

  /** Where the stream can be resumed; undefined before it has said so. */
  get lastEventId(): string | undefined {
    return this.#lastEventId
  }

  /** How long to wait before the stream is opened again, within the limits; undefined when it has not said. */
  get retryMs(): number | undefined {
    return this.#retryMs
  }

  push(chunk: Buffer): void {
    let start = this.#afterCr && chunk[0] === LF ? 1 : 0
    if (chunk.length > 0) this.#afterCr = false
    let cr = nextOf(chunk, CR, start)
    let lf = nextOf(chunk, LF, start)
    while (start < chunk.length) {
      const end = Math.min(cr, lf)
      if (end === chunk.length) return this.#keep(start === 0 ? chunk : chunk.subarray(start))
      this.#endLine(chunk, start, end)
      start = end + 1
      if (end === cr) {
        if (start === chunk.length) this.#afterCr = true
        else if (chunk[start] === LF) start++
        cr = nextOf(chunk, CR, start)
      }
      if (lf < start) lf = nextOf(chunk, LF, start)
    }
  }

  #keep(part: Buffer): void {
    if (this.#skipping === undefined) {
      if (this.#unfinished.bytes === 0) this.#firstByte = part[0]
      this.#unfinished.add(part)
      if (this.#unfinished.bytes > this.#lineBytesMax()) this.#skip()
    } else if (this.#skipping === 'data') this.#data.drop(part)
  }

  /** How much of the line that has begun is worth keeping. */
  #lineBytesMax(): number {
    const { dataBytesMax, fieldBytesMax } = this.#limits
    const isData = this.#firstByte === D || (this.#isFirstLine && this.#firstByte === BOM[0])
    return isData ? dataBytesMax - this.#data.bytes + fieldBytesMax : fieldBytesMax
  }

  /** Gives up a line that is too long; of data, the id is still looked for. */
  #skip(): void {
    const start = Buffer.concat([...this.#unfinished.give()])
    this.#unfinished.clear()
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
      if (!this.#takesParts()) this.#joinedLine()
    }
    this.#isFirstLine = false
  }

  /** Takes a long object as it lies in memory. */
  #takesParts(): boolean {
    const { bytes } = this.#unfinished
    if (bytes < LONG_BYTES_MIN || !this.#data.takesParts) return false
    const [first = BOM] = this.#unfinished.parts()
    const at = objectData(first, this.#lineStart(first, 0))
    if (at === undefined || !this.#data.hasRoom(bytes - at)) return false
    const [, ...rest] = this.#unfinished.give()
    this.#data.addParts([first.subarray(at), ...rest])
    return true
  }

  #joinedLine(): void {
    const line = this.#unfinished.take()
    // The line feed behind the line lies in the same memory.
    this.#line(Buffer.from(line.buffer, line.byteOffset, line.length + 1), 0, line.length)
  }

  #line(memory: Buffer, start: number, end: number): void {
    if (start === end) return this.#dispatch()
    const field = sseField(memory, this.#lineStart(memory, start), end)
    if (field.name === 'data') return this.#addData(memory, field.start, end)
    if (end - field.start <= this.#limits.fieldBytesMax) this.#set(field, memory, end)
  }

  #lineStart(memory: Buffer, start: number): number {
    const hasBom = this.#isFirstLine && memory.subarray(start, start + BOM.length).equals(BOM)
    return hasBom ? start + BOM.length : start
  }

  #set(field: SseField, memory: Buffer, end: number): void {
    if (field.name === 'other') return
    const value = memory.toString('utf8', field.start, end)
    if (field.name === 'event') this.#type = value
    else if (field.name === 'id' && !control.test(value)) this.#pendingId = value
    else if (field.name === 'retry' && /^\d+$/.test(value)) this.#retryMs = this.#clamped(Number(value))
  }

  #clamped(ms: number): number {
    return Math.min(Math.max(ms, this.#limits.retryMsMin), this.#limits.retryMsMax)
  }

  #addData(memory: Buffer, start: number, end: number): void {
    if (!this.#data.hasRoom(end - start)) return this.#data.drop(memory.subarray(start, end))
    this.#data.add(memory[end] === LF ? lineAt(memory, start, end) : toLine(memory.subarray(start, end)))
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
