// A configuration after reading: every default applied, every variable expanded.

import type { LogLevel } from '../runtime/runtime.js'
import type { ServerConfig } from '../upstream/contracts/server-config.js'
import type { ViewRules } from '../upstream/contracts/view-rules.js'
import type { ConfigWarning } from './problems.js'

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

/** How often clients may call tools; `*` in a pattern stands for any characters. */
export interface LimitConfig {
  /** The principals that it is for; undefined is every client. */
  readonly principal: string | undefined
  /** Names of tools, as clients without a profile see them. */
  readonly tools: readonly string[]
  readonly perMinute: number
  /** Calls that may come together, after a pause. */
  readonly burst: number
  /** Whether each tool is counted for itself. */
  readonly each: boolean
}

/** Which web pages may call the HTTP front. */
export interface CorsConfig {
  readonly enabled: boolean
  readonly origins: readonly string[]
  readonly methods: readonly string[]
  readonly credentials: boolean
  readonly allowedHeaders: readonly string[]
  /** Whether pages of this machine may call without a token: `MCP_ENABLE_CORS` says so where no origin is named. */
  readonly localPages?: boolean | undefined
}

/** The inspector that `--ui` serves. */
export interface UiConfig {
  /** Whether other machines may reach it. */
  readonly remote: boolean
  /** Whether secrets are taken out of messages. */
  readonly redact: boolean
  /** The bytes that are kept while no page is open; undefined is nothing. */
  readonly historyBytes: number | undefined
}

/** A token of one client, or of several that are one principal. */
export interface FrontToken {
  /** The principal. */
  readonly name: string
  /** In hexadecimal. */
  readonly sha256: string
  /** The profiles that its clients may use; undefined is everything. */
  readonly profiles: readonly string[] | undefined
  /** In milliseconds since 1970; undefined never ends. */
  readonly expiresAtMs: number | undefined
}

/** An authorization server whose tokens the front accepts. */
export interface FrontAuthIssuer {
  /** Compared character by character. */
  readonly issuer: string
  /** Values of `aud` besides the addresses of the front. */
  readonly audience: readonly string[]
  readonly algorithms: readonly string[]
  /** Undefined is that of the metadata. */
  readonly jwksUri: string | undefined
  /** Asks the issuer about each token; undefined checks signatures. */
  readonly introspection:
    { readonly url: string; readonly clientId: string; readonly clientSecret: string } | undefined
}

/** Tokens with this scope, or with this value of a claim, may use these profiles. */
export interface FrontAuthRule {
  readonly scope: string | undefined
  readonly claim: string | undefined
  readonly value: string | undefined
  /** Undefined is everything. */
  readonly profiles: readonly string[] | undefined
}

/** The client of the front at an authorization server, by which users show who they are before a login to a server. */
export interface FrontLogin {
  /** One of the issuers. */
  readonly issuer: string
  readonly clientId: string
  readonly clientSecret: string
}

export interface FrontAuthConfig {
  readonly issuers: readonly FrontAuthIssuer[]
  /** None is everything for every token. */
  readonly rules: readonly FrontAuthRule[]
  /** Scopes as clients ask for them, where the authorization server writes them differently into its tokens. */
  readonly scopes: readonly string[]
  /** Undefined where users cannot log in to servers by the pages of the front. */
  readonly login: FrontLogin | undefined
}

export interface FrontConfig {
  readonly port: number
  readonly host: string
  /** `serverInfo.name`. */
  readonly name: string
  /** `serverInfo.version`; undefined is that of the proxy. */
  readonly version: string | undefined
  /** Names under which clients reach the front in addition to its own, each with or without a port. */
  readonly allowedHosts: readonly string[]
  /** The header field in which a reverse proxy writes the address of the client; undefined trusts none. */
  readonly clientAddressField: string | undefined
  readonly cors: CorsConfig
  readonly ui: UiConfig
  /** How long calls may finish once the proxy is asked to stop; undefined leaves it to the limits. */
  readonly drainTimeoutMs: number | undefined
  /** The token that clients of the HTTP front must present; never to be logged. */
  readonly token: string | undefined
  /** Further tokens, of which only the hashes are known; an empty list refuses every client, and undefined asks for none. */
  readonly tokens: readonly FrontToken[] | undefined
  /** The address under which clients reach the front; undefined where none is configured. */
  readonly publicUrl: string | undefined
  /** Access tokens of authorization servers; undefined accepts none. */
  readonly auth: FrontAuthConfig | undefined
  /** The key with which states are signed, and the key before it; never to be logged. */
  readonly stateKeys: readonly string[]
  /** The page of metrics; undefined counts nothing. */
  readonly metrics: MetricsConfig | undefined
}

/** The places at which metrics are served, and their extent. */
export interface MetricsConfig {
  /** A port without a token; undefined serves them on the HTTP front alone. */
  readonly port: number | undefined
  readonly host: string
  /** Whether other machines may read them there. */
  readonly open: boolean
  /** Whether each tool has series of its own. */
  readonly tools: boolean
}

export interface LoggingConfig {
  readonly level: LogLevel
  /** Absolute; undefined writes no file. */
  readonly file: string | undefined
  readonly maxSizeBytes: number
  /** Files kept in all, the current one included. */
  readonly maxFiles: number
  /** Whether logs go to stderr. */
  readonly console: boolean
}

/** The place for the lines of calls, and their extent. */
export interface AuditConfig {
  /** Absolute; undefined is stderr. */
  readonly file: string | undefined
  /** Whether lines have arguments and results. */
  readonly payloads: boolean
  /** Patterns of the methods of which every call has a line. */
  readonly methods: readonly string[]
  /** The fate of calls while no line can be written. */
  readonly onError: 'continue' | 'refuse'
  readonly maxSizeBytes: number
  /** Files kept in all, the current one included. */
  readonly maxFiles: number
}

/** The file with what was accepted of servers, and whether servers are compared with it. */
export interface LockPlace {
  /** Absolute. */
  readonly path: string
  readonly isOn: boolean
}

/** Everything that a configuration file says. */
export interface Configuration {
  /** Absolute path of the file, `embedded`, or what the caller named it. */
  readonly source: string
  readonly server: FrontConfig
  readonly stdio: { readonly timeoutMs: number; readonly encoding: 'utf8'; readonly delimiter: '\n' }
  readonly schemas: ReadonlyMap<string, SchemaConfig>
  readonly profiles: ReadonlyMap<string, ProfileConfig>
  readonly limits: readonly LimitConfig[]
  readonly logging: LoggingConfig
  /** Undefined for no audit. */
  readonly audit: AuditConfig | undefined
  readonly lock: LockPlace
  /** How long the first lists wait for servers that are still starting. */
  readonly startupGraceMs: number | undefined
  /** Most processes of servers at the same time; undefined leaves it to the limits. */
  readonly processesMax: number | undefined
  readonly warnings: readonly ConfigWarning[]
}

/** An environment, as `process.env` is. */
export type Environment = Readonly<Record<string, string | undefined>>
