// Access tokens that are JWTs (RFC 9068), and their verification by the keys of their issuers. This file alone loads jose.

import { Buffer } from 'node:buffer'
import { errorText } from '../text/error-text.js'
import type { JsonObject } from '../text/json-object.js'
import type * as Jose from 'jose'
import { membersIn } from '../login/metadata.js'
import type { FrontAuthIssuer } from '../config/configuration.js'
import { TokenProblem } from './claims.js'
import type { IssuerKeys, KeySet } from './issuer-keys.js'

/** By how much the clocks of two machines may differ. */
export const SKEW_S = 30

/** A token without `kid` is tried with at most so many keys that fit. */
const KEYS_MAX = 8

/** A JWT whose signature has not been verified. */
export interface UnverifiedJwt {
  readonly header: JsonObject
  readonly claims: JsonObject
}

/** The parts of a JWT; undefined for a token of another form. */
export function readJwt(token: string): UnverifiedJwt | undefined {
  const [, head = '', body = ''] = /^([\w-]+)\.([\w-]+)\.[\w-]*$/.exec(token) ?? []
  const [header, claims] = [objectIn(head), objectIn(body)]
  return header === undefined || claims === undefined ? undefined : { header, claims }
}

function objectIn(part: string): JsonObject | undefined {
  return membersIn(Buffer.from(part, 'base64url').toString('utf8'))
}

/** Checks the tokens of one issuer. */
export class Signatures {
  readonly #issuer: FrontAuthIssuer
  readonly #keys: IssuerKeys
  readonly #wallNow: () => number
  /** Imported keys stay with the key set that they are of. */
  readonly #resolvers = new WeakMap<KeySet, ReturnType<typeof Jose.createLocalJWKSet>>()

  constructor(issuer: FrontAuthIssuer, keys: IssuerKeys, wallNow: () => number) {
    this.#issuer = issuer
    this.#keys = keys
    this.#wallNow = wallNow
  }

  /** The claims of a token that is valid now. @throws TokenProblem */
  async verify(token: string, jwt: UnverifiedJwt): Promise<JsonObject> {
    this.#refuseHead(jwt)
    const jose = await import('jose')
    const set = await this.#keys.current()
    try {
      return await this.#verifyBy(set, token, jose)
    } catch (error) {
      if (!(error instanceof jose.errors.JWKSNoMatchingKey)) throw problemOf(error, jose)
      const newer = await this.#keys.newerThan(set)
      if (newer === undefined) throw invalidBecause('its issuer has no such key')
      return await this.#verifyBy(newer, token, jose).catch((again: unknown) => {
        throw problemOf(again, jose)
      })
    }
  }

  /** Refuses what needs no keys to be seen. */
  #refuseHead(jwt: UnverifiedJwt): void {
    const { header } = jwt
    const { alg, crit } = header
    if (typeof alg !== 'string' || !this.#issuer.algorithms.includes(alg))
      throw invalidBecause(`its signature is not one of ${this.#issuer.algorithms.join(', ')}`)
    if (crit !== undefined) throw invalidBecause('its header has "crit"')
    const type = typeOf(header)
    if (header['typ'] !== undefined && type !== 'at+jwt' && type !== 'jwt')
      throw invalidBecause('its type is not that of an access token')
    if (isIdToken(jwt)) throw invalidBecause('it is an ID token, which is for the client')
  }

  async #verifyBy(set: KeySet, token: string, jose: typeof Jose): Promise<JsonObject> {
    const options = {
      algorithms: [...this.#issuer.algorithms],
      issuer: this.#issuer.issuer,
      requiredClaims: ['exp', 'sub'],
      clockTolerance: SKEW_S,
      currentDate: new Date(this.#wallNow()),
    }
    const keys = this.#resolverOf(set, jose)
    try {
      return (await jose.jwtVerify(token, keys, options)).payload
    } catch (error) {
      if (!(error instanceof jose.errors.JWKSMultipleMatchingKeys)) throw error
      let tried = 0
      for await (const key of error) {
        if (++tried > KEYS_MAX) break
        const found = await jose.jwtVerify(token, key, options).catch((each: unknown) => {
          // The key is the right one where the claims are what is wrong.
          if (isOfClaims(each, jose)) throw each
          return undefined
        })
        if (found !== undefined) return found.payload
      }
      throw invalidBecause('its signature is wrong')
    }
  }

  #resolverOf(set: KeySet, jose: typeof Jose): ReturnType<typeof Jose.createLocalJWKSet> {
    const { keys } = set.jwks
    const known = this.#resolvers.get(set)
    const usable = Array.isArray(keys) ? keys.filter((key) => typeof Object(key).kty === 'string') : []
    const resolver = known ?? jose.createLocalJWKSet({ keys: usable })
    this.#resolvers.set(set, resolver)
    return resolver
  }
}

function invalidBecause(why: string): TokenProblem {
  return new TokenProblem('invalid', why)
}

function isOfClaims(error: unknown, { errors }: typeof Jose): boolean {
  return error instanceof errors.JWTExpired || error instanceof errors.JWTClaimValidationFailed
}

function problemOf(error: unknown, { errors }: typeof Jose): TokenProblem {
  if (error instanceof TokenProblem) return error
  if (error instanceof errors.JWTExpired) return new TokenProblem('expired', 'it has expired')
  if (error instanceof errors.JWTClaimValidationFailed)
    return invalidBecause(`its claim "${error.claim}" is missing or wrong`)
  if (error instanceof errors.JWKSNoMatchingKey) return invalidBecause('its issuer has no such key')
  if (error instanceof errors.JOSEError) return invalidBecause(`it cannot be verified (${error.code})`)
  // jose throws errors of the system for keys that are malformed or too short.
  return invalidBecause(`the key that it names cannot be used (${errorText(error)})`)
}

/**
 * Whether a JWT was made for a client and not for a resource, as far as that shows: by the claims of OpenID Connect Core,
 * section 3.3.2.11, and the marks of Keycloak and Cognito. Its audience is the other defence.
 */
function isIdToken({ header, claims }: UnverifiedJwt): boolean {
  if (claims['typ'] === 'ID' || claims['token_use'] === 'id') return true
  if (typeOf(header) === 'at+jwt' || claims['typ'] === 'Bearer') return false
  return ['nonce', 'at_hash', 'c_hash', 's_hash'].some((name) => claims[name] !== undefined)
}

/** The media type of a token without `application/` (RFC 7515, section 4.1.9), in lower case. */
function typeOf({ typ }: JsonObject): string | undefined {
  return typeof typ === 'string' ? typ.toLowerCase().replace(/^application\//, '') : undefined
}
