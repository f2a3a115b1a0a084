// Messages of HTTP/1.1 out of the bytes of one connection: where a head ends (RFC 9112, section 2.1), and its body (sections 6
// and 7). Bodies are handed on as they come.

import { Buffer } from 'node:buffer'
import { CR, LF } from '../../jsonrpc/ascii.js'
import { HttpSyntaxError, TOKEN, mayTrail, notHttp, type Framing, readField } from './grammar.js'

const HEAD_END = Buffer.from('\r\n\r\n')
/** More than a client sends by mistake. */
const BLANK_LINES_MAX = 100

/**
 * A head of this length is compared with the one before: a client says nearly the same with each request. An access token
 * has up to 8 KiB.
 */
const FAMILIAR_BYTES_MAX = 10_240

const NOTHING = Buffer.alloc(0)

/** The receiver of a message: its head, then its body. */
export interface MessageSink<H> extends BodySink {
  /** `body` is all of it where it came with the head and is wanted so; otherwise it follows. */
  head(head: H, body: Buffer | undefined): void
}

/** How the heads on a connection are read. */
export interface HeadRules<H> {
  readonly bytesMax: number
  /** Undefined for a head that only says that another follows. @throws HttpSyntaxError when the text is no head */
  parse(text: string): H | undefined
  /** The first characters of each head; a peer of another protocol may never send the end of one. */
  readonly beginning?: string
  /** Some clients send an empty line behind a body (RFC 9112, section 2.2), and no server does. */
  readonly skipsBlankLines?: boolean
  /** A body that has come with its head is handed on with it, and a head that comes again is parsed once. */
  readonly isOfRequests?: boolean
}

/** Reads one message after another. */
export class MessageReader<H extends { readonly framing: Framing }> {
  readonly #rules: HeadRules<H>
  readonly #head: HeadReader
  readonly #body = new BodyReader()
  #state: 'head' | 'body' | 'whole' = 'head'
  /** The last head, and its bytes. */
  #familiar: { readonly bytes: Buffer; readonly head: H } | undefined

  constructor(rules: HeadRules<H>) {
    this.#rules = rules
    this.#head = new HeadReader(rules.bytesMax, rules)
  }

  /** Whether nothing of a message has come. */
  get isResting(): boolean {
    return this.#state === 'head' && this.#head.isResting
  }

  /** Whether the head of a message has come, and not all of its body. */
  get isInBody(): boolean {
    return this.#state === 'body'
  }

  /** Whether a message has come whole. */
  get isWhole(): boolean {
    return this.#state === 'whole'
  }

  /** Whether the message ends where its connection does. */
  get endsWithConnection(): boolean {
    return this.#state === 'body' && this.#body.endsWithConnection
  }

  /** From now on there may be another message. */
  next(): void {
    this.#state = 'head'
  }

  /**
   * Takes a piece of the input, and returns the bytes that it did not take.
   *
   * @throws HttpSyntaxError when this is no message, or one that two readers could understand in two ways
   */
  take(bytes: Buffer, sink: MessageSink<H>): Buffer {
    if (this.#state === 'whole') return bytes
    if (this.#state === 'head') return this.#takeHead(bytes, sink)
    const rest = this.#body.take(bytes, sink)
    if (this.#body.isOver) this.#state = 'whole'
    return rest
  }

  #takeHead(chunk: Buffer, sink: MessageSink<H>): Buffer {
    const whole = this.#head.take(chunk)
    if (whole === undefined) return NOTHING
    const { rest } = whole
    const head = this.#parse(whole)
    if (head === undefined) return rest
    const { framing } = head
    this.#body.begin(framing)
    this.#state = this.#body.isOver ? 'whole' : 'body'
    if (!this.#rules.isOfRequests || framing.kind !== 'length' || framing.bytes > rest.length) {
      sink.head(head, undefined)
      return rest
    }
    this.#state = 'whole'
    const isAll = framing.bytes === rest.length
    sink.head(head, isAll ? rest : rest.subarray(0, framing.bytes))
    return isAll ? NOTHING : rest.subarray(framing.bytes)
  }

  #parse({ bytes, length }: WholeHead): H | undefined {
    const familiar = this.#familiar
    if (familiar?.bytes.length === length && bytes.compare(familiar.bytes, 0, length, 0, length) === 0)
      return familiar.head
    refuseBareLines(bytes.subarray(0, length))
    const head = this.#rules.parse(bytes.toString('latin1', 0, length))
    // A copy, because the chunk that was read is much larger.
    if (this.#rules.isOfRequests && head !== undefined && length <= FAMILIAR_BYTES_MAX)
      this.#familiar = { bytes: Buffer.from(bytes.subarray(0, length)), head }
    return head
  }
}

/** A head that has come whole: the first `length` of the bytes, without the empty line behind it. */
export interface WholeHead {
  readonly bytes: Buffer
  readonly length: number
  /** The bytes behind it. */
  readonly rest: Buffer
}

/** Gathers one head after another. */
export class HeadReader {
  readonly #bytesMax: number
  readonly #rules: Pick<HeadRules<unknown>, 'beginning' | 'skipsBlankLines'>
  #pending: Buffer = NOTHING
  /** Before the head that is to come. */
  #blankLines = 0

  constructor(bytesMax: number, rules: Pick<HeadRules<unknown>, 'beginning' | 'skipsBlankLines'> = {}) {
    this.#bytesMax = bytesMax
    this.#rules = rules
  }

  get isResting(): boolean {
    return this.#pending.length === 0
  }

  /**
   * Takes all bytes; undefined while the end of the head is not among them.
   *
   * @throws HttpSyntaxError when it is too long, or cannot become a head
   */
  take(chunk: Buffer): WholeHead | undefined {
    const pending = this.#pending.length
    const joined = pending === 0 ? chunk : Buffer.concat([this.#pending, chunk])
    const bytes = this.#rules.skipsBlankLines ? this.#withoutBlankLines(joined) : joined
    const end = bytes.indexOf(HEAD_END, Math.max(0, pending - HEAD_END.length))
    if (end > this.#bytesMax || (end < 0 && bytes.length > this.#bytesMax))
      throw new HttpSyntaxError(`its head is longer than ${this.#bytesMax} bytes`, 'TOO_LONG')
    if (end >= 0) this.#blankLines = 0
    else this.#refuseEndless(bytes)
    this.#pending = end < 0 && bytes.length > 0 ? bytes : NOTHING
    return end < 0 ? undefined : { bytes, length: end, rest: bytes.subarray(end + HEAD_END.length) }
  }

  /** Refuses what may have no end: another protocol, and lines that end in LF alone. */
  #refuseEndless(bytes: Buffer): void {
    const { beginning = '' } = this.#rules
    const length = Math.min(bytes.length, beginning.length)
    if (bytes.toString('latin1', 0, length) !== beginning.slice(0, length)) throw notHttp()
    refuseBareLines(bytes)
  }

  #withoutBlankLines(bytes: Buffer): Buffer {
    let at = 0
    while (bytes[at] === CR && bytes[at + 1] === LF) {
      if (++this.#blankLines > BLANK_LINES_MAX) throw new HttpSyntaxError('it has many empty lines before it')
      at += 2
    }
    return at === 0 ? bytes : bytes.subarray(at)
  }
}

function refuseBareLines(head: Buffer): void {
  for (let at = head.indexOf(LF); at >= 0; at = head.indexOf(LF, at + 1))
    if (head[at - 1] !== CR)
      throw new HttpSyntaxError('its head has a line that ends in LF alone, not in CRLF')
}

/** The size of a chunk with its extensions, or one trailer. */
const LINE_BYTES_MAX = 4 * 1024
const TRAILERS_MAX = 100
/** The limit of extensions and trailers of a message, which are not used. */
const ASIDE_BYTES_MAX = 16 * 1024

const QUOTED = '"(?:[\\t\\x20!\\x23-\\x5b\\x5d-\\x7e\\x80-\\xff]|\\\\[\\t\\x20-\\x7e\\x80-\\xff])*"'
/** With extensions as RFC 9112, section 7.1.1 writes them, and without white space, which others read in their ways. */
const SIZE = new RegExp(`^([\\da-fA-F]{1,12})(?:;${TOKEN}(?:=(?:${TOKEN}|${QUOTED}))?)*$`)

type Part = 'length' | 'close' | 'size' | 'chunk' | 'chunk-end' | 'trailers' | 'over'

/** The receiver of a body, piece by piece. */
export interface BodySink {
  data(chunk: Buffer): void
}

/** Reads one body after another. Trailers are read, for they may not be nonsense, and dropped. */
class BodyReader {
  #part: Part = 'over'
  #leftBytes = 0
  /** The beginning of a line whose end has not come. */
  #pending: Buffer = NOTHING
  #trailers = 0
  /** Of extensions and trailers. */
  #asideBytes = 0

  begin(framing: Framing): void {
    this.#trailers = 0
    this.#asideBytes = 0
    this.#leftBytes = framing.kind === 'length' ? framing.bytes : 0
    if (framing.kind === 'chunked') this.#part = 'size'
    else this.#part = framing.kind === 'length' && framing.bytes === 0 ? 'over' : framing.kind
  }

  get isOver(): boolean {
    return this.#part === 'over'
  }

  /** Whether it ends where its connection does. */
  get endsWithConnection(): boolean {
    return this.#part === 'close'
  }

  /**
   * Takes a piece of the input, and returns the bytes that it did not take.
   *
   * @throws HttpSyntaxError when chunks are not what they should be
   */
  take(bytes: Buffer, sink: BodySink): Buffer {
    switch (this.#part) {
      case 'length':
      case 'chunk':
        return this.#takeData(bytes, sink)
      case 'close':
        sink.data(bytes)
        return NOTHING
      case 'size':
      case 'chunk-end':
      case 'trailers':
        return this.#takeLine(bytes)
      case 'over':
        return bytes
    }
  }

  #takeData(bytes: Buffer, sink: BodySink): Buffer {
    const isAll = bytes.length <= this.#leftBytes
    const chunk = isAll ? bytes : bytes.subarray(0, this.#leftBytes)
    this.#leftBytes -= chunk.length
    if (this.#leftBytes === 0) this.#part = this.#part === 'chunk' ? 'chunk-end' : 'over'
    sink.data(chunk)
    return isAll ? NOTHING : bytes.subarray(chunk.length)
  }

  #takeLine(chunk: Buffer): Buffer {
    const at = chunk.indexOf(LF)
    const bytes = at < 0 ? chunk : chunk.subarray(0, at)
    if (this.#pending.length + bytes.length > LINE_BYTES_MAX)
      throw new HttpSyntaxError('the size of a chunk, or a trailer, is too long')
    const line = this.#pending.length === 0 ? bytes : Buffer.concat([this.#pending, bytes])
    this.#pending = at < 0 ? line : NOTHING
    if (at < 0) return NOTHING
    if (line[line.length - 1] !== CR) throw new HttpSyntaxError('a line of a chunk does not end in CRLF')
    this.#hasLine(line.toString('latin1', 0, line.length - 1))
    return chunk.subarray(at + 1)
  }

  #hasLine(line: string): void {
    if (this.#part === 'size') this.#hasSize(line)
    else if (this.#part === 'chunk-end') {
      if (line !== '') throw new HttpSyntaxError('a chunk is longer than its size')
      this.#part = 'size'
    } else if (line === '') this.#part = 'over'
    else this.#hasTrailer(line)
  }

  #hasTrailer(line: string): void {
    if (++this.#trailers > TRAILERS_MAX) throw new HttpSyntaxError('it has too many trailers')
    if (!mayTrail(readField(line)[0]))
      throw new HttpSyntaxError('it has a trailer that must come before its body')
    this.#hasAside(line.length)
  }

  #hasAside(bytes: number): void {
    this.#asideBytes += bytes
    if (this.#asideBytes > ASIDE_BYTES_MAX)
      throw new HttpSyntaxError(`its chunks say more than ${ASIDE_BYTES_MAX} bytes besides the data`)
  }

  #hasSize(line: string): void {
    const [, size] = SIZE.exec(line) ?? []
    if (size === undefined) throw new HttpSyntaxError('the size of a chunk is no number')
    this.#hasAside(line.length - size.length)
    this.#leftBytes = Number.parseInt(size, 16)
    this.#part = this.#leftBytes === 0 ? 'trailers' : 'chunk'
  }
}
