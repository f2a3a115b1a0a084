// One authorization server, and how the front examines its tokens. The front verifies JWTs (RFC 9068) with
// the server's keys, and asks the server about other tokens. Only this file loads jose.

import { Buffer } from 'node:buffer'
import { createLocalJWKSet, errors, jwtVerify } from 'jose'
import { type LoginHttp, type LoginRuntime, basicField, loginHttp } from '../login/login-http.js'
import { serverMetadata } from '../login/metadata.js'
import type { FrontAuthIssuer } from '../config/configuration.js'
import { errorText } from '../text/error-text.js'
import { type JsonObject, objectIn } from '../text/json-object.js'
import { TokenProblem } from './claims.js'

/** The tolerated difference between the clocks of two machines. */
export const SKEW_S = 30

/** A JWT whose signature has not been verified. */
export interface UnverifiedJwt {
  readonly header: JsonObject
  readonly claims: JsonObject
}

/** The parts of a JWT; undefined for another form of token. */
export function readJwt(token: string): UnverifiedJwt | undefined {
  const [, head = '', body = ''] = /^([\w-]+)\.([\w-]+)\.[\w-]*$/.exec(token) ?? []
  const [header, claims] = [head, body].map((part) =>
    objectIn(Buffer.from(part, 'base64url').toString('utf8')),
  )
  return header === undefined || claims === undefined ? undefined : { header, claims }
}

export class Issuer {
  readonly config: FrontAuthIssuer
  readonly #http: IssuerHttp
  readonly #keys: IssuerKeys
  readonly #wallNow: () => number

  constructor(config: FrontAuthIssuer, runtime: LoginRuntime) {
    this.config = config
    const discovered = loginHttp(runtime, new URL(config.issuer))
    this.#http = { configured: loginHttp(runtime, true), discovered }
    this.#keys = new IssuerKeys(config, this.#http, () => runtime.now())
    this.#wallNow = () => runtime.wallNow()
  }

  /** Returns the claims of a JWT that is valid now. @throws TokenProblem */
  async verify(token: string, jwt: UnverifiedJwt): Promise<JsonObject> {
    this.#refuseHead(jwt)
    const set = await this.#keys.current()
    try {
      return await this.#verifyBy(set, token)
    } catch (error) {
      const newer = error instanceof errors.JWKSNoMatchingKey ? await this.#keys.newerThan(set) : undefined
      if (newer === undefined) throw problemOf(error)
      return await this.#verifyBy(newer, token).catch((again: unknown) => {
        throw problemOf(again)
      })
    }
  }

  /** The claims of an active token; undefined for others, and if the issuer is not asked. @throws TokenProblem */
  introspect(token: string): Promise<JsonObject | undefined> {
    return introspect(token, this.config, this.#http.configured)
  }

  /** @throws TokenProblem if no token could be examined now */
  async try(): Promise<void> {
    if (this.config.introspection === undefined) await this.#keys.current()
    else await this.introspect('mcps-proxy check')
  }

  #refuseHead(jwt: UnverifiedJwt): void {
    const { header } = jwt
    const { alg, crit } = header
    if (typeof alg !== 'string' || !this.config.algorithms.includes(alg))
      throw invalidBecause(`its signature is not one of ${this.config.algorithms.join(', ')}`)
    if (crit !== undefined) throw invalidBecause('its header has "crit"')
    const type = typeOf(header)
    if (header['typ'] !== undefined && type !== 'at+jwt' && type !== 'jwt')
      throw invalidBecause('its type is not that of an access token')
    if (isIdToken(jwt)) throw invalidBecause('it is an ID token, which is for the client')
  }

  async #verifyBy(set: KeySet, token: string): Promise<JsonObject> {
    const options = {
      algorithms: [...this.config.algorithms],
      issuer: this.config.issuer,
      requiredClaims: ['exp', 'sub'],
      clockTolerance: SKEW_S,
      currentDate: new Date(this.#wallNow()),
    }
    return (await jwtVerify(token, set.keys, options)).payload
  }
}

/** Why no token of an issuer could be examined; undefined if tokens can be examined. */
export function issuerTrouble(config: FrontAuthIssuer, runtime: LoginRuntime): Promise<string | undefined> {
  return new Issuer(config, runtime).try().then(() => undefined, errorText)
}

function invalidBecause(why: string): TokenProblem {
  return new TokenProblem('invalid', why)
}

function problemOf(error: unknown): TokenProblem {
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
 * Whether a JWT was issued for a client and not for a resource, as far as it shows: by the claims of OpenID
 * Connect Core, section 3.3.2.11, and the marks of Keycloak and Cognito. The audience is the other defence.
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

// The keys of an issuer: found in its metadata, kept for ten minutes, and fetched again for an unknown key.

/** How long fetched keys are used. */
const KEYS_MS = 600_000

/** The shortest time between two requests that unknown keys cause: any token can name an unknown key. */
const UNKNOWN_MS = 30_000

/** After a failure, the front does not ask the issuer again for this time. */
const FAILURE_MS = 5000

/** Requests to an issuer: to the configured addresses, and to those that its metadata names. */
interface IssuerHttp {
  readonly configured: LoginHttp
  readonly discovered: LoginHttp
}

/** One fetched key set (RFC 7517), with its imported keys. */
interface KeySet {
  readonly keys: ReturnType<typeof createLocalJWKSet>
  readonly fetchedMs: number
}

class IssuerKeys {
  readonly #issuer: FrontAuthIssuer
  readonly #http: IssuerHttp
  readonly #now: () => number
  #set: KeySet | undefined
  #fetching: Promise<KeySet> | undefined
  #failure: { readonly why: string; readonly atMs: number } | undefined

  constructor(issuer: FrontAuthIssuer, http: IssuerHttp, now: () => number) {
    this.#issuer = issuer
    this.#http = http
    this.#now = now
  }

  /** The keys, at most ten minutes old. @throws TokenProblem if they cannot be fetched */
  async current(): Promise<KeySet> {
    const set = this.#set
    return set !== undefined && this.#now() - set.fetchedMs < KEYS_MS ? set : this.#fetch()
  }

  /** Fetches the keys again for an unknown key; undefined if it is too early to ask. @throws TokenProblem */
  async newerThan(set: KeySet): Promise<KeySet | undefined> {
    if (this.#set !== undefined && this.#set !== set) return this.#set
    return this.#now() - set.fetchedMs < UNKNOWN_MS ? undefined : this.#fetch()
  }

  #fetch(): Promise<KeySet> {
    const { issuer, jwksUri } = this.#issuer
    const failure = this.#failure
    if (this.#fetching === undefined && failure !== undefined && this.#now() - failure.atMs < FAILURE_MS)
      return Promise.reject(new TokenProblem('unavailable', failure.why))
    this.#fetching ??= this.#ask()
      .catch((error: unknown) => {
        const remedy = jwksUri === undefined ? '; "jwksUri" can name them' : ''
        const why = `the keys of ${issuer} cannot be fetched: ${errorText(error)}${remedy}`
        this.#failure = { why, atMs: this.#now() }
        throw new TokenProblem('unavailable', why)
      })
      .finally(() => {
        this.#fetching = undefined
      })
    return this.#fetching
  }

  async #ask(): Promise<KeySet> {
    const { issuer, jwksUri } = this.#issuer
    const { configured, discovered } = this.#http
    const { status, text } =
      jwksUri === undefined
        ? await discovered(await jwksUriOf(issuer, configured))
        : await configured(new URL(jwksUri))
    const all = status === 200 ? objectIn(text)?.['keys'] : undefined
    if (!Array.isArray(all)) throw new Error(`there is no key set at its address (HTTP ${status})`)
    const usable = all.filter((key) => typeof Object(key).kty === 'string')
    const set = { keys: createLocalJWKSet({ keys: usable }), fetchedMs: this.#now() }
    this.#failure = undefined
    this.#set = set
    return set
  }
}

/** An issuer's key address, from its metadata (RFC 8414, OpenID Connect Discovery). @throws LoginError, Error */
async function jwksUriOf(issuer: string, http: LoginHttp): Promise<URL> {
  const { jwks_uri: uri } = await serverMetadata(issuer, http, { endpoints: [], isOfFront: true })
  if (uri === undefined || !URL.canParse(uri)) throw new Error('its metadata has no jwks_uri')
  return new URL(uri)
}

// Token introspection (RFC 7662).

/** The claims of an active token; undefined if it is not active or of another issuer. @throws TokenProblem */
export async function introspect(
  token: string,
  { issuer, introspection }: FrontAuthIssuer,
  http: LoginHttp,
): Promise<JsonObject | undefined> {
  if (introspection === undefined) return undefined
  const { url, clientId, clientSecret } = introspection
  const answer = await ask(url, token, basicField(clientId, clientSecret), http).catch((error: unknown) => {
    const why = errorText(error)
    throw new TokenProblem('unavailable', `${issuer} cannot be asked about tokens: ${why}`)
  })
  if (answer['active'] !== true) return undefined
  return answer['iss'] === undefined || answer['iss'] === issuer ? answer : undefined
}

async function ask(url: string, token: string, user: string, http: LoginHttp): Promise<JsonObject> {
  const { status, text } = await http(new URL(url), {
    method: 'POST',
    headers: {
      Authorization: user,
      'Content-Type': 'application/x-www-form-urlencoded',
    },
    body: new URLSearchParams({ token, token_type_hint: 'access_token' }).toString(),
  })
  if (status === 401 || status === 403)
    throw new Error(`it refuses the client id of the front (HTTP ${status})`)
  const answer = status === 200 ? objectIn(text) : undefined
  if (answer === undefined) throw new Error(`it answered with HTTP ${status} and no JSON object`)
  return answer
}
