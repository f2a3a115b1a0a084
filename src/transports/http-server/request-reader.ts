// Requests out of the bytes of one connection (RFC 9112, sections 2 to 7).
//
// One at a time: what comes behind a request is left until it is asked for.

import { Buffer } from 'node:buffer'
import { CR, LF } from '../../jsonrpc/ascii.js'
import { BodyReader, type BodySink, HeadReader, type WholeHead } from '../http1/reader.js'
import { HttpSyntaxError } from '../http1/grammar.js'
import type { HttpServerLimits } from './limits.js'
import { RequestHead } from './request-head.js'

/** The events of a request, in this order. */
export interface RequestSink extends BodySink {
  /** `body` is all of it where it came with the head; otherwise it follows. */
  head(head: RequestHead, body: Buffer | undefined): void
}

/**
 * A head of this length is compared with the one before: a client says nearly the same with each request. An access token
 * has up to 8 KiB.
 */
const FAMILIAR_BYTES_MAX = 10_240

const NOTHING = Buffer.alloc(0)

export type RequestLimits = Pick<HttpServerLimits, 'headersBytesMax' | 'headersMax'>

/** Reads one request after another. */
export class RequestReader {
  readonly #limits: RequestLimits
  readonly #head: HeadReader
  readonly #body = new BodyReader()
  #state: 'head' | 'body' | 'whole' = 'head'
  /** The last head, and its bytes. */
  #familiar: { readonly bytes: Buffer; readonly head: RequestHead } | undefined

  constructor(limits: RequestLimits) {
    this.#limits = limits
    this.#head = new HeadReader(limits.headersBytesMax, true)
  }

  /** Whether nothing of a request has come. */
  get isResting(): boolean {
    return this.#state === 'head' && this.#head.pending.length === 0
  }

  /** Whether the head of a request has come, and not all of its body. */
  get isInBody(): boolean {
    return this.#state === 'body'
  }

  /** Whether a request has come whole. */
  get isWhole(): boolean {
    return this.#state === 'whole'
  }

  /** From now on there may be another request. */
  next(): void {
    this.#state = 'head'
  }

  /**
   * Takes a piece of the input, and returns the bytes that it did not take.
   *
   * @throws HttpSyntaxError when this is no request
   */
  take(bytes: Buffer, sink: RequestSink): Buffer {
    if (this.#state !== 'body') return this.#state === 'head' ? this.#takeHead(bytes, sink) : bytes
    const rest = this.#body.take(bytes, sink)
    if (this.#body.isOver) this.#state = 'whole'
    return rest
  }

  #takeHead(chunk: Buffer, sink: RequestSink): Buffer {
    const whole = this.#head.take(chunk)
    if (whole === undefined) {
      refuseBareLines(this.#head.pending)
      return NOTHING
    }
    const head = this.#read(whole)
    this.#body.begin(head.framing)
    const { framing } = head
    if (framing.kind !== 'length' || framing.bytes > whole.rest.length) {
      this.#state = 'body'
      sink.head(head, undefined)
      return whole.rest
    }
    this.#state = 'whole'
    const rest = whole.rest.subarray(framing.bytes)
    sink.head(head, rest.length === 0 ? whole.rest : whole.rest.subarray(0, framing.bytes))
    return rest
  }

  #read({ bytes, length }: WholeHead): RequestHead {
    const familiar = this.#familiar
    if (familiar?.bytes.length === length && bytes.compare(familiar.bytes, 0, length, 0, length) === 0)
      return familiar.head
    const head = new RequestHead(bytes.toString('latin1', 0, length), this.#limits.headersMax)
    // A copy, because the chunk that was read is much larger.
    if (length <= FAMILIAR_BYTES_MAX) this.#familiar = { bytes: Buffer.from(bytes.subarray(0, length)), head }
    return head
  }
}

/** A head with lines that end in LF alone may have no end. */
function refuseBareLines(head: Buffer): void {
  for (let at = head.indexOf(LF); at >= 0; at = head.indexOf(LF, at + 1))
    if (head[at - 1] !== CR) throw new HttpSyntaxError('a line of its head does not end in CRLF')
}
