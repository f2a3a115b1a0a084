// The sender of a request, as its token shows.

/** An admitted sender. */
export interface Sender {
  /** The principal, as a word that is the same on every instance of the front. */
  readonly principal: string
  /** The profiles that it may use; undefined is everything. */
  readonly profiles?: readonly string[] | undefined
  /** The scopes of its token. */
  readonly scopes?: readonly string[]
  /** When its streams end unless its token is found valid again, in milliseconds since 1970; undefined is never. */
  readonly untilMs?: number
}

/** Why a token is not accepted: it is not valid, or that cannot be found out now. */
export interface TokenRefusal {
  readonly status: 401 | 503
  /** For the log. */
  readonly why: string
  /** For the client; absent says only that the token is not accepted. */
  readonly description?: string
}

export type SenderVerdict = Sender | TokenRefusal

/** The token of the head of a request: one object for all requests that have this head on one connection. */
export interface BearerToken {
  readonly text: string
}

/**
 * Finds the sender by the token of a request for this path, which comes from this address.
 *
 * Takes the same time for every wrong token that the front compares with its own.
 */
export type SenderOf = (
  token: BearerToken,
  path: string,
  from: string,
) => SenderVerdict | Promise<SenderVerdict>

export function isSender(verdict: SenderVerdict | undefined): verdict is Sender {
  return verdict !== undefined && 'principal' in verdict
}
