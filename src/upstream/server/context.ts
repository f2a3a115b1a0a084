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

export interface ProxyContext {
  readonly runtime: Runtime
  readonly log: LogSink
  readonly news: UpstreamNews
  readonly verbose: boolean
  /** The place of the person who can log in to remote servers. */
  readonly person: 'here' | 'elsewhere' | undefined
  /** The login pages of the front; undefined without pages, or if the user cannot log in at the front. */
  readonly loginPages?: ((user: string) => OpenLoginPages | undefined) | undefined
  readonly limits: Limits['upstream']
  readonly open: OpenServer
  /** The taps of a new connection to this server. */
  readonly watch: (service: string) => PeerWatch
  readonly kept: KeptServers
  /** Called with secrets of a server, such as session ids, cookies, and the tokens of its login. */
  readonly onSecrets?: ((secrets: readonly string[], service: string) => void) | undefined
  /** Compares lists with `mcps.lock`; undefined without a lock, and another object after each change. */
  readonly guard: () => ListGuard | undefined
  /** When a process of only one client starts: with the client, or with its first call. */
  readonly ownStart: 'with-client' | 'with-call'
  /** Whether a process serves only clients of one principal, unless `isolation` is `shared`. */
  readonly separatesPrincipals: () => boolean
  /** Whether clients have users, each of whom may have a login at a remote server. */
  readonly hasUsers: () => boolean
  /** Variables of the proxy for every process that it starts. */
  readonly marks: Readonly<Record<string, string>>
  /** Decides when processes start, counts them, and limits them. */
  readonly gate: StartGate
}

/** How the servers of one kind behave. Some of it can be configured for programs only. */
export interface ServerKind extends Pick<
  StdioServerConfig,
  'isolation' | 'concurrency' | 'processes' | 'idleTimeoutMs' | 'restart' | 'restartDelayMs' | 'onTimeout'
> {
  /** Removes secrets from texts of the server that people read. */
  readonly redactor: Redactor
  /** Rejects with TransportError. */
  readonly dial: (known: KnownServer) => Dialed | Promise<Dialed>
  /** Whether a start may install a package first. */
  readonly installs?: boolean
  /** Adopts a process that runs already; absent if servers of this kind are not processes. */
  readonly adopt?: (running: RunningProcess) => Dialed
  /** Whether a request of the server names the call that it is about. */
  readonly questionsNameTheirCall: boolean
  /** The time for an answer to `server/discover`. A server that is silent for longer ignores the question. */
  readonly probeMs: number
  /** Undefined without logins, or before the first connection. */
  readonly logins?: () => ServerLogins | undefined
  /** The sandbox's description of itself; undefined before it runs. */
  readonly about?: () => ServerAbout | undefined
}

export interface ServerLogins {
  /** Calls `wake` when a login succeeds or ends, until the timer is cancelled. */
  onChange(wake: () => void): Timer
  /** Asks the person again, because a call needs the login. */
  ask(): void
  /** The login in the browser that the client's first request waits for; resolves when it has ended. */
  readonly underWay: Promise<void> | undefined
  /** The login tool, listed while the server needs a login, if no browser opens or there is one client. */
  readonly tool: LoginTool | undefined
  close(): void
}

/** The context that the classes of one server share. Only `Server` changes the members without `readonly`. */
export interface ServerContext extends Omit<ProxyContext, 'open'>, Omit<ServerKind, 'dial'> {
  readonly service: string
  /** Names and filters may change while the server runs. */
  config: ServerConfig
  /** Why the server has left the configuration, for people; undefined before. */
  retiredBecause: string | undefined
  isClosed: boolean
  readonly tell: (level: LogLevel, message: string, details?: LogRecord['details']) => void
  /** Makes the server ready for calls on a new connection. */
  readonly open: (opening: Opening) => Promise<Opened>
  /** The arguments of each tool that header fields repeat, from the last list of a remote server. */
  readonly marked: MarkedTools
  readonly restarts: Restarts
  readonly memory: ServerMemory
  /** Connects to the server, or returns the connection to one that was started elsewhere. */
  readonly connect: () => Dialed | Promise<Dialed>
  /** Whether a server that was started elsewhere waits for its first worker. */
  readonly hasAdopted: () => boolean
  readonly isRemote: boolean
  readonly times: ServerTimes
}
