// Which profiles the scopes and claims of a token open, and which scopes a client should ask for.

import type { JsonObject } from '../text/json-object.js'
import type { FrontAuthConfig, FrontAuthRule } from '../config/configuration.js'
import { scopesOf, textsOf } from './claims.js'

/** The parts of a token that rules look at. */
export interface Grants {
  readonly scopes: readonly string[]
  /** The values of the claims that rules name. */
  readonly claims: ReadonlyMap<string, readonly string[]>
}

/** Most scopes of one token that are kept, and most values of a claim. */
const VALUES_MAX = 256

export class AccessRules {
  readonly #rules: readonly FrontAuthRule[]
  readonly #written: readonly string[]

  constructor({ rules, scopes }: Pick<FrontAuthConfig, 'rules' | 'scopes'>) {
    this.#rules = rules
    this.#written = scopes
  }

  /** The parts of a token that the rules need. */
  grantsIn(claims: JsonObject): Grants {
    const names = new Set(this.#rules.flatMap(({ claim }) => claim ?? []))
    return {
      scopes: scopesOf(claims).slice(0, VALUES_MAX),
      claims: new Map([...names].map((name) => [name, textsOf(claims[name]).slice(0, VALUES_MAX)])),
    }
  }

  /** The profiles of all rules that fit; undefined is everything. */
  profilesOf({ scopes, claims }: Grants): readonly string[] | undefined {
    if (this.#rules.length === 0) return undefined
    const fitting = this.#rules.filter(({ scope, claim = '', value = '' }) =>
      scope === undefined ? claims.get(claim)?.includes(value) === true : scopes.includes(scope),
    )
    if (fitting.some(({ profiles }) => profiles === undefined)) return undefined
    return [...new Set(fitting.flatMap(({ profiles = [] }) => profiles))].sort()
  }

  /** The scopes that open this profile; those that open everything where `profile` is undefined, or where none names it. */
  scopesFor(profile: string | undefined): readonly string[] {
    const ofProfile =
      profile === undefined ? [] : this.#scopes(({ profiles }) => profiles?.includes(profile) === true)
    return ofProfile.length > 0 ? ofProfile : this.#scopes(({ profiles }) => profiles === undefined)
  }

  /** Every scope that clients may ask for. */
  get allScopes(): readonly string[] {
    return this.#rules.length === 0 ? this.#written : this.#scopes(() => true)
  }

  /**
   * The scopes to ask for so that a token opens what it does now and this profile too, as clients write them; undefined
   * where no scope opens it.
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

  /** Some servers write `read` into a token for which a client has asked `api://id/read`. */
  #asWritten(scope: string): string {
    return this.#written.find((each) => each === scope || each.endsWith(`/${scope}`)) ?? scope
  }
}
