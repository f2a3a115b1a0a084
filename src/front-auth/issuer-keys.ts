// The keys of one issuer: found by its metadata, kept for ten minutes, asked for again when a token names another one.

import { errorText } from '../text/error-text.js'
import type { JsonObject } from '../text/json-object.js'
import type { LoginHttp } from '../login/login-http.js'
import { membersIn, placesOf } from '../login/metadata.js'
import type { FrontAuthIssuer } from '../config/configuration.js'
import { TokenProblem } from './claims.js'

/** For so long the keys are taken to be those of the issuer. */
const KEYS_MS = 600_000

/** How often unknown keys can make the front ask again: everybody can name one. */
const UNKNOWN_MS = 30_000

/** After a failure the issuer is not asked again for this time. */
const FAILURE_MS = 5000

/** Requests to an issuer: to the addresses of the configuration, and to those that its metadata names. */
export interface IssuerHttp {
  readonly configured: LoginHttp
  readonly discovered: LoginHttp
}

/** One fetched key set (RFC 7517). */
export interface KeySet {
  readonly jwks: JsonObject
  readonly fetchedMs: number
}

export class IssuerKeys {
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

  /** The keys of the last minutes. @throws TokenProblem when they cannot be had */
  async current(): Promise<KeySet> {
    const set = this.#set
    return set !== undefined && this.#now() - set.fetchedMs < KEYS_MS ? set : this.#fetch()
  }

  /** The keys of now, since a token names none of these; undefined when it is too early to ask. @throws TokenProblem */
  async newerThan(set: KeySet): Promise<KeySet | undefined> {
    if (this.#set !== undefined && this.#set !== set) return this.#set
    return this.#now() - set.fetchedMs < UNKNOWN_MS ? undefined : this.#fetch()
  }

  #fetch(): Promise<KeySet> {
    const { issuer } = this.#issuer
    const failure = this.#failure
    if (this.#fetching === undefined && failure !== undefined && this.#now() - failure.atMs < FAILURE_MS)
      return Promise.reject(new TokenProblem('unavailable', failure.why))
    this.#fetching ??= this.#ask()
      .catch((error: unknown) => {
        const why = `the keys of ${issuer} cannot be had: ${errorText(error)}`
        this.#failure = { why, atMs: this.#now() }
        throw new TokenProblem('unavailable', why)
      })
      .finally(() => {
        this.#fetching = undefined
      })
    return this.#fetching
  }

  async #ask(): Promise<KeySet> {
    const { jwksUri } = this.#issuer
    const jwks =
      jwksUri === undefined
        ? await membersAt(new URL(await jwksUriOf(this.#issuer, this.#http)), this.#http.discovered)
        : await membersAt(new URL(jwksUri), this.#http.configured)
    if (!Array.isArray(jwks?.['keys'])) throw new Error('there is no key set at its address')
    const set = { jwks, fetchedMs: this.#now() }
    this.#failure = undefined
    this.#set = set
    return set
  }
}

/** The address of the keys in the metadata of an issuer (RFC 8414, or OpenID Connect Discovery). @throws Error */
async function jwksUriOf({ issuer }: FrontAuthIssuer, http: IssuerHttp): Promise<string> {
  let problem: unknown = new Error('it has no metadata; set jwksUri')
  for (const place of placesOf(new URL(issuer))) {
    // Some servers fail at places where others have their metadata.
    const metadata = await membersAt(new URL(place), http.configured).catch((error: unknown) => {
      problem = error
      return undefined
    })
    if (metadata === undefined) continue
    const { issuer: named, jwks_uri: uri } = metadata
    if (named !== issuer) throw new Error(`its metadata names the issuer '${String(named)}'`)
    if (typeof uri !== 'string' || !URL.canParse(uri)) throw new Error('its metadata has no jwks_uri')
    return uri
  }
  throw problem
}

/** The object at an address; undefined where there is none. */
async function membersAt(url: URL, http: LoginHttp): Promise<JsonObject | undefined> {
  const { status, text } = await http(url)
  if (status >= 500 || status === 429) throw new Error(`${url.host} answered with HTTP ${status}`)
  return status === 200 ? membersIn(text) : undefined
}
