// The head of a response, read as strictly as an intermediary must.
//
// RFC 9112, sections 4, 5 and 6. A head that two readers could understand in two ways is
// refused: both a length and a transfer coding, two lengths, a coding that the request did not
// allow, a space before a colon, a line that ends in LF alone or continues in the next.

import { type Framing, framingOf, HeaderFields, HttpSyntaxError } from '../http1/grammar.js'

const BEGINNING = /^HTTP\/\d/
const STATUS_LINE = /^HTTP\/1\.([01]) ([1-9]\d\d)(?: [\t\x20-\x7e\x80-\xff]*)?$/

/** Its status and its fields. */
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
export const BARE_LF = 'its head has a line that ends in LF alone, not in CRLF'
