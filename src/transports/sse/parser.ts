// Parses server-sent events from chunks of any size (WHATWG HTML, section 9.2.6).
//
// A push parser without I/O. The data of an event is a message, so it is delivered as bytes: as a view if the
// line lies in one chunk, as the parts of a long object in several chunks, or else as one copy. A line ends
// in LF or CRLF. The standard also allows CR alone, which no server uses.

import { Buffer } from 'node:buffer'
import { OPEN_OBJECT, SPACE } from '../../jsonrpc/ascii.js'
import { type Line, joinLine } from '../../jsonrpc/line.js'
import { LongLine } from '../../jsonrpc/long-line.js'
import { IdFinder } from '../../jsonrpc/id-finder.js'
import type { RequestId } from '../../jsonrpc/request-id.js'
import { LineSplitter } from '../stdio/line-splitter.js'
import { lineFrom, withoutMark } from '../unfinished-line.js'

export interface SseSink {
  /** Receives an event with data; a long object may be in parts. `type` is `message` if the stream names none. */
  event(type: string, data: Line | LongLine): void
  /** Receives an event over the limit, with its length so far. `isCall`: it has a `method`, so its sender chose the id. */
  oversize(id: RequestId | undefined, bytes: number, isCall: boolean): void
}

export interface SseLimits {
  readonly dataBytesMax: number
  /** A longer id, type or reconnection time is ignored. */
  readonly fieldBytesMax: number
}

/** The standard excludes NUL. An id with another of these characters could not be sent back in a header field. */
// oxlint-disable-next-line no-control-regex -- exactly these may not stand in a header field.
const control = /[\0-\x08\x0a-\x1f\x7f]/

export class SseParser {
  readonly #sink: SseSink
  readonly #limits: SseLimits
  readonly #splitter: LineSplitter
  #isFirstLine = true
  #type = ''
  #data: (Line | LongLine)[] = []
  #bytes = 0
  /** The event was over the limit, and is reported. */
  #isSkipped = false
  #pendingId: string | undefined
  /** The id after which the stream can be resumed; undefined without an id. */
  lastEventId: string | undefined
  /** The reconnection time that the stream has named, without any limit; undefined without one. */
  retryMs: number | undefined

  constructor(sink: SseSink, limits: SseLimits) {
    this.#sink = sink
    this.#limits = limits
    const lines = {
      line: (line: Line | LongLine) => this.#line(line),
      blank: () => this.#dispatch(),
      oversize: (id: RequestId | undefined, bytes: number, isCall: boolean) => this.#skip(id, bytes, isCall),
    }
    this.#splitter = new LineSplitter(lines, 'data: '.length + limits.dataBytesMax, objectData)
  }

  push(chunk: Buffer): void {
    this.#splitter.push(chunk)
  }

  #line(read: Line | LongLine): void {
    const line = this.#isFirstLine ? withoutMark(read) : read
    this.#isFirstLine = false
    // Only data lines may be in several chunks.
    if (line instanceof LongLine) return this.#add(line)
    const { name, start } = sseField(line)
    if (name === 'data') return this.#add(lineFrom(line, start))
    if (line.length - start <= this.#limits.fieldBytesMax) this.#set(name, line.toString('utf8', start))
  }

  #set(name: SseField['name'], value: string): void {
    if (name === 'event') this.#type = value
    else if (name === 'id' && !control.test(value)) this.#pendingId = value
    else if (name === 'retry' && /^\d+$/.test(value)) this.retryMs = Number(value)
  }

  #add(line: Line | LongLine): void {
    if (this.#isSkipped) return
    this.#data.push(line)
    this.#bytes += line.length
    if (this.#bytes <= this.#limits.dataBytesMax) return
    const finder = new IdFinder()
    for (const part of this.#data.flatMap(partsOf)) finder.push(part)
    const { id, isCall } = finder.found()
    this.#skip(id, this.#bytes, isCall)
  }

  #skip(id: RequestId | undefined, bytes: number, isCall: boolean): void {
    this.#data = []
    if (!this.#isSkipped) this.#sink.oversize(id, bytes, isCall)
    this.#isSkipped = true
  }

  #dispatch(): void {
    const lines = this.#data
    const type = this.#type === '' ? 'message' : this.#type
    this.#isFirstLine = false
    this.lastEventId = this.#pendingId ?? this.lastEventId
    this.#type = ''
    this.#data = []
    this.#bytes = 0
    this.#isSkipped = false
    if (lines.length === 0) return
    const data = joined(lines)
    if (data.length > 0) this.#sink.event(type, data)
  }
}

const NEWLINE = Buffer.from('\n')

/** Joins several data lines with line feeds. */
function joined(lines: readonly (Line | LongLine)[]): Line | LongLine {
  const [only] = lines
  if (only !== undefined && lines.length === 1) return only
  return joinLine(lines.flatMap((line, index) => (index === 0 ? partsOf(line) : [NEWLINE, ...partsOf(line)])))
}

function partsOf(line: Line | LongLine): readonly Buffer[] {
  return line instanceof LongLine ? line.parts : [line]
}

/** One line of a stream: its field, and the offset of the value. */
interface SseField {
  /** `other` is a comment or an unknown field. */
  readonly name: 'data' | 'event' | 'id' | 'retry' | 'other'
  readonly start: number
}

const names = ['data', 'event', 'id', 'retry'] as const

const NAME_LENGTH_MAX = 5

/** One space after the colon belongs neither to the name nor to the value. */
function sseField(line: Buffer): SseField {
  const [before, behind] = line.toString('latin1', 0, NAME_LENGTH_MAX + 1).split(':', 2)
  const name = names.find((each) => each === before)
  if (name === undefined || behind === undefined) return { name: name ?? 'other', start: line.length }
  const value = name.length + 1
  return { name, start: line[value] === SPACE ? value + 1 : value }
}

/** The offset of a JSON object in a data line; undefined without one. */
function objectData(bytes: Buffer): number | undefined {
  const { name, start } = sseField(bytes)
  return name === 'data' && bytes[start] === OPEN_OBJECT ? start : undefined
}
