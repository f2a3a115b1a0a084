// Admits clients to the front by its own tokens, and by access tokens of authorization servers.

import { createHash, timingSafeEqual } from 'node:crypto'
import type { FrontConfig, FrontToken } from '../config/configuration.js'
import type { FrontAuth } from '../front-auth/front-auth.js'
import { write } from '../jsonrpc/text.js'
import { transportRefused } from '../mcp/error-codes.js'
import type { Refusal } from '../transports/http-server/refusal.js'
import type { Sender, SenderVerdict, TokenRefusal } from '../transports/http-server/access.js'
import type { Revocations } from './revocations.js'

/** Tokens of the front begin with this text. The front asks no authorization server about them. */
const OWN = /^mcps_/

interface OwnToken extends Pick<FrontToken, 'expiresAtMs'> {
  readonly sender: Sender
  readonly hash: Buffer
  /** The hash as in the store; undefined for the token for everything, which no command revokes. */
  readonly sha256: string | undefined
}

export class FrontAccess {
  readonly #tokens: readonly OwnToken[]
  readonly #wallNow: () => number
  readonly #revocations: Pick<Revocations, 'stateOf'> | undefined
  /** Undefined if clients cannot log in. */
  readonly auth: FrontAuth | undefined

  constructor(
    { token, tokens = [] }: Pick<FrontConfig, 'token' | 'tokens'>,
    wallNow: () => number,
    auth?: FrontAuth,
    revocations?: Pick<Revocations, 'stateOf'>,
  ) {
    this.#wallNow = wallNow
    this.#revocations = revocations
    this.auth = auth
    const named = tokens.map(({ name, sha256, profiles, expiresAtMs }) => ({
      sender: { principal: name, profiles, credential: sha256 },
      hash: Buffer.from(sha256, 'hex'),
      sha256,
      expiresAtMs,
    }))
    this.#tokens = token === undefined ? named : [tokenForAll(token), ...named]
  }

  readonly senderOf = (token: string, path: string, from: string): SenderVerdict | Promise<SenderVerdict> => {
    const hash = hashOf(token)
    const { auth } = this
    const found = this.#find(hash)
    if (found === undefined && auth !== undefined && !OWN.test(token))
      return auth.senderOf(token, hash.toString('latin1'), path, from)
    if (found === undefined) return { status: 401, why: 'its bearer token is not accepted' }
    return this.#refusalOf(found) ?? found.sender
  }

  /** The valid credential of a principal. If it changes, the sessions of the principal end. */
  readonly credentialOf = (principal: string): string | undefined => {
    const found = this.#tokens.find((each) => each.sender.principal === principal)
    if (found === undefined || this.#refusalOf(found)?.status === 401)
      return this.auth?.credentialOf(principal)
    return write([found.hash.toString('hex'), found.sender.profiles])
  }

  /** The value of `WWW-Authenticate`; undefined if clients cannot log in. */
  get challenge(): ((path: string, description: string | undefined) => string) | undefined {
    const { auth } = this
    if (auth === undefined) return undefined
    return (path, description) =>
      auth.resources.challenge(path, {
        ...(description !== undefined && { error: 'invalid_token' }),
        description,
      })
  }

  /** Why this sender may not use this path, if another scope would allow it; undefined otherwise. */
  needsScope(path: string, sender: Sender): Refusal | undefined {
    const scopes = sender.scopes === undefined ? undefined : this.auth?.scopesToOpen(path, sender)
    if (scopes === undefined) return undefined
    const challenge = this.auth?.resources.challenge(path, { error: 'insufficient_scope', scopes })
    return {
      status: 403,
      error: transportRefused(`The token lacks a scope; this needs ${scopes.join(' ')}`),
      ...(challenge !== undefined && { headers: { 'www-authenticate': challenge } }),
    }
  }

  /** Compares with all hashes, which have one length, so that the duration reveals nothing. */
  #find(hash: Buffer): OwnToken | undefined {
    let found: OwnToken | undefined
    for (const each of this.#tokens) if (timingSafeEqual(each.hash, hash)) found = each
    return found
  }

  #refusalOf({ sender, sha256, expiresAtMs = Infinity }: OwnToken): TokenRefusal | undefined {
    const { principal } = sender
    if (this.#wallNow() >= expiresAtMs) return { status: 401, why: `the token '${principal}' has expired` }
    const state = sha256 === undefined ? 'valid' : this.#revocations?.stateOf(sha256)
    if (state === 'revoked') return { status: 401, why: `the token '${principal}' is revoked` }
    if (state !== 'unknown') return undefined
    return { status: 503, why: `the store has not said whether the token '${principal}' is revoked` }
  }
}

/** The token for everything has no name. Its principal is the same on all instances, and does not reveal the token. */
function tokenForAll(token: string): OwnToken {
  const principal = `bearer ${hashOf(`principal of ${token}`).toString('base64url')}`
  return { sender: { principal }, hash: hashOf(token), sha256: undefined, expiresAtMs: undefined }
}

export function hashOf(text: string): Buffer {
  return createHash('sha256').update(text).digest()
}
