// One response, as bytes on its connection (RFC 9112, sections 4 to 7).

import type { Message } from '../../jsonrpc/splice.js'
import { Buffer } from 'node:buffer'
import { lengthOf } from '../../jsonrpc/line.js'
import { withHead } from './bytes.js'
import { fieldLine, type RequestHead } from './head.js'
import type { FrontConnection } from './server.js'

/** Header fields: names in lower case and values, in turn. */
export type Fields = readonly string[]

const LINE_END = Buffer.from('\r\n')
const LAST_CHUNK = Buffer.from('0\r\n\r\n')

/** No cache may store the body, and no reader may guess another type. */
const bodyFields: Fields = ['cache-control', 'no-store', 'x-content-type-options', 'nosniff']

export type ResponseWire = Pick<
  FrontConnection,
  'unsentBytes' | 'begin' | 'write' | 'ended' | 'cut' | 'cutWhenStalled'
> &
  Partial<Pick<FrontConnection, 'endLast'>>

/** Answers one request, once: with a whole body, or with a stream. */
export class HttpResponse {
  /** Called when the client has read all bytes of a stream. */
  onDrain: () => void = () => {}
  readonly #wire: ResponseWire
  readonly #request: Pick<RequestHead, 'method' | 'version'>
  #more: Fields = []
  #state: 'none' | 'stream' | 'ended' = 'none'
  /** Whether the system has accepted all bytes, or the client has left. */
  isClosed = false
  #closers: (() => void)[] = []

  constructor(wire: ResponseWire, request: Pick<RequestHead, 'method' | 'version'>) {
    this.#wire = wire
    this.#request = request
  }

  get hasBegun(): boolean {
    return this.#state !== 'none'
  }

  get hasEnded(): boolean {
    return this.#state === 'ended'
  }

  get unsentBytes(): number {
    return this.isClosed ? 0 : this.#wire.unsentBytes
  }

  /** Adds fields to the response, in each of its forms. */
  add(fields: Fields): void {
    this.#more = [...this.#more, ...fields]
  }

  /** Sends the whole response. @throws TypeError when a field cannot be sent */
  send(status: number, fields: Fields, ...body: readonly Uint8Array[]): void {
    // RFC 9110, section 8.6.
    const about = status === 204 || status === 304 ? '' : `content-length: ${lengthOf(body)}\r\n`
    const head = this.#head(status, fields, about)
    this.#state = 'ended'
    if (this.isClosed) return
    this.#wire.write(withHead(head, this.#request.method === 'HEAD' ? [] : body))
    this.#wire.ended()
  }

  /** Sends JSON, or text of another type. */
  sendText(status: number, body: string | Message, fields: Fields = [], type = 'application/json'): void {
    const parts = typeof body === 'string' ? [Buffer.from(body)] : body.parts
    this.send(status, ['content-type', type, ...bodyFields, ...fields], ...parts)
  }

  /** Begins a stream, and cuts the connection if the client reads nothing. @throws TypeError as `send` does */
  stream(status: number, fields: Fields): void {
    const head = this.#head(status, fields, this.#isChunked ? 'transfer-encoding: chunked\r\n' : '')
    this.#state = 'stream'
    if (this.isClosed) return
    this.#wire.write(withHead(head, []))
    this.#wire.cutWhenStalled()
  }

  /** Writes pieces that belong together to a stream. */
  write(pieces: readonly Uint8Array[]): void {
    if (this.#state !== 'stream' || this.isClosed) return
    if (!this.#isChunked) return this.#wire.write(pieces)
    const size = `${lengthOf(pieces).toString(16)}\r\n`
    this.#wire.write(withHead(size, [...pieces, LINE_END]))
  }

  end(): void {
    if (this.#state !== 'stream') return
    this.#state = 'ended'
    if (this.isClosed) return
    if (this.#isChunked) this.#wire.write([LAST_CHUNK])
    this.#wire.ended()
  }

  /** Ends the stream. A draining server ends it with `bytes`, as late as possible, because its client soon returns. */
  endLast(bytes: Uint8Array): void {
    const isLate = this.#wire.endLast?.(() => {
      this.write([bytes])
      this.end()
    })
    if (isLate !== true) this.end()
  }

  /** Drops unsent bytes, and the connection. */
  cut(): void {
    if (!this.isClosed) this.#wire.cut()
  }

  /** Calls `closed` once, when the system has accepted all bytes or the client has left; immediately if that is past. */
  whenClosed(closed: () => void): void {
    if (this.isClosed) return closed()
    this.#closers.push(closed)
  }

  /** Only the connection calls this method. */
  close(): void {
    if (this.isClosed) return
    this.isClosed = true
    for (const closed of this.#closers) closed()
  }

  /** In HTTP/1.0, the end of the connection ends a stream (RFC 9112, section 6.3). */
  get #isChunked(): boolean {
    return this.#request.version === '1.1'
  }

  #head(status: number, fields: Fields, about: string): string {
    let text = statusLine(status) + about
    let closes = false
    for (const list of [fields, this.#more])
      for (let at = 0; at + 1 < list.length; at += 2) {
        const name = list[at] ?? ''
        const value = list[at + 1] ?? ''
        if (name === 'connection') closes = value === 'close'
        else text += fieldLine(name, value)
      }
    return `${text}${this.#wire.begin(closes)}\r\n`
  }
}

const reasons: ReadonlyMap<number, string> = new Map([
  [200, 'OK'],
  [202, 'Accepted'],
  [204, 'No Content'],
  [304, 'Not Modified'],
  [308, 'Permanent Redirect'],
  [400, 'Bad Request'],
  [401, 'Unauthorized'],
  [403, 'Forbidden'],
  [404, 'Not Found'],
  [405, 'Method Not Allowed'],
  [406, 'Not Acceptable'],
  [408, 'Request Timeout'],
  [409, 'Conflict'],
  [413, 'Content Too Large'],
  [415, 'Unsupported Media Type'],
  [429, 'Too Many Requests'],
  [431, 'Request Header Fields Too Large'],
  [500, 'Internal Server Error'],
  [503, 'Service Unavailable'],
])

/** The status line with its line end. An unknown status has no reason. */
export function statusLine(status: number): string {
  return `HTTP/1.1 ${status} ${reasons.get(status) ?? ''}\r\n`
}
