// A configuration after reading: every default is applied, and every variable is expanded.

import type { ServerConfig } from '../upstream/contracts/server-config.js'
import type { ViewRules } from '../upstream/contracts/view-rules.js'
import type { frontFields, rootFields } from './keys.js'
import type { ConfigWarning } from './problems.js'
import type { ValuesOf } from './values.js'

/** A named group of servers that clients see as one server. */
export interface SchemaConfig {
  readonly name: string
  readonly enabled: boolean
  /** In the order of the file. */
  readonly servers: readonly ServerConfig[]
}

export interface ProfileConfig extends ViewRules {
  readonly name: string
  readonly schema: string
}

type RootValues = ValuesOf<typeof rootFields>
type FrontValues = ValuesOf<typeof frontFields>
type FrontAuthValues = NonNullable<FrontValues['auth']>

/** A value for which the terminal asks once. */
export type InputConfig = RootValues['inputs'][number]

/** How often clients may call tools; `*` in a pattern stands for any characters. */
export type LimitConfig = RootValues['limits'][number] & {
  /** Calls that may come together after a pause. */
  readonly burst: number
}

export type CorsConfig = FrontValues['cors'] & {
  /** Whether pages of this machine may call without a token: `MCP_ENABLE_CORS` is set and no origins are named. */
  readonly localPages?: boolean | undefined
}

/** A token of one client, or of several clients that are one principal. */
export type FrontToken = NonNullable<FrontValues['tokens']>[number]

/** An authorization server whose tokens the front accepts. */
export type FrontAuthIssuer = FrontAuthValues['issuers'][number]

/** The profiles for tokens with this scope, or with this value of a claim. */
export type FrontAuthRule = FrontAuthValues['rules'][number]

/** The client of the front at an authorization server, at which users identify themselves before other logins. */
export type FrontLogin = NonNullable<FrontAuthValues['login']> & {
  readonly issuer: string
}

/** Access tokens of authorization servers. Without `login`, users cannot log in to servers on pages of the front. */
export type FrontAuthConfig = Omit<FrontAuthValues, 'login'> & { readonly login: FrontLogin | undefined }

/** The block `server` with the overrides of the environment. Its `secrets` are never logged. */
export interface FrontConfig extends Omit<FrontValues, 'cors' | 'auth' | 'stateKey' | 'previousStateKey'> {
  readonly cors: CorsConfig
  readonly auth: FrontAuthConfig | undefined
  /** The key that signs states, and the previous key. */
  readonly stateKeys: readonly string[]
  readonly secrets: readonly string[]
}

/** The destination of the audit, and the calls that it logs. Without a file, the lines go to stderr. */
export type AuditConfig = Omit<NonNullable<RootValues['audit']>, 'file'> & {
  /** Absolute. */
  readonly file: string | undefined
}

/** The file of accepted lists, and whether servers are compared with it. */
export interface LockPlace {
  /** Absolute. */
  readonly path: string
  readonly isOn: boolean
}

/** Everything that a configuration file says. */
export interface Configuration extends Pick<RootValues, 'logging' | 'startupGraceMs' | 'processesMax'> {
  /** The absolute path of the file, `embedded`, or the name that the caller passed. */
  readonly source: string
  readonly server: FrontConfig
  readonly schemas: ReadonlyMap<string, SchemaConfig>
  readonly profiles: ReadonlyMap<string, ProfileConfig>
  readonly limits: readonly LimitConfig[]
  readonly audit: AuditConfig | undefined
  readonly lock: LockPlace
  readonly warnings: readonly ConfigWarning[]
}

export type Environment = Readonly<Record<string, string | undefined>>
