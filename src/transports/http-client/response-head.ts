// The head of a response, read as strictly as whoever stands between two others must.
//
// RFC 9112, sections 4, 5 and 6. What two readers could understand in two ways is
// refused: both a length and a transfer coding, two lengths, a coding that nobody
// asked for, a space before a colon, a line that ends in LF alone or goes on in the next.

import { isFieldName, isFieldValue } from './field-syntax.js'

/** A response that cannot be read; nothing behind it on its connection can be trusted. */
export class ResponseError extends Error {
  readonly code: 'NOT_HTTP' | 'BAD_HTTP'

  constructor(message: string, code: 'NOT_HTTP' | 'BAD_HTTP' = 'BAD_HTTP') {
    super(message)
    this.code = code
  }
}

/** How the end of a body is found. */
export type Framing =
  { readonly kind: 'length'; readonly bytes: number } | { readonly kind: 'chunked' | 'close' }

const STATUS_LINE = /^HTTP\/1\.([01]) ([1-9]\d\d)(?: [\t\x20-\x7e\x80-\xff]*)?$/
const LENGTH = /^\d{1,15}$/

/** Its status and its fields. */
export class ResponseHead {
  readonly status: number
  readonly #minor: string
  /** Names, in lower case, and values in turn. */
  readonly #fields: readonly string[]

  /** @throws ResponseError when it is none */
  constructor(text: string) {
    const [first = '', ...lines] = text.split('\r\n')
    const [, minor, status] = STATUS_LINE.exec(first) ?? []
    if (minor === undefined) throw new ResponseError('it does not begin as HTTP/1 does', 'NOT_HTTP')
    this.#minor = minor
    this.status = Number(status)
    this.#fields = lines.flatMap(fieldIn)
  }

  /** The first field of this name, which is in lower case. */
  get(name: string): string | undefined {
    const fields = this.#fields
    for (let at = 0; at < fields.length; at += 2) if (fields[at] === name) return fields[at + 1]
    return undefined
  }

  /** Every field of this name. */
  all(name: string): readonly string[] {
    const fields = this.#fields
    const found: string[] = []
    for (let at = 0; at < fields.length; at += 2) if (fields[at] === name) found.push(fields[at + 1] ?? '')
    return found
  }

  /** Whether the connection may carry another request after this response. */
  get keepsAlive(): boolean {
    const said = this.all('connection')
    if (said.length === 0) return this.#minor === '1'
    const options = said.join(',').toLowerCase().split(',')
    if (options.some((option) => option.trim() === 'close')) return false
    return this.#minor === '1' || options.some((option) => option.trim() === 'keep-alive')
  }

  /** How long the server keeps a connection that rests; undefined when it does not say. */
  get restMs(): number | undefined {
    const hint = this.get('keep-alive')
    const [, seconds] = (hint !== undefined && /\btimeout=(\d{1,6})\b/i.exec(hint)) || []
    return seconds === undefined ? undefined : Number(seconds) * 1000
  }

  /** @throws ResponseError when it can be understood in two ways */
  get framing(): Framing {
    const codings = this.all('transfer-encoding')
    const lengths = this.all('content-length')
    if (this.status === 204 || this.status === 304) return { kind: 'length', bytes: 0 }
    if (codings.length > 0) return this.#coded(codings, lengths)
    const [length] = lengths
    if (length === undefined) return { kind: 'close' }
    if (lengths.length > 1 || !LENGTH.test(length)) throw new ResponseError('its Content-Length is no length')
    return { kind: 'length', bytes: Number(length) }
  }

  #coded(codings: readonly string[], lengths: readonly string[]): Framing {
    if (lengths.length > 0) throw new ResponseError('it has both a Content-Length and a Transfer-Encoding')
    if (codings.length > 1 || codings[0]?.toLowerCase() !== 'chunked' || this.#minor === '0')
      throw new ResponseError('it has a Transfer-Encoding that was not asked for')
    return { kind: 'chunked' }
  }
}

function fieldIn(line: string): [string, string] {
  const colon = line.indexOf(':')
  const name = line.slice(0, Math.max(0, colon))
  const value = withoutSpaces(line, colon + 1)
  if (!isFieldName(name)) throw new ResponseError('its head has a line that is no field')
  if (!isFieldValue(value)) throw new ResponseError(`its field ${name} has control characters`)
  return [name.toLowerCase(), value]
}

/** Spaces and tabs around a value are no part of it; others are. */
function withoutSpaces(line: string, from: number): string {
  let start = from
  let end = line.length
  while (start < end && isSpace(line[start])) start++
  while (end > start && isSpace(line[end - 1])) end--
  return line.slice(start, end)
}

function isSpace(character: string | undefined): boolean {
  return character === ' ' || character === '\t'
}
