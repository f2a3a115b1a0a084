// The grammar of HTTP/1.1: header fields, and how the end of a body is found (RFC 9110, RFC 9112).
//
// The grammar is as strict as a program between two others needs it. A message that two readers could understand in two
// ways is refused: a space before a colon, a line that goes on in the next, a control character. All values of a field
// are kept, so that the value that is checked and the value that is used are the same.

/** Bytes that are no message, or one that two readers could understand in two ways; nothing behind it on its connection can be trusted. */
export class HttpSyntaxError extends Error {
  readonly code: 'NOT_HTTP' | 'BAD_HTTP' | 'TOO_LONG'

  constructor(message: string, code: 'NOT_HTTP' | 'BAD_HTTP' | 'TOO_LONG' = 'BAD_HTTP') {
    super(message)
    this.code = code
  }
}

/** The error of bytes that are another protocol. */
export function notHttp(): HttpSyntaxError {
  return new HttpSyntaxError('it does not begin as HTTP/1 does', 'NOT_HTTP')
}

// The syntax of header fields (RFC 9110, sections 5.1 and 5.5).

/** As a part of a regular expression. */
export const TOKEN = "[!#$%&'*+.^_`|~0-9A-Za-z-]+"

const NAME = new RegExp(`^${TOKEN}$`)
const FRAMING = /^(?:content-length|transfer-encoding)$/i
const NO_TRAILER =
  /^(?:connection|content-encoding|content-length|content-type|expect|host|keep-alive|proxy-connection|te|trailer|transfer-encoding|upgrade)$/i
const BAD_VALUE = /[^\t\x20-\x7e\x80-\xff]/

/** Whether it has nothing in it that would end the field, or that no byte can carry. */
function isFieldValue(text: string): boolean {
  return !BAD_VALUE.test(text)
}

/** Whether it says where a body ends; `name` in any case. */
function isFraming(name: string): boolean {
  return FRAMING.test(name)
}

/** Whether it may stand behind a body: it says nothing of how the message or the connection is read (RFC 9110, section 6.5.1). */
export function mayTrail(name: string): boolean {
  return !NO_TRAILER.test(name)
}

/** The line of a field, with its line end. @throws TypeError when it would end early, or cannot be written */
export function fieldLine(name: string, value: string): string {
  if (!NAME.test(name)) throw new TypeError(`'${name}' is no name of a header`)
  if (!isFieldValue(value)) throw new TypeError(`the header ${name} has characters that cannot be sent`)
  return `${name}: ${value}\r\n`
}

// The header fields of one message (RFC 9112, section 5).

/** Spaces and tabs around a value are no part of it; other white space is. */
const FIELD = new RegExp(`^(${TOKEN}):[ \\t]*(.*)$`, 's')

/** Fields by their names in lower case. */
export class HeaderFields {
  /** A message has a dozen fields: to walk through a list of them is faster than to make a map. */
  readonly #names: string[] = []
  readonly #values: string[] = []

  /**
   * Reads what stands behind the first line of a head.
   *
   * @throws HttpSyntaxError when any line is no field
   */
  constructor(lines: readonly string[]) {
    for (let at = 1; at < lines.length; at++) {
      const [name, value] = readField(lines[at] ?? '')
      this.#names.push(name.toLowerCase())
      this.#values.push(value)
    }
  }

  /** Names and values, as they came. */
  *[Symbol.iterator](): IterableIterator<readonly [name: string, value: string]> {
    for (const [index, name] of this.#names.entries()) yield [name, this.#values[index] ?? '']
  }

  /** The first value. */
  get(name: string): string | undefined {
    const index = this.#names.indexOf(name)
    return index < 0 ? undefined : this.#values[index]
  }

  /** Every value. */
  all(name: string): readonly string[] {
    const names = this.#names
    const values: string[] = []
    for (let at = names.indexOf(name); at >= 0; at = names.indexOf(name, at + 1))
      values.push(this.#values[at] ?? '')
    return values
  }

  /** Every value of a field that is a list. */
  list(name: string): string {
    return this.all(name).join(', ')
  }

  /** The name of a field of this kind that came more than once. */
  repeated(isOnce: (name: string) => boolean): string | undefined {
    const names = this.#names
    return names.find((name, i) => names.indexOf(name, i + 1) >= 0 && isOnce(name))
  }

  /** Whether the connection may carry another message of this sender, whose version is HTTP/1.`minor`. */
  keepsAlive(minor: string): boolean {
    const said = this.list('connection').toLowerCase()
    if (said === '') return minor === '1'
    const options = said.split(',').map((option) => option.trim())
    return !options.includes('close') && (minor === '1' || options.includes('keep-alive'))
  }
}

/**
 * The name, as it was sent, and the value of a field.
 *
 * @throws HttpSyntaxError when the line is none
 */
export function readField(line: string): readonly [name: string, value: string] {
  const [, name, text] = FIELD.exec(line) ?? []
  if (name === undefined || text === undefined)
    throw new HttpSyntaxError('its head has a line that is no field')
  let end = text.length
  while (end > 0 && (text[end - 1] === ' ' || text[end - 1] === '\t')) end--
  const value = text.slice(0, end)
  if (!isFieldValue(value)) throw new HttpSyntaxError(`its field ${name} has control characters`)
  // White space that many readers do not take for any.
  if (line.includes('\t') && isFraming(name)) throw new HttpSyntaxError(`its field ${name} has a tab`)
  return [name, value]
}

// How the end of a body is found (RFC 9112, section 6.3).

/** By its length, by its last chunk, or by the end of its connection. */
export type Framing =
  { readonly kind: 'length'; readonly bytes: number } | { readonly kind: 'chunked' | 'close' }

const LENGTH = /^\d{1,15}$/

/**
 * The framing that the head of an HTTP/1.`minor` message declares; undefined when it declares none.
 *
 * @throws HttpSyntaxError when it can be understood in two ways
 */
export function framingOf(fields: HeaderFields, minor: string): Framing | undefined {
  const codings = fields.all('transfer-encoding')
  const lengths = fields.all('content-length')
  if (codings.length > 0) return coded(codings, lengths, minor)
  const [length] = lengths
  if (length === undefined) return undefined
  if (lengths.length > 1 || !LENGTH.test(length)) throw new HttpSyntaxError('its Content-Length is no length')
  return { kind: 'length', bytes: Number(length) }
}

function coded(codings: readonly string[], lengths: readonly string[], minor: string): Framing {
  if (lengths.length > 0) throw new HttpSyntaxError('it has both a Content-Length and a Transfer-Encoding')
  if (codings.length > 1 || codings[0]?.toLowerCase() !== 'chunked' || minor === '0')
    throw new HttpSyntaxError('it has a Transfer-Encoding that was not asked for')
  return { kind: 'chunked' }
}
