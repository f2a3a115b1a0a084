// The tokens of the front: whose each is, until when, and why one is refused.

import { createHash, timingSafeEqual } from 'node:crypto'
import type { FrontToken } from '../config/configuration.js'

/** The tokens that clients may present. */
export interface TokenRules {
  /** One for everything. */
  readonly token: string | undefined
  /** Of single clients, by their hashes. */
  readonly tokens: readonly FrontToken[]
}

/** Tokens of before that a refusal names. */
const FORMER_MAX = 1000

interface Credential extends Pick<FrontToken, 'expiresAtMs' | 'profiles'> {
  readonly principal: string
  readonly hash: Buffer
}

/** Compares hashes, since those have one length and differ anywhere; every token is compared with all of them. */
export class FrontTokens {
  readonly #wallNow: () => number
  readonly #credentials: readonly Credential[]
  /** The names of tokens that were removed while the front ran, by their hashes. */
  readonly #former: ReadonlyMap<string, string>

  /** `before` are the tokens that these replace. */
  constructor({ token, tokens }: TokenRules, wallNow: () => number, before?: FrontTokens) {
    this.#wallNow = wallNow
    const named = tokens.map(({ name, sha256, profiles, expiresAtMs }) => ({
      principal: name,
      hash: Buffer.from(sha256, 'hex'),
      profiles,
      expiresAtMs,
    }))
    this.#credentials = token === undefined ? named : [credentialOf(token), ...named]
    const former = before === undefined ? [] : [...before.#former, ...before.#names()]
    const current = new Set(this.#credentials.map(({ hash }) => hash.toString('hex')))
    this.#former = new Map(former.filter(([hash]) => !current.has(hash)).slice(-FORMER_MAX))
  }

  /** Each token is a principal, which is the same on every instance. */
  readonly principalOf = (given: string): string | undefined => {
    const found = this.#find(given)
    return found === undefined || this.#isExpired(found) ? undefined : found.principal
  }

  /** Why a token is refused, in words for the log. */
  readonly whyRefused = (given: string): string => {
    const found = this.#find(given)
    if (found !== undefined) return `the token '${found.principal}' has expired`
    const name = this.#former.get(hash(given).toString('hex'))
    return name === undefined ? 'its bearer token is not accepted' : `the token '${name}' was revoked`
  }

  /** The hash of the token of a principal while it is valid; another one is another client. */
  readonly credentialOf = (principal: string): string | undefined => {
    const found = this.#of(principal)
    return found === undefined || this.#isExpired(found) ? undefined : found.hash.toString('hex')
  }

  /** The profiles that a principal may use; undefined is everything. */
  profilesOf(principal: string): readonly string[] | undefined {
    return this.#of(principal)?.profiles
  }

  #of(principal: string): Credential | undefined {
    return this.#credentials.find((each) => each.principal === principal)
  }

  #find(given: string): Credential | undefined {
    const wanted = hash(given)
    let found: Credential | undefined
    for (const each of this.#credentials) if (timingSafeEqual(each.hash, wanted)) found = each
    return found
  }

  #isExpired({ expiresAtMs = Infinity }: Credential): boolean {
    return this.#wallNow() >= expiresAtMs
  }

  #names(): [string, string][] {
    return this.#credentials.map(({ hash, principal }) => [hash.toString('hex'), principal])
  }
}

/** The token for everything has no name, and its principal does not show it. */
function credentialOf(token: string): Credential {
  const principal = `bearer ${hash(`principal of ${token}`).toString('base64url')}`
  return { principal, hash: hash(token), profiles: undefined, expiresAtMs: undefined }
}

function hash(text: string): Buffer {
  return createHash('sha256').update(text).digest()
}
