// The front as a protected resource: the identifiers of its endpoints, and its metadata (RFC 9728).
//
// MCP 2025-06-18 to 2026-07-28, Authorization.

import { write } from '../jsonrpc/text.js'
import type { FrontAuthConfig, FrontAuthRule } from '../config/configuration.js'
import type { JsonObject } from '../text/json-object.js'
import { scopesOf, textsOf } from './claims.js'
import { frontPathOf, readFrontPath, withoutSlash } from './front-paths.js'

/** An endpoint, as read from its path. It may not exist, so an answer does not reveal which endpoints exist. */
interface Resource {
  /** The profile of the endpoint, if it has one. */
  readonly profile: string | undefined
  /** The identifier that tokens have in `aud`. */
  readonly id: string
}

const WELL_KNOWN = '/.well-known/oauth-protected-resource'

interface Challenge {
  readonly error?: 'invalid_token' | 'insufficient_scope'
  readonly description?: string | undefined
  readonly scopes?: readonly string[]
}

export class Resources {
  /** Without a slash at the end. */
  readonly #publicUrl: string
  readonly #issuers: readonly string[]
  readonly #rules: AccessRules

  constructor(publicUrl: string, issuers: readonly string[], rules: AccessRules) {
    this.#publicUrl = publicUrl
    this.#issuers = issuers
    this.#rules = rules
  }

  nameFront(audiences: readonly string[]): boolean {
    return audiences.some((each) => each === this.#publicUrl || each === `${this.#publicUrl}/`)
  }

  /** The resource of a request for this path; pages belong to `/mcp`. */
  at(path: string): Resource {
    return this.#read(path) ?? { profile: undefined, id: `${this.#publicUrl}/mcp` }
  }

  metadata(path: string): string | undefined {
    if (!path.startsWith(WELL_KNOWN)) return undefined
    const prefix = new URL(this.#publicUrl).pathname.replace(/\/$/, '')
    const all = path.slice(WELL_KNOWN.length)
    const rest = prefix !== '' && `${all}/`.startsWith(`${prefix}/`) ? all.slice(prefix.length) : all
    if (rest === '' || rest === '/') return this.#document(this.#publicUrl, this.#rules.allScopes)
    const found = this.#read(rest)
    return found === undefined ? undefined : this.#document(found.id, this.#scopesOf(found))
  }

  /** The value of `WWW-Authenticate` (RFC 6750, section 3; RFC 9728, section 5.1). */
  challenge(path: string, { error, description, scopes }: Challenge): string {
    const found = this.at(path)
    const { origin, pathname } = new URL(found.id)
    const scope = (scopes ?? this.#scopesOf(found)).join(' ')
    const parameters = {
      error,
      error_description: description,
      resource_metadata: `${origin}${WELL_KNOWN}${pathname}`,
      scope: scope === '' ? undefined : scope,
    }
    const shown = Object.entries(parameters).flatMap(([name, value]) =>
      value === undefined ? [] : `${name}="${value}"`,
    )
    return `Bearer ${shown.join(', ')}`
  }

  /** The scopes that open the resource, or all scopes if no rule names any. */
  #scopesOf({ profile }: Resource): readonly string[] {
    const own = this.#rules.scopesFor(profile)
    return own.length > 0 ? own : this.#rules.allScopes
  }

  #document(resource: string, scopes: readonly string[]): string {
    return write({
      resource,
      authorization_servers: this.#issuers,
      ...(scopes.length > 0 && { scopes_supported: scopes }),
      bearer_methods_supported: ['header'],
    })
  }

  #read(path: string): Resource | undefined {
    const found = readFrontPath(withoutSlash(path))
    if (found === undefined) return undefined
    // A name with invalid escapes is not decoded, and is no endpoint.
    const { kind, written, name = written } = found
    const prefix = kind === undefined ? '' : frontPathOf(kind, name)
    return { profile: kind === 'p' ? name : undefined, id: `${this.#publicUrl}${prefix}/mcp` }
  }
}

// The profiles that the scopes and claims of a token open, and the scopes that a client should ask for.

export interface Grants {
  readonly scopes: readonly string[]
  /** The values of the claims that rules name. */
  readonly claims: ReadonlyMap<string, readonly string[]>
}

/** The limit of kept scopes of one token, and of kept values of a claim. */
const VALUES_MAX = 256

export class AccessRules {
  readonly #rules: readonly FrontAuthRule[]
  readonly #written: readonly string[]

  constructor({ rules, scopes }: Pick<FrontAuthConfig, 'rules' | 'scopes'>) {
    this.#rules = rules
    this.#written = scopes
  }

  grantsIn(claims: JsonObject): Grants {
    const names = new Set(this.#rules.flatMap(({ claim }) => claim ?? []))
    return {
      scopes: scopesOf(claims).slice(0, VALUES_MAX),
      claims: new Map([...names].map((name) => [name, textsOf(claims[name]).slice(0, VALUES_MAX)])),
    }
  }

  /** The profiles of all rules that fit; undefined means everything. */
  profilesOf({ scopes, claims }: Grants): readonly string[] | undefined {
    if (this.#rules.length === 0) return undefined
    const fitting = this.#rules.filter(({ scope, claim = '', value = '' }) =>
      scope === undefined ? claims.get(claim)?.includes(value) === true : scopes.includes(scope),
    )
    if (fitting.some(({ profiles }) => profiles === undefined)) return undefined
    return [...new Set(fitting.flatMap(({ profiles = [] }) => profiles))].sort()
  }

  /** The scopes that open this profile. If none names it, or `profile` is undefined: those that open everything. */
  scopesFor(profile: string | undefined): readonly string[] {
    const ofProfile =
      profile === undefined ? [] : this.#scopes(({ profiles }) => profiles?.includes(profile) === true)
    return ofProfile.length > 0 ? ofProfile : this.#scopes(({ profiles }) => profiles === undefined)
  }

  get allScopes(): readonly string[] {
    return this.#rules.length === 0 ? this.#written : this.#scopes(() => true)
  }

  /**
   * The scopes to ask for, as clients write them, so that a token opens this profile in addition to what it
   * opens now; undefined if no scope opens the profile.
   */
  scopesToGrant(profile: string | undefined, granted: readonly string[]): readonly string[] | undefined {
    const [needed] = this.scopesFor(profile)
    if (needed === undefined) return undefined
    const kept = this.#scopes(({ scope = '' }) => granted.includes(scope))
    return [...new Set([...kept, needed])]
  }

  #scopes(isWanted: (rule: FrontAuthRule) => boolean): readonly string[] {
    const found = this.#rules.filter(isWanted).flatMap(({ scope }) => scope ?? [])
    return [...new Set(found.map((scope) => this.#asWritten(scope)))]
  }

  /** Some servers write `read` into a token for which the client asked for `api://id/read`. */
  #asWritten(scope: string): string {
    return this.#written.find((each) => each === scope || each.endsWith(`/${scope}`)) ?? scope
  }
}
