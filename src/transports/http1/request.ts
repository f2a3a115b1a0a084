// The head of a request.
//
// RFC 9112, sections 3, 5 and 6. Features that no client needs are refused: other
// methods, other versions, bodies that end with the connection. A client of
// HTTP/1.0 has one request on each connection.

import { Buffer } from 'node:buffer'
import type { Duplex } from 'node:stream'
import { CR, LF } from '../../jsonrpc/ascii.js'
import { type Framing, framingOf, HeaderFields, HttpSyntaxError } from './grammar.js'
import { type BodySink, BodyReader, HeadReader, type WholeHead } from './reader.js'

/** Fields that decide who may do what, or how a message is read: they may come only once. */
const once: ReadonlySet<string> = new Set([
  'authorization',
  'content-encoding',
  'content-length',
  'content-type',
  'host',
  'last-event-id',
  'origin',
  'sec-fetch-site',
  'transfer-encoding',
])

function isOnce(name: string): boolean {
  return once.has(name) || name.startsWith('mcp-')
}

const METHOD = '(GET|HEAD|POST|PUT|DELETE|OPTIONS|TRACE|PATCH)'
/** Of what may stand there by RFC 3986, section 3.2, what no reader takes for the end of it. */
const AUTHORITY = "[\\w.~!$&'()*+,;=:%@[\\]-]+"
/** A path, a whole URL, or the server itself (RFC 9112, section 3.2). */
const TARGET = `(/[\\x21-\\x7e]*|https?://${AUTHORITY}(?:[/?][\\x21-\\x7e]*)?|\\*)`
const REQUEST_LINE = new RegExp(`^${METHOD} ${TARGET} HTTP/1\\.([01])$`)

const NO_BODY: Framing = { kind: 'length', bytes: 0 }

/** The request line and the fields. They never change, so equal bytes may share one head. */
export class RequestHead {
  readonly method: string
  /** As it was sent: a path, or a whole URL. */
  readonly target: string
  readonly version: '1.0' | '1.1'
  readonly framing: Framing
  /** Whether the client may send another request on the connection. */
  readonly keepsAlive: boolean
  /** By their names in lower case. */
  readonly fields: HeaderFields

  /** @throws HttpSyntaxError when it is none, or could be understood in two ways */
  constructor(text: string, fieldsMax: number) {
    const lines = text.split('\r\n')
    const [, method, target, minor] = REQUEST_LINE.exec(lines[0] ?? '') ?? []
    if (method === undefined || target === undefined || minor === undefined)
      throw new HttpSyntaxError('it does not begin as a request does', 'NOT_HTTP')
    if (lines.length - 1 > fieldsMax)
      throw new HttpSyntaxError(`it has more than ${fieldsMax} header fields`, 'TOO_LONG')
    this.fields = new HeaderFields(lines)
    this.method = method
    this.target = target
    this.version = minor === '0' ? '1.0' : '1.1'
    this.framing = framingOf(this.fields, minor) ?? NO_BODY
    this.keepsAlive = minor === '1' && this.fields.keepsAlive(minor)
  }

  /** The first value of this field, whose name is in lower case. */
  get(name: string): string | undefined {
    return this.fields.get(name)
  }

  /** Every value of a field that is a list. */
  list(name: string): string {
    return this.fields.list(name)
  }

  /** The `Expect` field; HTTP/1.0 has none (RFC 9110, section 10.1.1). */
  get expectation(): string | undefined {
    return this.version === '1.0' ? undefined : this.fields.get('expect')
  }

  /** The name of a field that may come only once and came more often. */
  get repeated(): string | undefined {
    return this.fields.repeated(isOnce)
  }
}

/** A connection as a listening server gives it; what is missing is not asked for. */
export type FrontSocket = Duplex & {
  readonly remoteAddress?: string | undefined
  setTimeout?(ms: number): unknown
}

/** The reader of a body in pieces; `end` or `gone` is called once. */
export interface RequestBodySink extends BodySink {
  end(): void
  /** There will be no end. */
  gone(): void
}

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

export interface RequestLimits {
  readonly headersBytesMax: number
  readonly headersMax: number
}

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
