// Admits clients to the front by its own tokens, and by access tokens of authorization servers.

import { createHash, timingSafeEqual } from 'node:crypto'
import type { FrontAuthConfig, FrontToken } from '../config/configuration.js'
import { needsToken } from '../config/front.js'
import type { FrontAuth } from '../front-auth/front-auth.js'
import { write } from '../jsonrpc/text.js'
import { transportRefused } from '../mcp/error-codes.js'
import type { Refusal } from '../transports/http-server/refusal.js'
import {
  type BearerToken,
  type Sender,
  type SenderVerdict,
  isSender,
} from '../transports/http-server/access.js'
import type { Runtime } from '../runtime/runtime.js'

/** Who may use the front. */
export interface AccessConfig extends TokenRules {
  /** Access tokens of authorization servers, for this address; absent accepts none. */
  readonly auth?: FrontAuthConfig | undefined
  readonly publicUrl?: string | undefined
}

/**
 * The access by these rules; `before` is that of the rules that they replace. Undefined where no client has ever needed a
 * token. `Auth` must be there where the rules have authorization servers.
 */
export function accessBy(
  { token, tokens, auth, publicUrl }: AccessConfig,
  runtime: Runtime,
  Auth: typeof FrontAuth | undefined,
  before: FrontAccess | undefined,
): FrontAccess | undefined {
  if (before === undefined && !needsToken({ token, tokens, auth })) return undefined
  const [tokensText, authText] = [write({ token, tokens }), write({ auth, publicUrl })]
  const keepsAuth = before?.authText === authText
  if (keepsAuth && before.tokensText === tokensText) return before
  const canLogIn = auth !== undefined && publicUrl !== undefined && Auth !== undefined
  const made = canLogIn && !keepsAuth ? new Auth({ auth, publicUrl, runtime }, before?.auth) : undefined
  const ours = new FrontTokens({ token, tokens }, () => runtime.wallNow(), before?.tokens)
  return new FrontAccess(ours, keepsAuth ? before.auth : made, tokensText, authText)
}

/** Tokens of the front begin with this text. No authorization server is asked about them. */
const OWN = /^mcps_/

export class FrontAccess {
  readonly tokens: FrontTokens
  /** Undefined where clients cannot log in. */
  readonly auth: FrontAuth | undefined
  /** The rules of both, to be compared: tokens that were found valid stay so while nothing about them changes. */
  readonly tokensText: string
  readonly authText: string
  /** A client shows its token with each request, and the hash of a long one costs as much as a part of the request. */
  readonly #digests = new WeakMap<BearerToken, Digest>()

  constructor(tokens: FrontTokens, auth: FrontAuth | undefined, tokensText = '', authText = '') {
    this.tokens = tokens
    this.auth = auth
    this.tokensText = tokensText
    this.authText = authText
  }

  readonly senderOf = (
    token: BearerToken,
    path: string,
    from: string,
  ): SenderVerdict | Promise<SenderVerdict> => {
    const digest = this.#digestOf(token)
    const { auth } = this
    const known = auth?.known(digest.text, path)
    if (known !== undefined) return known
    const own = this.tokens.senderOf(digest.bytes)
    const isOwn = isSender(own) || OWN.test(token.text) || this.tokens.hasHad(digest.bytes)
    return isOwn || auth === undefined ? own : auth.senderOf(token.text, digest.text, path, from)
  }

  /** The credential of a principal while it is valid; another one is another client. */
  readonly credentialOf = (principal: string): string | undefined =>
    this.tokens.credentialOf(principal) ?? this.auth?.credentialOf(principal)

  /** The value of `WWW-Authenticate`; undefined where clients cannot log in. */
  get challenge(): ((path: string, description: string | undefined) => string) | undefined {
    const { auth } = this
    if (auth === undefined) return undefined
    return (path, description) =>
      auth.resources.challenge(path, {
        ...(description !== undefined && { error: 'invalid_token' }),
        description,
      })
  }

  /** The metadata of a resource at this path; undefined where there is none. */
  metadata(path: string): string | undefined {
    return this.auth?.resources.metadata(path)
  }

  /** Why this sender may not use this path, where another scope would let it; undefined otherwise. */
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

// The tokens of the front: the owner of each, its end, and the reason of a refusal.

/** The tokens of the front itself that clients may present. */
export interface TokenRules {
  /** One for everything. */
  readonly token: string | undefined
  /** Tokens of single clients; the keys are their hashes. */
  readonly tokens: readonly FrontToken[] | undefined
}

/** The most removed tokens that are remembered, so that a refusal can name them. */
const FORMER_MAX = 1000

interface Credential extends Pick<FrontToken, 'expiresAtMs'> {
  readonly sender: Sender
  readonly hash: Buffer
}

/** Compares hashes, since those have one length and differ anywhere; every token is compared with all of them. */
export class FrontTokens {
  readonly #wallNow: () => number
  readonly #credentials: readonly Credential[]
  /** The names of tokens that were removed while the front ran, by their hashes. */
  readonly #former: ReadonlyMap<string, string>

  /** `before` are the tokens that these replace. */
  constructor({ token, tokens = [] }: TokenRules, wallNow: () => number, before?: FrontTokens) {
    this.#wallNow = wallNow
    const named = tokens.map(({ name, sha256, profiles, expiresAtMs }) => ({
      sender: { principal: name, profiles },
      hash: Buffer.from(sha256, 'hex'),
      expiresAtMs,
    }))
    this.#credentials = token === undefined ? named : [credentialOf(token), ...named]
    const former = before === undefined ? [] : [...before.#former, ...before.#names()]
    const current = new Set(this.#credentials.map(({ hash }) => hash.toString('hex')))
    this.#former = new Map(former.filter(([hash]) => !current.has(hash)).slice(-FORMER_MAX))
  }

  /** Each token is a principal, which is the same on every instance. */
  senderOf(digest: Buffer): SenderVerdict {
    const found = this.#find(digest)
    if (found === undefined) return { status: 401, why: this.#whyUnknown(digest) }
    if (!this.#isExpired(found)) return found.sender
    return { status: 401, why: `the token '${found.sender.principal}' has expired` }
  }

  /** Whether this is, or was, one of these tokens. */
  hasHad(digest: Buffer): boolean {
    return this.#find(digest) !== undefined || this.#former.has(digest.toString('hex'))
  }

  /** The token of a principal, as its hash, and its profiles, while it is valid; another one is another client. */
  readonly credentialOf = (principal: string): string | undefined => {
    const found = this.#of(principal)
    if (found === undefined || this.#isExpired(found)) return undefined
    return write([found.hash.toString('hex'), found.sender.profiles])
  }

  #of(principal: string): Credential | undefined {
    return this.#credentials.find((each) => each.sender.principal === principal)
  }

  #whyUnknown(digest: Buffer): string {
    const name = this.#former.get(digest.toString('hex'))
    return name === undefined ? 'its bearer token is not accepted' : `the token '${name}' was revoked`
  }

  #find(wanted: Buffer): Credential | undefined {
    let found: Credential | undefined
    for (const each of this.#credentials) if (timingSafeEqual(each.hash, wanted)) found = each
    return found
  }

  #isExpired({ expiresAtMs = Infinity }: Credential): boolean {
    return this.#wallNow() >= expiresAtMs
  }

  #names(): [string, string][] {
    return this.#credentials.map(({ hash, sender }) => [hash.toString('hex'), sender.principal])
  }
}

/** The token for everything has no name, and its principal does not show it. */
function credentialOf(token: string): Credential {
  const principal = `bearer ${hashOf(`principal of ${token}`).toString('base64url')}`
  return { sender: { principal }, hash: hashOf(token), expiresAtMs: undefined }
}

export function hashOf(text: string): Buffer {
  return createHash('sha256').update(text).digest()
}
