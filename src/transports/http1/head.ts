// The heads of HTTP/1.1 messages: first line, header fields, and the framing of the body (RFC 9110, RFC
// 9112).
//
// A head that two readers could understand in two ways is refused: two lengths, a length and a transfer
// coding, a space before a colon, a continued line, a control character. All values of a field are kept, so
// the code uses the same value that it checks.

/** The bytes are no message, or an ambiguous one. No later byte on the connection can be trusted. */
export class HttpSyntaxError extends Error {
  readonly code: 'NOT_HTTP' | 'BAD_HTTP' | 'TOO_LONG'

  constructor(message: string, code: 'NOT_HTTP' | 'BAD_HTTP' | 'TOO_LONG' = 'BAD_HTTP') {
    super(message)
    this.code = code
  }
}

export function notHttp(): HttpSyntaxError {
  return new HttpSyntaxError('it does not begin as HTTP/1 does', 'NOT_HTTP')
}

// Header fields (RFC 9110, sections 5.1 and 5.5; RFC 9112, section 5).

export const TOKEN = "[!#$%&'*+.^_`|~0-9A-Za-z-]+"

const NAME = new RegExp(`^${TOKEN}$`)
/** Spaces and tabs around a value do not belong to it; other white space does. */
const FIELD = new RegExp(`^(${TOKEN}):[ \\t]*(.*)$`, 's')
/** Matches bytes that would end the field, and characters that no byte can represent. */
const BAD_VALUE = /[^\t\x20-\x7e\x80-\xff]/
const FRAMING = /^(?:content-length|transfer-encoding)$/i

/** Writes the line of a field. @throws TypeError if the field contains a line end, or cannot be written */
export function fieldLine(name: string, value: string): string {
  if (!NAME.test(name)) throw new TypeError(`'${name}' is no name of a header`)
  if (BAD_VALUE.test(value)) throw new TypeError(`the header ${name} has characters that cannot be sent`)
  return `${name}: ${value}\r\n`
}

/** Reads the name (as sent) and the value of a field. @throws HttpSyntaxError if the line is not a field */
export function readField(line: string): readonly [name: string, value: string] {
  const [, name, text] = FIELD.exec(line) ?? []
  if (name === undefined || text === undefined)
    throw new HttpSyntaxError('its head has a line that is no field')
  let end = text.length
  while (end > 0 && (text[end - 1] === ' ' || text[end - 1] === '\t')) end--
  const value = text.slice(0, end)
  if (BAD_VALUE.test(value)) throw new HttpSyntaxError(`its field ${name} has control characters`)
  // Many readers do not treat a tab as white space.
  if (line.includes('\t') && FRAMING.test(name)) throw new HttpSyntaxError(`its field ${name} has a tab`)
  return [name, value]
}

/** The fields of one message, by name in lower case. */
export class HeaderFields {
  /** A message has a dozen fields, so searching a list is faster than building a map. */
  readonly names: string[] = []
  readonly values: string[] = []

  /** Reads the lines after the first line of a head. @throws HttpSyntaxError if a line is not a field */
  constructor(lines: readonly string[]) {
    for (let at = 1; at < lines.length; at++) {
      const [name, value] = readField(lines[at] ?? '')
      this.names.push(name.toLowerCase())
      this.values.push(value)
    }
  }

  /** The first value of the field. */
  get(name: string): string | undefined {
    const index = this.names.indexOf(name)
    return index < 0 ? undefined : this.values[index]
  }

  all(name: string): readonly string[] {
    return this.values.filter((_, at) => this.names[at] === name)
  }

  /** Whether the sender sends no further message on the connection (RFC 9112, section 9.6). */
  get closes(): boolean {
    return this.all('connection').some((list) => /(?:^|,)[ \t]*close[ \t]*(?:,|$)/i.test(list))
  }
}

/** How a body ends (RFC 9112, section 6.3): by its length, by its last chunk, or with its connection. */
export type Framing =
  { readonly kind: 'length'; readonly bytes: number } | { readonly kind: 'chunked' | 'close' }

const NO_BODY: Framing = { kind: 'length', bytes: 0 }
const LENGTH = /^\d{1,15}$/

/**
 * The framing that the fields of an HTTP/1.`minor` message declare; undefined without one.
 *
 * @throws HttpSyntaxError if the framing is ambiguous
 */
function framingOf(fields: HeaderFields, minor: string): Framing | undefined {
  const codings = fields.all('transfer-encoding')
  const [length, ...lengths] = fields.all('content-length')
  if (codings.length > 0) {
    if (length !== undefined)
      throw new HttpSyntaxError('it has both a Content-Length and a Transfer-Encoding')
    if (codings.length > 1 || codings[0]?.toLowerCase() !== 'chunked' || minor === '0')
      throw new HttpSyntaxError('it has a Transfer-Encoding that was not asked for')
    return { kind: 'chunked' }
  }
  if (length === undefined) return undefined
  if (lengths.length > 0 || !LENGTH.test(length)) throw new HttpSyntaxError('its Content-Length is no length')
  return { kind: 'length', bytes: Number(length) }
}

// Requests. The proxy refuses features that no client needs: other methods, other versions, and bodies that
// end with the connection. With HTTP/1.0, each connection carries one request.

const METHOD = '(GET|HEAD|POST|PUT|DELETE|OPTIONS|TRACE|PATCH)'
/** The characters of RFC 3986, section 3.2, that no reader treats as the end of the authority. */
const AUTHORITY = "[\\w.~!$&'()*+,;=:%@[\\]-]+"
/** A path, a whole URL, or the server itself (RFC 9112, section 3.2). */
const TARGET = `(/[\\x21-\\x7e]*|https?://${AUTHORITY}(?:[/?][\\x21-\\x7e]*)?|\\*)`
const REQUEST_LINE = new RegExp(`^${METHOD} ${TARGET} HTTP/1\\.([01])$`)

/** Fields that decide permissions, or how a message is read. They may appear only once. */
const ONCE =
  /^(?:authorization|content-(?:encoding|length|type)|host|last-event-id|mcp-.*|origin|sec-fetch-site|transfer-encoding)$/

/** The request line and the fields. They never change, so equal bytes may share one head. */
export class RequestHead {
  readonly method: string
  /** The target as sent: a path, or a whole URL. */
  readonly target: string
  readonly version: '1.0' | '1.1'
  readonly framing: Framing
  /** Whether the client may send another request on the connection. */
  readonly keepsAlive: boolean
  readonly fields: HeaderFields

  /** @throws HttpSyntaxError if the text is no request head, or an ambiguous one */
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
    this.keepsAlive = minor === '1' && !this.fields.closes
  }

  /** The `Expect` field; HTTP/1.0 has none (RFC 9110, section 10.1.1). */
  get expectation(): string | undefined {
    return this.version === '1.0' ? undefined : this.fields.get('expect')
  }

  /** The name of a repeated field that may appear only once. */
  get repeated(): string | undefined {
    const { names } = this.fields
    return names.find((name, at) => names.indexOf(name, at + 1) >= 0 && ONCE.test(name))
  }
}

// Responses.

export const RESPONSE_BEGINNING = 'HTTP/1.'
const STATUS_LINE = /^HTTP\/1\.([01]) ([1-9]\d\d)(?: [\t\x20-\x7e\x80-\xff]*)?$/

export class ResponseHead {
  readonly status: number
  readonly fields: HeaderFields
  readonly framing: Framing
  /** Whether the connection may carry another request after this response. */
  readonly keepsAlive: boolean

  /** @throws HttpSyntaxError if the text is no response head, or an ambiguous one */
  constructor(text: string) {
    const lines = text.split('\r\n')
    const [line = ''] = lines
    const [, minor, status] = STATUS_LINE.exec(line) ?? []
    if (minor === undefined && !/^HTTP\/\d/.test(line)) throw notHttp()
    if (minor === undefined)
      throw new HttpSyntaxError('its first line is no status line of HTTP/1.0 or HTTP/1.1')
    this.status = Number(status)
    this.fields = new HeaderFields(lines)
    // Framing fields are checked even if the response has no body.
    const framing = framingOf(this.fields, minor) ?? { kind: 'close' }
    this.framing = this.status < 200 || this.status === 204 || this.status === 304 ? NO_BODY : framing
    this.keepsAlive = minor === '1' && this.framing.kind !== 'close' && !this.fields.closes
  }
}
