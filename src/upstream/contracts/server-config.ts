// One configured server, after reading, defaulting and expansion.
//
// `src/config` makes these from a file; `src/upstream/kinds` opens them.
// Every field is present: defaults are applied once, where the file is read.

import type { CallTimes } from '../../calls/call-deadline.js'
import type { ChangeAction } from './list-guard.js'
import type { SandboxSettings } from './sandbox-config.js'

/** The tools that clients see, by the server's own names. */
export interface ToolFilter {
  /** Clients see only these tools; undefined shows all. */
  readonly allow: readonly string[] | undefined
  readonly deny: readonly string[]
  /** Maps the server's own name to the new name, which still gets a prefix if `prefix` is on. */
  readonly rename: ReadonlyMap<string, string>
}

/** Own names of tools, with `*` for any characters; or all that their annotations do not call harmless. */
export type ConfirmRule = string | { readonly annotations: 'destructive' }

/** The time limits of a server, in milliseconds. */
export interface ServerTimes extends CallTimes {
  /** The limit for a start with its handshake, and for one list with all its pages. */
  readonly startTimeoutMs: number
  /** The limit for a start of a server that has never listed, which may have to be installed first. */
  readonly firstStartTimeoutMs: number
}

/** The era of a server: with a handshake, without one, or as the server answers. */
export type ServerProtocol = 'auto' | 'handshake' | 'stateless'

/** The keys of every kind of server. */
export interface ServerCommon extends ServerTimes {
  readonly name: string
  readonly protocol: ServerProtocol
  /** The revision that the proxy offers to a server with sessions, if the configuration names one. */
  readonly revision?: string | undefined
  readonly disabled: boolean
  /** Whether the server starts when a client first needs it. */
  readonly lazy: boolean
  /** Whether the one client opens the server with its own handshake, and gets the server's own answer. */
  readonly isTransparent?: true
  /** Whether the proxy keeps the description and lists, and shows them until the server has started again. */
  readonly keep: boolean
  /** Why the proxy cannot open this server, such as an unset variable; the other servers start. */
  readonly unavailable: string | undefined
  readonly tools: ToolFilter
  /** Earlier names of tools: calls with these names reach the tools, but no list shows them. */
  readonly olderNames?: ReadonlyMap<string, string>
  /** Whether public names are `name__own`; otherwise names pass unchanged. */
  readonly prefix: boolean
  /** Whether descriptions of tools begin with `[name] `. */
  readonly describe: boolean
  /** Whether the proxy checks arguments against the schema of their tool. */
  readonly argumentChecks: 'on' | 'off'
  /** The tools for which the user of the client must confirm each call. */
  readonly confirm: readonly ConfirmRule[]
  /** The consequence of a difference from `mcps.lock`; false for none, undefined if no lock is used. */
  readonly lock?: ChangeAction | false
  /** The names of the `${VAR}`s in the configuration, for messages about credentials. */
  readonly variables: readonly string[]
  /** The values of variables and of `env`. They must never be logged. */
  readonly secrets: readonly string[]
}

/** Which clients share a process; see `sharing.ts`. */
export type Isolation = 'auto' | 'shared' | 'session'

/** The sandbox of a program, which reads only the system and these paths, and reaches only these hosts. */
export interface ProcessSandbox {
  /** Hosts as `example.com`, `*.example.com` or `api.example.com:8443`. */
  readonly network: 'none' | 'host' | readonly string[]
  /** Files and folders, absolute. */
  readonly read: readonly string[]
  /** Folders, absolute. */
  readonly write: readonly string[]
  /** The home folder, absolute. The program may write it, and no other program uses it. */
  readonly home: string
  /** Absolute paths of program folders, in addition to those of the system. */
  readonly programs: readonly string[]
  /** Folders that other confined servers may write. A link in them must not lead to a path above. */
  readonly untrusted: readonly string[]
}

/** A server that runs as a child process and speaks on its stdin and stdout. */
export interface StdioServerConfig extends ServerCommon {
  readonly kind: 'stdio'
  readonly command: string
  readonly args: readonly string[]
  readonly env: Readonly<Record<string, string>>
  /** The names of inherited variables, or true for all except the variables of the proxy itself. */
  readonly inheritEnv: true | readonly string[]
  /** Absolute. */
  readonly cwd: string
  readonly restart: boolean
  /** The first delay before a restart. It grows with every crash. */
  readonly restartDelayMs: number
  /** Crashes within a minute until the restarts pause; undefined for the limit of the proxy. */
  readonly crashesMax: number | undefined
  readonly concurrency: number
  readonly processes: number
  readonly isolation: Isolation
  /** The proxy stops a process without a call for this time; undefined for never. */
  readonly idleTimeoutMs: number | undefined
  /** The time between SIGTERM and SIGKILL. */
  readonly stopTimeoutMs: number
  readonly memoryLimitBytes: number | undefined
  /** Undefined for a program without a sandbox. */
  readonly sandbox: ProcessSandbox | undefined
  readonly onTimeout: 'cancel' | 'restart'
}

/** A grant without a person (RFC 6749, section 4.4; RFC 7523; RFC 8693; identity assertion grant of MCP). */
export interface UnattendedGrant {
  readonly kind: 'client_credentials' | 'jwt_bearer' | 'token_exchange' | 'id_jag'
  /** The token for a request of access tokens; undefined if a file or the client's credentials replace it. */
  readonly assertion: string | undefined
  /** The absolute path of a file with the token. The proxy reads it for every request. */
  readonly assertionFile: string | undefined
  readonly identityProvider: IdentityProvider | undefined
}

/** The authorization server that exchanges the assertion for one that the resource's server accepts. */
export interface IdentityProvider {
  readonly issuer: string
  readonly clientId: string | undefined
  readonly clientSecret: string | undefined
}

/** How a person, or the proxy by itself, logs in to a remote server (MCP, Authorization). */
export interface LoginSettings {
  /** The folder with the logins of this user; absolute. */
  readonly folder: string
  /** The id of a client that is registered at the authorization server; undefined registers one. */
  readonly clientId: string | undefined
  readonly clientSecret: string | undefined
  /** A private key (PEM) in place of the secret. */
  readonly clientKey: string | undefined
  /** The address of the client ID metadata document, for authorization servers that read one. */
  readonly clientMetadataUrl: string | undefined
  /** The scope to request; undefined for the scope that the server wants. */
  readonly scope: string | undefined
  /** The issuer that the proxy accepts, as it names itself; undefined for the first that the server names. */
  readonly issuer: string | undefined
  /** Whether the proxy assumes support of S256 if the metadata names no PKCE methods. */
  readonly assumesPkce: boolean
  /** The address of the authorization server's metadata; undefined for the well-known places. */
  readonly metadataUrl: string | undefined
  /** Replaces the resource that the server names; false omits it. */
  readonly resource: string | false | undefined
  /** The registered port of the callback; undefined derives one from the address of the server. */
  readonly callbackPort: number | undefined
  /** Whether a browser may open as soon as the server wants a login. */
  readonly isAutomatic: boolean
  /** Whether a person logs in with a code instead of the browser of this machine (RFC 8628). */
  readonly isByDevice: boolean
  /** Whether each user of the HTTP front has a login. */
  readonly isPerUser: boolean
  /** The user of the login; absent if all clients share one login. */
  readonly user?: string | undefined
  /** Undefined if a person logs in. */
  readonly unattended: UnattendedGrant | undefined
}

export interface HttpAuth {
  readonly type: 'google' | 'oauth' | 'none'
  /** Undefined for the origin of the address. */
  readonly audience: string | undefined
  /** Undefined for the account of the credentials. */
  readonly impersonateServiceAccount: string | undefined
}

/** The TLS files for a remote server; absolute paths. */
export interface HttpTls {
  /** The trusted authorities for this server, which replace those of the machine. */
  readonly ca: string | undefined
  readonly cert: string | undefined
  readonly key: string | undefined
  readonly servername: string | undefined
}

/** A server reached over Streamable HTTP, or over the older HTTP+SSE pair. */
export interface HttpServerConfig extends ServerCommon {
  readonly kind: 'http' | 'sse'
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly retries: number
  readonly retryDelayMs: number
  readonly reconnectIntervalMs: number
  readonly auth: HttpAuth | undefined
  /** Undefined if the configuration has other credentials, or sends none. */
  readonly login: LoginSettings | undefined
  /** The HTTP proxy for this server; false connects directly, undefined follows the environment. */
  readonly proxy: string | false | undefined
  readonly tls: HttpTls | undefined
}

/** The bundled sandbox, in which code of clients runs. */
export interface SandboxServerConfig extends ServerCommon {
  readonly kind: 'sandbox'
  readonly sandbox: SandboxSettings
}

export type ServerConfig = StdioServerConfig | HttpServerConfig | SandboxServerConfig

/** The name of the server in `mcps-proxy login`. No configuration has the server of `connect`. */
export function loginNameOf({ isTransparent, url, name }: HttpServerConfig): string {
  return isTransparent === true ? url : name
}

export function isRemote(config: ServerConfig): config is HttpServerConfig {
  return config.kind === 'http' || config.kind === 'sse'
}
