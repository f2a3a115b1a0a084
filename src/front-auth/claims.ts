// The claims of a token, from a JWT (RFC 9068) or from an introspection endpoint (RFC 7662).

import { createHash } from 'node:crypto'
import { type JsonObject, textsIn } from '../text/json-object.js'

/** Why a token is refused, or cannot be examined. */
export class TokenProblem extends Error {
  readonly kind: 'expired' | 'audience' | 'invalid' | 'unavailable'

  /** `why` is for the log, and contains nothing of the token. */
  constructor(kind: TokenProblem['kind'], why: string) {
    super(why)
    this.kind = kind
  }
}

/** A text or a list of texts, as in `aud`. */
export function textsOf(value: unknown): readonly string[] {
  return typeof value === 'string' ? [value] : textsIn(value)
}

/** The scopes. Some issuers write `scp`, and some write a list. */
export function scopesOf(claims: JsonObject): readonly string[] {
  return [claims['scope'], claims['scp']].flatMap(textsOf).flatMap((text) => text.split(' '))
}

// The principal: one word for each subject of an issuer, which logs show and which keeps clients apart.

/** A longer subject is cut, and its hash distinguishes it. */
const SUBJECT_LENGTH_MAX = 160
const CUT_LENGTH = 80

/**
 * `ISSUER#SUBJECT`, in visible ASCII. No two subjects have one word: an issuer contains no `#` (RFC 8414,
 * section 2), and no escaped subject contains `%%`.
 */
export function principalOf(issuer: string, subject: string): string {
  const escaped = subject.replaceAll(/[^\x21-\x24\x26-\x7e]/gu, escape)
  if (escaped.length <= SUBJECT_LENGTH_MAX) return `${issuer}#${escaped}`
  const hash = createHash('sha256').update(escaped).digest('base64url')
  return `${issuer}#${escaped.slice(0, CUT_LENGTH)}%%${hash}`
}

/** Half of a surrogate pair, which JSON can contain, has no bytes in UTF-8. */
const surrogate = /^[\ud800-\udfff]$/

function escape(character: string): string {
  if (surrogate.test(character)) return `%u${character.charCodeAt(0).toString(16).toUpperCase()}`
  return Buffer.from(character)
    .toString('hex')
    .toUpperCase()
    .replaceAll(/../g, (byte) => `%${byte}`)
}
