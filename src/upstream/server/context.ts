// The context of one server: the services of the proxy, how servers of its kind behave, and the facts about this
// server.

import type { PeerWatch } from '../../jsonrpc/peer.js'
import type { Opened, Opening, OpenServer } from '../../mcp/eras/server-opener.js'
import type { Redactor } from '../../text/redactor.js'
import type { Dialed, KnownServer } from '../contracts/dialed.js'
import type { LogLevel, LogRecord, LogSink, Runtime, Timer } from '../../runtime/runtime.js'
import type { Limits } from '../../limits.js'
import type { LoginTool } from '../../login/login-tool.js'
import type { KeptServers } from '../contracts/kept.js'
import type { OpenLoginPages } from '../../login/callback-server.js'
import type { ListGuard } from '../contracts/list-guard.js'
import type { ServerMemory } from './server-memory.js'
import type { MarkedTools } from './read-list.js'
import type { UpstreamNews } from './reports.js'
import type { StartGate } from './start-gate.js'
import type { Restarts } from './restarts.js'
import type { RunningProcess, ServerAbout } from '../contracts/upstream.js'
import type { ServerConfig, ServerTimes, StdioServerConfig } from '../contracts/server-config.js'

/** The services of the proxy that servers work with. */
export interface ProxyContext {
  readonly runtime: Runtime
  readonly log: LogSink
  readonly news: UpstreamNews
  /** Whether every request over the network is logged. */
  readonly verbose: boolean
  /** The place of the person who can log in to remote servers. */
  readonly person: 'here' | 'elsewhere' | undefined
  /** The pages of the front for the logins of a user; undefined where there are none, or the user cannot log in at the front. */
  readonly loginPages?: ((user: string) => OpenLoginPages | undefined) | undefined
  readonly limits: Limits['upstream']
  readonly open: OpenServer
  /** The taps of a new connection to this server. */
  readonly watch: (service: string) => PeerWatch
  readonly kept: KeptServers
  /** Called with the secrets that a server hands out, such as session ids and cookies, and with the tokens of its login. */
  readonly onSecrets?: ((secrets: readonly string[], service: string) => void) | undefined
  /** Compares lists with `mcps.lock`; undefined where they are not locked, and a new object after each change of the lock. */
  readonly guard: () => ListGuard | undefined
  /** Whether a process that only one client uses starts with its first call instead of with the client. */
  readonly ownStart: 'with-client' | 'with-call'
  /** Whether a process serves clients of one principal only, where `isolation` is not `shared`. */
  readonly separatesPrincipals: () => boolean
  /** Whether clients have names, of which each may have a login at a remote server. */
  readonly hasUsers: () => boolean
  /** Variables of the proxy's own for every process that is started. */
  readonly marks: Readonly<Record<string, string>>
  /** Decides when processes start, counts them, and limits them. */
  readonly gate: StartGate
}

/** How the servers of one kind behave; some of it is configured for programs only. */
export interface ServerKind extends Pick<
  StdioServerConfig,
  'isolation' | 'concurrency' | 'processes' | 'idleTimeoutMs' | 'restart' | 'restartDelayMs' | 'onTimeout'
> {
  /** Removes secrets from texts of the server that people read. */
  readonly redactor: Redactor
  /** Rejects with TransportError. */
  readonly dial: (known: KnownServer) => Dialed | Promise<Dialed>
  /** Whether its start may install a package first. */
  readonly installs?: boolean
  /** Takes over a process that runs already; absent where servers of this kind are no processes. */
  readonly adopt?: (running: RunningProcess) => Dialed
  /** Whether a server says which call it asks about. */
  readonly questionsNameTheirCall: boolean
  /** Whether a server that ends on the question which revisions it speaks is started anew. */
  readonly startsAfterProbe: boolean
  /** Whether a connection stays open while clients are attached, also when they have no calls. */
  readonly staysForClients: boolean
  /** How long a server has to answer the question which revisions it speaks; a server that is silent for longer ignores the question. */
  readonly probeMs: number
  /** Undefined where there are no logins, or nothing has connected yet. */
  readonly logins?: () => ServerLogins | undefined
  /** The sandbox's description of itself; undefined before it runs. */
  readonly about?: () => ServerAbout | undefined
}

/** The logins to one server. */
export interface ServerLogins {
  /** Calls `wake` when a login was made or has ended, until that is cancelled. */
  onChange(wake: () => void): Timer
  /** A call needs the login, so that the person is asked again. */
  ask(): void
  /** A login in the browser for which the first request of the client waits; resolves when it has ended. */
  readonly underWay: Promise<void> | undefined
  /** Listed while the server wants a login, where no browser opens by itself, or one client has opened the server. */
  readonly tool: LoginTool | undefined
  close(): void
}

/** The context that the classes of one server share. `Server` alone changes what is not `readonly`. */
export interface ServerContext extends Omit<ProxyContext, 'open'>, Omit<ServerKind, 'dial'> {
  readonly service: string
  /** Names and filters may change while the server runs. */
  config: ServerConfig
  /** Why the server has left the configuration, for people; undefined while it is in it. */
  retiredBecause: string | undefined
  isClosed: boolean
  /** Logs something about this server. */
  readonly tell: (level: LogLevel, message: string, details?: LogRecord['details']) => void
  /** Makes the server ready for calls on a new connection. */
  readonly open: (opening: Opening) => Promise<Opened>
  /** The arguments of each tool that header fields repeat, from the last list of a server over the network. */
  readonly marked: MarkedTools
  readonly restarts: Restarts
  readonly memory: ServerMemory
  /** Connects to the server, or takes the one that was started elsewhere. */
  readonly connect: () => Dialed | Promise<Dialed>
  /** Whether a server that was started elsewhere waits for its first worker. */
  readonly hasAdopted: () => boolean
  /** Whether it is reached over the network. */
  readonly isRemote: boolean
  readonly times: ServerTimes
}
