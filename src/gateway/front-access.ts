// Whom the front lets in: by its own tokens, and by access tokens of authorization servers.

import type { FrontAuth } from '../front-auth/front-auth.js'
import { transportRefused } from '../mcp/error-codes.js'
import type { Refusal } from '../transports/http-server/refusal.js'
import {
  type BearerToken,
  type Sender,
  type SenderVerdict,
  isSender,
} from '../transports/http-server/guard.js'
import { type FrontTokens, hashOf } from './front-tokens.js'

/** Such a token is ours, and no authorization server is asked about it. */
const OWN = /^mcps_/

export class FrontAccess {
  readonly #tokens: FrontTokens
  readonly #auth: FrontAuth | undefined
  /** A client shows its token with each request, and the hash of a long one costs as much as a part of the request. */
  readonly #digests = new WeakMap<BearerToken, Digest>()

  /** `auth` is undefined where clients cannot log in. */
  constructor(tokens: FrontTokens, auth: FrontAuth | undefined) {
    this.#tokens = tokens
    this.#auth = auth
  }

  readonly senderOf = (
    token: BearerToken,
    path: string,
    from: string,
  ): SenderVerdict | Promise<SenderVerdict> => {
    const digest = this.#digestOf(token)
    const auth = this.#auth
    const known = auth?.known(digest.text, path)
    if (known !== undefined) return known
    const own = this.#tokens.senderOf(digest.bytes)
    const isOwn = isSender(own) || OWN.test(token.text) || this.#tokens.hasHad(digest.bytes)
    return isOwn || auth === undefined ? own : auth.senderOf(token.text, digest.text, path, from)
  }

  /** The credential of a principal while it is valid; another one is another client. */
  readonly credentialOf = (principal: string): string | undefined =>
    this.#tokens.credentialOf(principal) ?? this.#auth?.credentialOf(principal)

  /** The value of `WWW-Authenticate`; undefined where clients cannot log in. */
  get challenge(): ((path: string, description: string | undefined) => string) | undefined {
    const auth = this.#auth
    if (auth === undefined) return undefined
    return (path, description) =>
      auth.challenge(path, { ...(description !== undefined && { error: 'invalid_token' }), description })
  }

  /** The metadata of a resource at this path; undefined where there is none. */
  metadata(path: string): string | undefined {
    return this.#auth?.metadata(path)
  }

  /** Why this sender may not use this path, where another scope would let it; undefined otherwise. */
  needsScope(path: string, sender: Sender): Refusal | undefined {
    const scopes = sender.scopes === undefined ? undefined : this.#auth?.scopesToOpen(path, sender)
    if (scopes === undefined) return undefined
    const challenge = this.#auth?.challenge(path, { error: 'insufficient_scope', scopes })
    return {
      status: 403,
      error: transportRefused(`The token lacks a scope; this needs ${scopes.join(' ')}`),
      ...(challenge !== undefined && { headers: { 'www-authenticate': challenge } }),
    }
  }

  #digestOf(token: BearerToken): Digest {
    const known = this.#digests.get(token)
    if (known !== undefined) return known
    const bytes = hashOf(token.text)
    const digest = { bytes, text: bytes.toString('latin1') }
    this.#digests.set(token, digest)
    return digest
  }
}

interface Digest {
  readonly bytes: Buffer
  readonly text: string
}
