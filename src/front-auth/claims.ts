// The claims of a token, from a JWT (RFC 9068) or from an introspection endpoint (RFC 7662).

import { createHash } from 'node:crypto'
import { type JsonObject, textsIn } from '../text/json-object.js'

/** Why a token is refused, or cannot be examined. */
export class TokenProblem extends Error {
  readonly kind: 'expired' | 'audience' | 'invalid' | 'unavailable'

  /** `why` is for the log, and has nothing of the token. */
  constructor(kind: TokenProblem['kind'], why: string) {
    super(why)
    this.kind = kind
  }
}

/** A text or a list of texts, as `aud` is. */
export function textsOf(value: unknown): readonly string[] {
  return typeof value === 'string' ? [value] : textsIn(value)
}

/** The scopes, which some issuers write as `scp`, and some as a list. */
export function scopesOf(claims: JsonObject): readonly string[] {
  return [claims['scope'], claims['scp']].flatMap(textsOf).flatMap((text) => text.split(' '))
}

// The word that stands for a subject of an issuer, in logs and wherever clients are kept apart.

/** A longer subject is cut, and its hash tells it from others. */
const SUBJECT_LENGTH_MAX = 160
const CUT_LENGTH = 80

/**
 * `ISSUER#SUBJECT`, in visible ASCII: no two subjects have one word. An issuer has no `#` (RFC 8414, section 2), and
 * `%%` stands in no escaped subject.
 */
export function principalOf(issuer: string, subject: string): string {
  const escaped = subject.replaceAll(/[^\x21-\x24\x26-\x7e]/gu, escape)
  if (escaped.length <= SUBJECT_LENGTH_MAX) return `${issuer}#${escaped}`
  const hash = createHash('sha256').update(escaped).digest('base64url')
  return `${issuer}#${escaped.slice(0, CUT_LENGTH)}%%${hash}`
}

/** Half of a surrogate pair, which JSON can spell, has no bytes in UTF-8. */
const surrogate = /^[\ud800-\udfff]$/

function escape(character: string): string {
  if (surrogate.test(character)) return `%u${character.charCodeAt(0).toString(16).toUpperCase()}`
  return Buffer.from(character)
    .toString('hex')
    .toUpperCase()
    .replaceAll(/../g, (byte) => `%${byte}`)
}
