// A configuration after reading: every default applied, every variable expanded.

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

/** A view on a schema, by its name. */
export interface ProfileConfig extends ViewRules {
  readonly name: string
  readonly schema: string
}

type RootValues = ValuesOf<typeof rootFields>
type FrontValues = ValuesOf<typeof frontFields>
type FrontAuthValues = NonNullable<FrontValues['auth']>

/** A value that the terminal asks for once. */
export type InputConfig = RootValues['inputs'][number]

/** How often clients may call tools; `*` in a pattern stands for any characters. */
export type LimitConfig = RootValues['limits'][number] & {
  /** Calls that may come together, after a pause. */
  readonly burst: number
}

export type CorsConfig = FrontValues['cors'] & {
  /** Whether pages of this machine may call without a token, by `MCP_ENABLE_CORS` without named origins. */
  readonly localPages?: boolean | undefined
}

/** A token of one client, or of several that are one principal. */
export type FrontToken = NonNullable<FrontValues['tokens']>[number]

/** An authorization server whose tokens the front accepts. */
export type FrontAuthIssuer = FrontAuthValues['issuers'][number]

/** Tokens with this scope, or with this value of a claim, may use these profiles. */
export type FrontAuthRule = FrontAuthValues['rules'][number]

/** The client of the front at an authorization server, by which users show who they are before a login to a server. */
export type FrontLogin = NonNullable<FrontAuthValues['login']> & {
  readonly issuer: string
}

/** Access tokens of authorization servers; without `login`, users cannot log in to servers by the pages of the front. */
export type FrontAuthConfig = Omit<FrontAuthValues, 'login'> & { readonly login: FrontLogin | undefined }

/** The block `server`, with what the environment says; its `secrets` are never logged. */
export interface FrontConfig extends Omit<FrontValues, 'cors' | 'auth' | 'stateKey' | 'previousStateKey'> {
  readonly cors: CorsConfig
  readonly auth: FrontAuthConfig | undefined
  /** The key with which states are signed, and the key before it. */
  readonly stateKeys: readonly string[]
  readonly secrets: readonly string[]
}

/** The destination of the lines of calls, and their extent; without a file, they go to stderr. */
export type AuditConfig = Omit<NonNullable<RootValues['audit']>, 'file'> & {
  /** Absolute. */
  readonly file: string | undefined
}

/** The file with what was accepted of servers, and whether servers are compared with it. */
export interface LockPlace {
  /** Absolute. */
  readonly path: string
  readonly isOn: boolean
}

/** Everything that a configuration file says. */
export interface Configuration extends Pick<RootValues, 'logging' | 'startupGraceMs' | 'processesMax'> {
  /** Absolute path of the file, `embedded`, or what the caller named it. */
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
