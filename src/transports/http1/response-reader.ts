// Responses out of the bytes of one connection (RFC 9112, sections 6 to 8).
//
// Bodies are passed on as they come. The sink may stop the reader in the middle of a chunk; the reader then returns the
// bytes that it did not take.

import type { Buffer } from 'node:buffer'
import { BodyReader, HeadReader } from './reader.js'
import { HttpSyntaxError, type Framing, framingOf, HeaderFields } from './grammar.js'

/** The events of a response, in this order. */
export interface ResponseSink {
  /** Whether to stop before the next bytes of a body. */
  readonly paused: boolean
  head(head: ResponseHead): void
  data(chunk: Buffer): void
  /** It was whole; `keepsAlive` when another may follow on the connection. */
  end(keepsAlive: boolean): void
}

/** As much as Node's own reader takes. */
export const RESPONSE_HEAD_BYTES_MAX: number = 16 * 1024

/** Of responses that only say that another will come (RFC 9110, section 15.2); one every few seconds is a server at work. */
const INTERIM_MAX = 1000

const HTTP_1 = 'HTTP/1.'

/** Reads one response after another. */
export class ResponseReader {
  readonly #sink: ResponseSink
  readonly #head = new HeadReader(RESPONSE_HEAD_BYTES_MAX)
  readonly #body = new BodyReader()
  /** The part that comes next; `end` when the response has come whole and `end` of the sink was not called. */
  #part: 'nothing' | 'head' | 'body' | 'end' = 'nothing'
  #keepsAlive = false
  #interim = 0

  constructor(sink: ResponseSink) {
    this.#sink = sink
  }

  /** A request has been sent: from now on there may be a response. */
  begin(): void {
    this.#part = 'head'
    this.#interim = 0
  }

  /**
   * Gives back what it did not take: what came behind the response, or while the sink is paused.
   *
   * @throws HttpSyntaxError when this is no response
   */
  push(bytes: Buffer): Buffer {
    let rest = bytes
    while (rest.length > 0 && !this.#sink.paused) {
      if (this.#part === 'head') rest = this.#takeHead(rest)
      else if (this.#part === 'body') rest = this.#takeBody(rest)
      else break
    }
    if (this.#part === 'end' && !this.#sink.paused) {
      this.#part = 'nothing'
      this.#sink.end(this.#keepsAlive)
    }
    return rest
  }

  /** Whether the response ends where its connection does. */
  get endsWithConnection(): boolean {
    return this.#part === 'body' && this.#body.endsWithConnection
  }

  #takeHead(chunk: Buffer): Buffer {
    const head = this.#head.take(chunk)
    if (head !== undefined) {
      this.#read(new ResponseHead(head.bytes.toString('latin1', 0, head.length)))
      return head.rest
    }
    const { pending } = this.#head
    // A peer of another protocol may never send the end of a head.
    if (!seemsHttp(pending)) throw new HttpSyntaxError('it does not begin as HTTP/1 does', 'NOT_HTTP')
    if (pending.includes('\n\n')) throw new HttpSyntaxError(BARE_LF)
    return chunk.subarray(chunk.length)
  }

  #read(head: ResponseHead): void {
    const { framing } = head
    if (head.status < 200) {
      if (head.status === 101)
        throw new HttpSyntaxError('it switches to another protocol, which was not asked for')
      if (!head.keepsAlive) throw new HttpSyntaxError('it ends its connection with an interim response')
      if (++this.#interim > INTERIM_MAX)
        throw new HttpSyntaxError(`it has more than ${INTERIM_MAX} interim responses before it`)
      return
    }
    this.#keepsAlive = head.keepsAlive && framing.kind !== 'close'
    this.#body.begin(framing)
    this.#part = this.#body.isOver ? 'end' : 'body'
    this.#sink.head(head)
  }

  #takeBody(bytes: Buffer): Buffer {
    const rest = this.#body.take(bytes, this.#sink)
    if (this.#body.isOver) this.#part = 'end'
    return rest
  }
}

function seemsHttp(bytes: Buffer): boolean {
  const length = Math.min(bytes.length, HTTP_1.length)
  return bytes.toString('latin1', 0, length) === HTTP_1.slice(0, length)
}

const BEGINNING = /^HTTP\/\d/
const STATUS_LINE = /^HTTP\/1\.([01]) ([1-9]\d\d)(?: [\t\x20-\x7e\x80-\xff]*)?$/

/**
 * The head of a response, read as strictly as an intermediary must (RFC 9112, sections 4, 5 and 6).
 *
 * A head that two readers could understand in two ways is refused: both a length and a transfer coding, two lengths, a coding
 * that the request did not allow, a space before a colon, a line that ends in LF alone or continues in the next.
 */
export class ResponseHead {
  readonly status: number
  readonly #minor: string
  readonly fields: HeaderFields

  /** @throws HttpSyntaxError when it is none */
  constructor(text: string) {
    const lines = text.split('\r\n')
    const [, minor, status] = STATUS_LINE.exec(lines[0] ?? '') ?? []
    if (minor === undefined) throw notAStatusLine(lines[0] ?? '')
    this.#minor = minor
    this.status = Number(status)
    this.fields = new HeaderFields(lines)
  }

  /** Whether the connection may carry another request after this response. */
  get keepsAlive(): boolean {
    return this.fields.keepsAlive(this.#minor)
  }

  /** How long the server keeps a connection that rests; undefined when it does not say. */
  get restMs(): number | undefined {
    const hint = this.fields.get('keep-alive')
    const [, seconds] = (hint !== undefined && /\btimeout=(\d{1,6})\b/i.exec(hint)) || []
    return seconds === undefined ? undefined : Number(seconds) * 1000
  }

  /** @throws HttpSyntaxError when it can be understood in two ways */
  get framing(): Framing {
    // Framing fields are checked even if the response has no body.
    const said = framingOf(this.fields, this.#minor)
    const hasNone = this.status < 200 || this.status === 204 || this.status === 304
    return hasNone ? { kind: 'length', bytes: 0 } : (said ?? { kind: 'close' })
  }
}

function notAStatusLine(line: string): HttpSyntaxError {
  if (!BEGINNING.test(line)) return new HttpSyntaxError('it does not begin as HTTP/1 does', 'NOT_HTTP')
  if (line.includes('\n')) return new HttpSyntaxError(BARE_LF)
  return new HttpSyntaxError('its first line is no status line of HTTP/1.0 or HTTP/1.1')
}

/** The error of a head whose lines end in LF alone. */
const BARE_LF = 'its head has a line that ends in LF alone, not in CRLF'
