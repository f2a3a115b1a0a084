// The head of a request.
//
// RFC 9112, sections 3, 5 and 6. Features that no client needs are refused: other
// methods, other versions, bodies that end with the connection. A client of
// HTTP/1.0 has one request on each connection.

import type { Duplex } from 'node:stream'
import { type Framing, framingOf, HeaderFields, HttpSyntaxError } from './grammar.js'
import { type BodySink, MessageReader } from './reader.js'

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

export interface RequestLimits {
  readonly headersBytesMax: number
  readonly headersMax: number
}

/** Reads one request after another. */
export function requestReader({ headersBytesMax, headersMax }: RequestLimits): MessageReader<RequestHead> {
  return new MessageReader({
    bytesMax: headersBytesMax,
    parse: (text) => new RequestHead(text, headersMax),
    skipsBlankLines: true,
    isOfRequests: true,
  })
}
