// How the end of a body is found (RFC 9112, section 6.3).

import type { HeaderFields } from './header-fields.js'
import { HttpSyntaxError } from './syntax-error.js'

/** By its length, by its last chunk, or by the end of its connection. */
export type Framing =
  { readonly kind: 'length'; readonly bytes: number } | { readonly kind: 'chunked' | 'close' }

const LENGTH = /^\d{1,15}$/

/**
 * What the head of an HTTP/1.`minor` message says of its body; undefined when it says nothing.
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
