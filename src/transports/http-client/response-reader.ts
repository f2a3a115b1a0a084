// Responses out of the bytes of one connection (RFC 9112, sections 6 to 8).
//
// Bodies are handed on as they come. Whoever is told may have it stop in the middle
// of a chunk; what was not taken then is given back.

import { Buffer } from 'node:buffer'
import { CR, LF } from '../../jsonrpc/ascii.js'
import { ResponseError, ResponseHead } from './response-head.js'

/** What a response tells, in this order. */
export interface ResponseSink {
  /** Whether to stop before the next bytes of a body. */
  readonly paused: boolean
  head(head: ResponseHead): void
  data(chunk: Buffer): void
  /** It was whole; `keepsAlive` when another may follow on the connection. */
  end(keepsAlive: boolean): void
}

/** As much as Node's own reader takes. */
const HEAD_BYTES_MAX = 16 * 1024

/** The size of a chunk with whatever a server adds to it, or one trailer. */
const LINE_BYTES_MAX = 4 * 1024
const TRAILERS_MAX = 100

/** Of responses that only say that another will come (RFC 9110, section 15.2). */
const INTERIM_MAX = 20

const SIZE = /^([\da-fA-F]{1,12})[\t ]*(?:;.*)?$/
const BEGINNING = Buffer.from('HTTP/1.')
const HEAD_END = Buffer.from('\r\n\r\n')
const NOTHING = Buffer.alloc(0)

type Part = 'head' | 'length' | 'close' | 'size' | 'chunk' | 'chunk-end' | 'trailers'

/** Reads one response after another. */
export class ResponseReader {
  readonly #sink: ResponseSink
  #part: Part = 'head'
  /** The response has come whole, and whether its sink knows. */
  #isOver = true
  #isTold = true
  /** The beginning of a head or of a line whose end has not come. */
  #pending: Buffer = NOTHING
  #leftBytes = 0
  #keepsAlive = false
  #interim = 0
  #trailers = 0

  constructor(sink: ResponseSink) {
    this.#sink = sink
  }

  /** A request has been sent: from now on there may be a response. */
  begin(): void {
    this.#part = 'head'
    this.#isOver = false
    this.#isTold = false
    this.#interim = 0
  }

  /**
   * Gives back what it did not take: what came behind the response, or while the sink is paused.
   *
   * @throws ResponseError when this is no response
   */
  push(bytes: Buffer): Buffer {
    let rest = bytes
    while (rest.length > 0 && !this.#isOver && !this.#sink.paused) rest = this.#take(rest)
    if (this.#isOver && !this.#isTold && !this.#sink.paused) {
      this.#isTold = true
      this.#sink.end(this.#keepsAlive)
    }
    return rest
  }

  /** Whether the response ends where its connection does. */
  get endsWithConnection(): boolean {
    return this.#part === 'close' && !this.#isOver
  }

  #take(bytes: Buffer): Buffer {
    switch (this.#part) {
      case 'head':
        return this.#takeHead(bytes)
      case 'length':
      case 'chunk':
        return this.#takeData(bytes)
      case 'close':
        this.#sink.data(bytes)
        return NOTHING
      case 'size':
      case 'chunk-end':
      case 'trailers':
        return this.#takeLine(bytes)
    }
  }

  #takeHead(chunk: Buffer): Buffer {
    const pending = this.#pending.length
    const bytes = pending === 0 ? chunk : Buffer.concat([this.#pending, chunk])
    const end = bytes.indexOf(HEAD_END, Math.max(0, pending - HEAD_END.length))
    if (end > HEAD_BYTES_MAX || (end < 0 && bytes.length > HEAD_BYTES_MAX))
      throw new ResponseError(`its head is longer than ${HEAD_BYTES_MAX} bytes`)
    this.#pending = end < 0 ? bytes : NOTHING
    if (end < 0) {
      // Whoever speaks something else may never come to the end of a head.
      if (!seemsHttp(bytes) || bytes.includes('\n\n'))
        throw new ResponseError('it does not begin as HTTP/1 does', 'NOT_HTTP')
      return NOTHING
    }
    this.#hasHead(new ResponseHead(bytes.toString('latin1', 0, end)))
    return bytes.subarray(end + HEAD_END.length)
  }

  #hasHead(head: ResponseHead): void {
    if (head.status < 200) {
      if (head.status === 101 || ++this.#interim > INTERIM_MAX)
        throw new ResponseError('it switches to another protocol, which was not asked for')
      return
    }
    const { framing } = head
    this.#keepsAlive = head.keepsAlive && framing.kind !== 'close'
    this.#trailers = 0
    this.#leftBytes = framing.kind === 'length' ? framing.bytes : 0
    this.#part = framing.kind === 'chunked' ? 'size' : framing.kind
    this.#sink.head(head)
    this.#isOver = framing.kind === 'length' && framing.bytes === 0
  }

  #takeData(bytes: Buffer): Buffer {
    const isAll = bytes.length <= this.#leftBytes
    const data = isAll ? bytes : bytes.subarray(0, this.#leftBytes)
    this.#leftBytes -= data.length
    this.#sink.data(data)
    if (this.#leftBytes === 0) {
      if (this.#part === 'chunk') this.#part = 'chunk-end'
      else this.#isOver = true
    }
    return isAll ? NOTHING : bytes.subarray(data.length)
  }

  #takeLine(chunk: Buffer): Buffer {
    const at = chunk.indexOf(LF)
    const bytes = at < 0 ? chunk : chunk.subarray(0, at)
    if (this.#pending.length + bytes.length > LINE_BYTES_MAX)
      throw new ResponseError('the size of a chunk, or a trailer, is too long')
    const line = this.#pending.length === 0 ? bytes : Buffer.concat([this.#pending, bytes])
    this.#pending = at < 0 ? line : NOTHING
    if (at < 0) return NOTHING
    if (line[line.length - 1] !== CR) throw new ResponseError('a line of a chunk does not end in CRLF')
    this.#hasLine(line.toString('latin1', 0, line.length - 1))
    return chunk.subarray(at + 1)
  }

  #hasLine(line: string): void {
    if (this.#part === 'size') this.#hasSize(line)
    else if (this.#part === 'chunk-end') {
      if (line !== '') throw new ResponseError('a chunk is longer than its size')
      this.#part = 'size'
    } else if (line === '') this.#isOver = true
    else if (++this.#trailers > TRAILERS_MAX) throw new ResponseError('it has too many trailers')
  }

  #hasSize(line: string): void {
    const [, size] = SIZE.exec(line) ?? []
    if (size === undefined) throw new ResponseError('the size of a chunk is no number')
    this.#leftBytes = Number.parseInt(size, 16)
    this.#part = this.#leftBytes === 0 ? 'trailers' : 'chunk'
  }
}

function seemsHttp(bytes: Buffer): boolean {
  const length = Math.min(bytes.length, BEGINNING.length)
  return bytes.compare(BEGINNING, 0, length, 0, length) === 0
}
