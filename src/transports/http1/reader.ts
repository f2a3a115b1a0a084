// Reads HTTP/1.1 messages from the bytes of one connection: the end of a head (RFC 9112, section 2.1), and
// the body (sections 6 and 7). Bodies are delivered in pieces as they arrive.

import { Buffer } from 'node:buffer'
import { CR, LF } from '../../jsonrpc/ascii.js'
import {
  type Framing,
  HttpSyntaxError,
  notHttp,
  readField,
  RequestHead,
  RESPONSE_BEGINNING,
  ResponseHead,
  TOKEN,
} from './head.js'

const HEAD_END = Buffer.from('\r\n\r\n')
const NOTHING = Buffer.alloc(0)
/** The limit of Node's own reader. */
const RESPONSE_HEAD_BYTES_MAX = 16 * 1024
const QUOTED = '"(?:[\\t\\x20!\\x23-\\x5b\\x5d-\\x7e\\x80-\\xff]|\\\\[\\t\\x20-\\x7e\\x80-\\xff])*"'
/** Accepts extensions as in RFC 9112, section 7.1.1, but no white space, which readers treat differently. */
const SIZE = new RegExp(`^([\\da-fA-F]{1,12})((?:;${TOKEN}(?:=(?:${TOKEN}|${QUOTED}))?)+)?$`)
/** A field after a body must not change how the message or the connection is read (RFC 9110, section 6.5.1). */
const NO_TRAILER =
  /^(?:connection|content-encoding|content-length|content-type|expect|host|keep-alive|proxy-connection|te|trailer|transfer-encoding|upgrade)$/i
/** The longest line between chunks: a size, in responses with extensions, or a trailer of a response. */
const LINE_BYTES_MAX = { requests: 64, responses: 8192 } as const

/** The receiver of a message: its head, then its body. */
export interface MessageSink<H> {
  /** `body` is the whole body if it belongs to a request and arrived with the head; otherwise it follows. */
  head(head: H, body: Buffer | undefined): void
  data(chunk: Buffer): void
}

interface HeadRules<H> {
  readonly of: 'requests' | 'responses'
  readonly bytesMax: number
  /** Returns undefined for a head that only announces another. @throws HttpSyntaxError if the text is no head */
  parse(text: string): H | undefined
}

export interface RequestLimits {
  readonly headersBytesMax: number
  readonly headersMax: number
}

/** Reads one request after another. A repeated head is parsed once, and is the same object. */
export function requestReader({ headersBytesMax, headersMax }: RequestLimits): MessageReader<RequestHead> {
  const parse = (text: string): RequestHead => new RequestHead(text, headersMax)
  return new MessageReader({ of: 'requests', bytesMax: headersBytesMax, parse })
}

export function responseReader(): MessageReader<ResponseHead> {
  return new MessageReader({ of: 'responses', bytesMax: RESPONSE_HEAD_BYTES_MAX, parse: finalResponse })
}

/** Returns undefined for a head that only announces another (RFC 9110, section 15.2). */
function finalResponse(text: string): ResponseHead | undefined {
  const head = new ResponseHead(text)
  if (head.status >= 200) return head
  if (head.status === 101 || !head.keepsAlive)
    throw new HttpSyntaxError('it switches to another protocol, which was not asked for')
  return undefined
}

/**
 * Reads one message after another. It ignores chunk extensions and trailers in responses (RFC 9112, section
 * 7.1). It refuses them in requests: no client sends them, and two readers may understand them differently.
 */
export class MessageReader<H extends { readonly framing: Framing }> {
  readonly #rules: HeadRules<H>
  /** The next part to read. `length` and `close` are bodies; `whole` waits for a call of `next`. */
  #part: 'head' | 'length' | 'close' | 'size' | 'chunk' | 'chunk-end' | 'end' | 'whole' = 'head'
  /** The beginning of an incomplete head or line. */
  #pending: Buffer = NOTHING
  /** The last head of a request, and its bytes. */
  #familiar: { readonly bytes: Buffer; readonly head: H } | undefined
  /** The missing bytes of the body or of the chunk. */
  #remainingBytes = 0

  constructor(rules: HeadRules<H>) {
    this.#rules = rules
  }

  /** Whether no byte of a message has arrived. */
  get isResting(): boolean {
    return this.#part === 'head' && this.#pending.length === 0
  }

  /** Whether the head is complete and the body is not. */
  get isInBody(): boolean {
    return this.#part !== 'head' && this.#part !== 'whole'
  }

  get isWhole(): boolean {
    return this.#part === 'whole'
  }

  /** Whether the end of the connection ends the message. */
  get endsWithConnection(): boolean {
    return this.#part === 'close'
  }

  /** Allows another message. */
  next(): void {
    this.#part = 'head'
  }

  /**
   * Reads a piece of the input, and returns the bytes that it did not read.
   *
   * @throws HttpSyntaxError if the bytes are no message, or an ambiguous one
   */
  take(bytes: Buffer, sink: MessageSink<H>): Buffer {
    switch (this.#part) {
      case 'head':
        return this.#takeHead(bytes, sink)
      case 'length':
      case 'chunk':
        return this.#takeData(bytes, sink)
      case 'close':
        sink.data(bytes)
        return NOTHING
      case 'size':
      case 'chunk-end':
      case 'end':
        return this.#takeLine(bytes)
      case 'whole':
        return this.#withoutEmptyLines(bytes)
    }
  }

  #takeHead(chunk: Buffer, sink: MessageSink<H>): Buffer {
    const { bytesMax } = this.#rules
    const pending = this.#pending.length
    const bytes = this.#withoutEmptyLines(pending === 0 ? chunk : Buffer.concat([this.#pending, chunk]))
    const end = bytes.indexOf(HEAD_END, Math.max(0, pending - HEAD_END.length))
    if (end > bytesMax || (end < 0 && bytes.length > bytesMax))
      throw new HttpSyntaxError(`its head is longer than ${bytesMax} bytes`, 'TOO_LONG')
    if (end < 0) {
      this.#refuseEndless(bytes)
      this.#pending = bytes
      return NOTHING
    }
    this.#pending = NOTHING
    const head = this.#parse(bytes, end)
    const rest = bytes.subarray(end + HEAD_END.length)
    return head === undefined ? rest : this.#begin(head, rest, sink)
  }

  /** Skips empty lines before a request: old clients end a body with one (RFC 9112, section 2.2). */
  #withoutEmptyLines(bytes: Buffer): Buffer {
    let at = 0
    if (this.#rules.of === 'requests') while (bytes[at] === CR && bytes[at + 1] === LF) at += 2
    return at === 0 ? bytes : bytes.subarray(at)
  }

  #begin(head: H, rest: Buffer, sink: MessageSink<H>): Buffer {
    const { framing } = head
    this.#remainingBytes = framing.kind === 'length' ? framing.bytes : 0
    const bytes = this.#remainingBytes
    const isAll = this.#rules.of === 'requests' && framing.kind === 'length' && bytes <= rest.length
    if (isAll || (framing.kind === 'length' && bytes === 0)) this.#part = 'whole'
    else this.#part = framing.kind === 'chunked' ? 'size' : framing.kind
    if (!isAll) {
      sink.head(head, undefined)
      return rest
    }
    const isLast = bytes === rest.length
    sink.head(head, isLast ? rest : rest.subarray(0, bytes))
    return isLast ? NOTHING : rest.subarray(bytes)
  }

  /** Parses the head in the first `length` bytes. */
  #parse(bytes: Buffer, length: number): H | undefined {
    const familiar = this.#familiar
    if (familiar?.bytes.length === length && bytes.compare(familiar.bytes, 0, length, 0, length) === 0)
      return familiar.head
    refuseBareLines(bytes.subarray(0, length))
    const head = this.#rules.parse(bytes.toString('latin1', 0, length))
    // Copied, because the chunk that contains it is much larger.
    if (this.#rules.of === 'requests' && head !== undefined)
      this.#familiar = { bytes: Buffer.from(bytes.subarray(0, length)), head }
    return head
  }

  /** Refuses input without an end: a server of another protocol, and lines that end in LF alone. */
  #refuseEndless(bytes: Buffer): void {
    const length = Math.min(bytes.length, RESPONSE_BEGINNING.length)
    const begins = bytes.toString('latin1', 0, length) === RESPONSE_BEGINNING.slice(0, length)
    if (this.#rules.of === 'responses' && !begins) throw notHttp()
    refuseBareLines(bytes)
  }

  #takeData(bytes: Buffer, sink: MessageSink<H>): Buffer {
    const isAll = bytes.length <= this.#remainingBytes
    const chunk = isAll ? bytes : bytes.subarray(0, this.#remainingBytes)
    this.#remainingBytes -= chunk.length
    if (this.#remainingBytes === 0) this.#part = this.#part === 'chunk' ? 'chunk-end' : 'whole'
    sink.data(chunk)
    return isAll ? NOTHING : bytes.subarray(chunk.length)
  }

  #takeLine(chunk: Buffer): Buffer {
    const at = chunk.indexOf(LF)
    const bytes = at < 0 ? chunk : chunk.subarray(0, at)
    if (this.#pending.length + bytes.length > LINE_BYTES_MAX[this.#rules.of])
      throw new HttpSyntaxError('a line between chunks is too long')
    const line = this.#pending.length === 0 ? bytes : Buffer.concat([this.#pending, bytes])
    this.#pending = at < 0 ? line : NOTHING
    if (at < 0) return NOTHING
    if (line[line.length - 1] !== CR) throw new HttpSyntaxError('a line of a chunk does not end in CRLF')
    const text = line.toString('latin1', 0, line.length - 1)
    if (this.#part === 'size') this.#takeSize(text)
    else if (text === '') this.#part = this.#part === 'end' ? 'whole' : 'size'
    else if (this.#part === 'chunk-end') throw new HttpSyntaxError('a chunk is longer than its size')
    else if (this.#rules.of === 'requests') throw new HttpSyntaxError('it has trailers')
    else if (NO_TRAILER.test(readField(text)[0]))
      throw new HttpSyntaxError('it has a trailer that must come before its body')
    return chunk.subarray(at + 1)
  }

  #takeSize(line: string): void {
    const [, size, extensions] = SIZE.exec(line) ?? []
    if (size === undefined || (extensions !== undefined && this.#rules.of === 'requests'))
      throw new HttpSyntaxError('the size of a chunk is no number')
    this.#remainingBytes = Number.parseInt(size, 16)
    this.#part = this.#remainingBytes === 0 ? 'end' : 'chunk'
  }
}

function refuseBareLines(head: Buffer): void {
  for (let at = head.indexOf(LF); at >= 0; at = head.indexOf(LF, at + 1))
    if (head[at - 1] !== CR)
      throw new HttpSyntaxError('its head has a line that ends in LF alone, not in CRLF')
}
