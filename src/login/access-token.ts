// An access token as requests carry it, and how long.

import type { Credential } from '../transports/http-client/options.js'

/** A token is not used any more this long before its end, or in the last tenth of its life. */
const MARGIN_MS = 10_000

export interface HeldToken {
  readonly credential: Credential
  /** Milliseconds since 1970; Infinity where the end is not known. */
  readonly endsAt: number
}

/** `lifeMs` is Infinity where the end is not known. */
export function heldToken(accessToken: string, obtainedAtMs: number, lifeMs: number): HeldToken {
  return {
    credential: { fields: ['Authorization', `Bearer ${accessToken}`], secret: accessToken },
    endsAt: obtainedAtMs + lifeMs - Math.min(MARGIN_MS, lifeMs / 10),
  }
}
