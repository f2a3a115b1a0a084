// The claims of a token, from a JWT (RFC 9068) or from an introspection endpoint (RFC 7662).

import type { JsonObject } from '../text/json-object.js'

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
  if (typeof value === 'string') return [value]
  return Array.isArray(value) ? value.filter((each) => typeof each === 'string') : []
}

/** The scopes, which some issuers write as `scp`, and some as a list. */
export function scopesOf(claims: JsonObject): readonly string[] {
  return [claims['scope'], claims['scp']].flatMap(textsOf).flatMap((text) => text.split(' '))
}
