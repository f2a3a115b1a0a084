// The head of a response (RFC 9112, sections 4, 5 and 6).

import { HttpSyntaxError, type Framing, framingOf, HeaderFields, notHttp } from './grammar.js'
import { MessageReader } from './reader.js'

/** As much as Node's own reader takes. */
const HEAD_BYTES_MAX = 16 * 1024

/** Of responses that only say that another will come (RFC 9110, section 15.2); one every few seconds is a server at work. */
const INTERIM_MAX = 1000

/** Reads one response after another. */
export function responseReader(): MessageReader<ResponseHead> {
  let interim = 0
  const parse = (text: string): ResponseHead | undefined => {
    const head = new ResponseHead(text)
    interim = head.status < 200 ? interim + 1 : 0
    if (interim === 0) return head
    if (head.status === 101)
      throw new HttpSyntaxError('it switches to another protocol, which was not asked for')
    if (!head.keepsAlive) throw new HttpSyntaxError('it ends its connection with an interim response')
    if (interim > INTERIM_MAX)
      throw new HttpSyntaxError(`it has more than ${INTERIM_MAX} interim responses before it`)
    return undefined
  }
  return new MessageReader({ bytesMax: HEAD_BYTES_MAX, parse, beginning: 'HTTP/1.' })
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
  readonly fields: HeaderFields
  readonly framing: Framing
  /** Whether the connection may carry another request after this response. */
  readonly keepsAlive: boolean

  /** @throws HttpSyntaxError when it is none */
  constructor(text: string) {
    const lines = text.split('\r\n')
    const [, minor, status] = STATUS_LINE.exec(lines[0] ?? '') ?? []
    if (minor === undefined) throw notAStatusLine(lines[0] ?? '')
    this.status = Number(status)
    this.fields = new HeaderFields(lines)
    // Framing fields are checked even if the response has no body.
    const framing = framingOf(this.fields, minor)
    const hasNone = this.status < 200 || this.status === 204 || this.status === 304
    this.framing = hasNone ? { kind: 'length', bytes: 0 } : (framing ?? { kind: 'close' })
    this.keepsAlive = this.framing.kind !== 'close' && this.fields.keepsAlive(minor)
  }

  /** How long the server keeps a connection that rests; undefined when it does not say. */
  get restMs(): number | undefined {
    const hint = this.fields.get('keep-alive')
    const [, seconds] = (hint !== undefined && /\btimeout=(\d{1,6})\b/i.exec(hint)) || []
    return seconds === undefined ? undefined : Number(seconds) * 1000
  }
}

function notAStatusLine(line: string): HttpSyntaxError {
  if (!BEGINNING.test(line)) return notHttp()
  return new HttpSyntaxError('its first line is no status line of HTTP/1.0 or HTTP/1.1')
}
