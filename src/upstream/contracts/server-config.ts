// One configured server, after reading, defaulting and expansion.
//
// `src/config` makes these from a file; `src/upstream/kinds` opens them.
// Every field is present: defaults are applied once, where the file is read.

import type { CallTimes } from '../../calls/call-deadline.js'
import type { ChangeAction } from './list-guard.js'
import type { SandboxSettings } from './sandbox-config.js'

/** Which of a server's tools clients see, by the server's own tool names. */
export interface ToolFilter {
  /** Only these are shown; undefined shows all. */
  readonly allow: readonly string[] | undefined
  readonly deny: readonly string[]
  /** Own name -> the name that takes its place (still prefixed when `prefix` is on). */
  readonly rename: ReadonlyMap<string, string>
}

/** Own names of tools, in which `*` stands for any characters; or those that their annotations do not call harmless. */
export type ConfirmRule = string | { readonly annotations: 'destructive' }

/** How long a server may take, in milliseconds. */
export interface ServerTimes extends CallTimes {
  /** For a start and the handshake, and for one list with all its pages. */
  readonly startTimeoutMs: number
  /** For a start and the handshake of a server that never listed, which may have to be installed first. */
  readonly firstStartTimeoutMs: number
}

/** Which revisions a server is taken to speak: those that begin with a handshake, those without, or what it answers. */
export type ServerProtocol = 'auto' | 'handshake' | 'stateless'

/** The keys of every kind of server. */
export interface ServerCommon extends ServerTimes {
  readonly name: string
  readonly protocol: ServerProtocol
  /** The revision that a server with sessions is asked for, where the configuration names one. */
  readonly revision?: string | undefined
  readonly disabled: boolean
  /** Started when a client first needs it. */
  readonly lazy: boolean
  /** Its one client opens it with its own handshake, and gets its own answer. */
  readonly isTransparent?: true
  /** Its description and lists are kept, and shown before it has started again. */
  readonly keep: boolean
  /** Why this one server cannot be opened (an unset variable); the others start. */
  readonly unavailable: string | undefined
  readonly tools: ToolFilter
  /** Earlier names of its tools: calls with these names reach the tools, and no list shows them. */
  readonly olderNames?: ReadonlyMap<string, string>
  /** Public names are `name__own`; off passes names through untouched. */
  readonly prefix: boolean
  /** Descriptions of tools begin with `[name] `. */
  readonly describe: boolean
  /** Whether arguments are checked against the schema of their tool. */
  readonly argumentChecks: 'on' | 'off'
  /** The user of the client is asked before a call of these tools. */
  readonly confirm: readonly ConfirmRule[]
  /** The consequence when the server lists something else than `mcps.lock` has; false is nothing, undefined where no lock is used. */
  readonly lock?: ChangeAction | false
  /** Names of the `${VAR}`s its configuration uses, for messages about credentials. */
  readonly variables: readonly string[]
  /** Values that came out of variables or `env`; never to be logged. */
  readonly secrets: readonly string[]
}

/** Which clients share a process; see `sharing.ts`. */
export type Isolation = 'auto' | 'shared' | 'session'

/** The sandbox of a program: it reads the system and these paths, and reaches these hosts. */
export interface ProcessSandbox {
  /** Hosts as `example.com`, `*.example.com` or `api.example.com:8443`. */
  readonly network: 'none' | 'host' | readonly string[]
  /** Files and folders, absolute. */
  readonly read: readonly string[]
  /** Folders, absolute. */
  readonly write: readonly string[]
  /** Its home folder, which it may write: what it installs is no other program's. Absolute. */
  readonly home: string
  /** Folders of programs that the proxy adds, besides those of the system. Absolute. */
  readonly programs: readonly string[]
  /** Folders that other confined servers may write: no link there leads to a path above. */
  readonly untrusted: readonly string[]
}

/** A server that runs as a child process and speaks on its stdin and stdout. */
export interface StdioServerConfig extends ServerCommon {
  readonly kind: 'stdio'
  readonly command: string
  readonly args: readonly string[]
  readonly env: Readonly<Record<string, string>>
  /** Names of variables, or true for all that are not the proxy's own. */
  readonly inheritEnv: true | readonly string[]
  /** Absolute. */
  readonly cwd: string
  readonly restart: boolean
  /** Whether a program that ends on the question which revisions it speaks is started anew; as `restart` unless given. */
  readonly startsAfterProbe?: boolean
  /** First delay before a restart; grows with every crash. */
  readonly restartDelayMs: number
  /** Crashes within a minute before it is left alone; undefined is the limit of the proxy. */
  readonly crashesMax: number | undefined
  readonly concurrency: number
  readonly processes: number
  readonly isolation: Isolation
  /** Stop a process that had no call for this long; undefined never does. */
  readonly idleTimeoutMs: number | undefined
  /** Between SIGTERM and SIGKILL. */
  readonly stopTimeoutMs: number
  readonly memoryLimitBytes: number | undefined
  /** Undefined for a program without a sandbox. */
  readonly sandbox: ProcessSandbox | undefined
  readonly onTimeout: 'cancel' | 'restart'
}

/** A grant in which no person takes part (RFC 6749, section 4.4; RFC 7523; RFC 8693; the identity assertion grant of MCP). */
export interface UnattendedGrant {
  readonly kind: 'client_credentials' | 'jwt_bearer' | 'token_exchange' | 'id_jag'
  /** The token that is shown for access tokens; undefined where the file has it, or the client's own credentials do. */
  readonly assertion: string | undefined
  /** A file with it, which is read for every request; absolute. */
  readonly assertionFile: string | undefined
  readonly identityProvider: IdentityProvider | undefined
}

/** The authorization server that turns the assertion into one for the server of the resource. */
export interface IdentityProvider {
  readonly issuer: string
  readonly clientId: string | undefined
  readonly clientSecret: string | undefined
}

/** How a person, or the proxy by itself, logs in to a remote server (MCP, Authorization). */
export interface LoginSettings {
  /** The folder with the logins of this user; absolute. */
  readonly folder: string
  /** Of a client that is registered at the authorization server; undefined registers one. */
  readonly clientId: string | undefined
  readonly clientSecret: string | undefined
  /** A private key (PEM) in place of the secret. */
  readonly clientKey: string | undefined
  /** The address of a document about the client (client ID metadata document), for authorization servers that read one. */
  readonly clientMetadataUrl: string | undefined
  /** Undefined asks for what the server wants. */
  readonly scope: string | undefined
  /** The only authorization server that is accepted, as it names itself; undefined is the first that the server names. */
  readonly issuer: string | undefined
  /** Metadata without PKCE methods is that of a server which supports S256. */
  readonly assumesPkce: boolean
  /** The address of the metadata of the authorization server; undefined looks at the well-known places. */
  readonly metadataUrl: string | undefined
  /** In place of the resource that the server names; false leaves it out. */
  readonly resource: string | false | undefined
  /** The port of the callback that the client is registered with; undefined chooses one by the address of the server. */
  readonly callbackPort: number | undefined
  /** Whether a browser may open as soon as the server wants a login. */
  readonly isAutomatic: boolean
  /** Whether a person logs in by a code that is shown, in place of the browser of this machine (RFC 8628). */
  readonly isByDevice: boolean
  /** Whether each user of the HTTP front has a login. */
  readonly isPerUser: boolean
  /** The user whose login it is; absent where all clients have one. */
  readonly user?: string | undefined
  /** Undefined where a person logs in. */
  readonly unattended: UnattendedGrant | undefined
}

/** Credentials for a remote server, in addition to its headers. */
export interface HttpAuth {
  readonly type: 'google' | 'oauth' | 'none'
  /** Undefined is the origin of the address. */
  readonly audience: string | undefined
  /** Undefined uses the account of the credentials. */
  readonly impersonateServiceAccount: string | undefined
}

/** The TLS files for a remote server; absolute paths. */
export interface HttpTls {
  /** Certificates of the authorities that are trusted for this server, in place of those that the machine trusts. */
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
  /** Undefined where the configuration has other credentials, or none are to be sent. */
  readonly login: LoginSettings | undefined
  /** The proxy on the way there; false goes directly, undefined asks the environment. */
  readonly proxy: string | false | undefined
  readonly tls: HttpTls | undefined
}

/** The sandbox of this process, in which code of clients runs. */
export interface SandboxServerConfig extends ServerCommon {
  readonly kind: 'sandbox'
  readonly sandbox: SandboxSettings
}

export type ServerConfig = StdioServerConfig | HttpServerConfig | SandboxServerConfig

/** Whether a server is reached over the network. */
export function isRemote(config: ServerConfig): config is HttpServerConfig {
  return config.kind === 'http' || config.kind === 'sse'
}
