// The interface of a configured server to the proxy, the same for every kind.

import type { ErrorBody } from '../../jsonrpc/build.js'
import type { Readable, Writable } from 'node:stream'
import type { Connection } from '../../jsonrpc/connection.js'
import type { NotificationFrame } from '../../jsonrpc/frame.js'
import type { Edit } from '../../jsonrpc/splice.js'
import type { Call, ClientPort } from '../../calls/call.js'
import type { FailureReason } from '../../mcp/error-codes.js'
import type { EraEvidence, ServerFacts } from '../../mcp/eras/server-opener.js'
import type { ListItem } from '../../mcp/list-items.js'
import type { ListKind } from '../../mcp/methods.js'
import type { ListChange } from './list-guard.js'
import type { ServerConfig } from './server-config.js'

export type UpstreamState = 'connected' | 'starting' | 'disconnected' | 'error'

/** `login-required` is an error that a login of a person ends. */
export type ShownState = UpstreamState | 'login-required'

/** The description of the bundled sandbox. */
export interface ServerAbout {
  readonly runtime: string
  readonly isolation: string
  /** The network that code reaches: `none`, `allow` (named hosts), `host`, or another text of the runtime. */
  readonly network: string
  /** The names of the tools. */
  readonly tools: readonly string[]
}

/** The current load of a server. */
export interface ServerGauges {
  /** Calls that the server works on. */
  readonly inFlight: number
  /** Calls that wait for a process or for a slot of one. */
  readonly queued: number
  /** Calls that the processes or sessions may work on at the same time. */
  readonly slots: number
  /** Starts after a crash, since the start of the proxy. */
  readonly restarts: number
  /** Resident memory of the processes in bytes; undefined without a watch. */
  readonly memoryBytes: number | undefined
}

/** One server as the status shows it. */
export interface UpstreamStatus {
  readonly name: string
  readonly kind: string
  readonly state: ShownState
  readonly error: string | undefined
  /** When the server was last ready for calls, in milliseconds since 1970; undefined if it never was. */
  readonly connectedAtMs: number | undefined
  readonly pids: readonly number[]
  /** The revision that the server speaks; undefined before the first handshake. */
  readonly revision: string | undefined
  /** How the proxy has found out the era of the server. */
  readonly evidence: EraEvidence | undefined
  readonly tools: number
  readonly gauges: ServerGauges
  /** The differences from `mcps.lock`, if there are any. */
  readonly changes?: readonly ListChange[]
  /** How many items its lists lack because clients would refuse them; absent for none. */
  readonly leftOut?: number
  readonly about?: ServerAbout
  /** The users with open sessions, and those of them without a login, if each user has a login. */
  readonly users?: { readonly count: number; readonly withoutLogin: number }
}

export interface UpstreamFailure {
  readonly message: string
  /** The error of a call, if it is known. */
  readonly body: ErrorBody | undefined
  readonly reason: FailureReason | undefined
}

/** Facts about a server from an earlier start, until this start has succeeded or failed. */
export type Before =
  | { readonly kind: 'nothing' }
  /** Clients see the kept description. */
  | { readonly kind: 'facts' }
  /** Lists do not wait for the server, because its last start failed for this reason. */
  | { readonly kind: 'silent'; readonly failure: string }

/** The facts of a server, and the state of its start. */
export interface ServerView {
  /** The result of the first attempt to reach the server. */
  readonly state: UpstreamState
  readonly failure: UpstreamFailure | undefined
  /** Undefined until the server has described itself. */
  readonly facts: ServerFacts | undefined
  readonly before: Before
  /** When the first start began, in monotonic milliseconds; undefined before. */
  readonly startedAt: number | undefined
  /** Whether the first attempt to reach the server is under way. */
  readonly isStarting: boolean
  /** Whether the lists will be read soon, after the first start or a later urgent one. */
  readonly isPending: boolean
  /** Whether this list will be read soon; false if the server cannot be reached at first. */
  isComing(kind: ListKind): boolean
  /** Whether this list is known, from this start or an earlier one. */
  isShown(kind: ListKind): boolean
  /** When this list was first read in this start, in monotonic milliseconds. */
  listedAt(kind: ListKind): number | undefined
  /** Whether this start of the proxy had the lists of an earlier one. */
  readonly wasKept: boolean
  items(kind: ListKind): readonly ListItem[]
  /** Starts a server if wanted lists are unknown. For a call, kept lists do not suffice. */
  want(kinds: readonly ListKind[], how: 'list' | 'call'): void
}

/** A server that calls are routed to. */
export interface CallTarget {
  readonly config: ServerConfig
  /** The lists that clients see. They may come from another process than the one that takes the calls. */
  readonly view: ServerView
  /** The lists that the server of the calls does not have, or that were read at least once. */
  readonly listed: ReadonlySet<ListKind>
  /** Whether a task can belong to a single client. */
  readonly keepsTasks: boolean
  /** Whether the target takes no new calls, because its server has left the configuration. */
  readonly isRetired: boolean
  /** Starts or asks the server now if its lists are unknown, because the call may be for it. */
  wantFor(call: Call): void
  /** Carries out the call and settles it. */
  call(call: Call, edits: readonly Edit[]): void
  /** Records that the client follows this resource, even if another server got the request. */
  follow(client: ClientPort, uri: string): void
}

/** A server as one client uses it, with processes for this client alone or with shared ones. */
export interface Lane extends CallTarget {
  /** Whether other clients may use the lane too. */
  readonly isShared: boolean
  readonly pids: readonly number[]
  /** Sets the lowest level of log messages for the client. */
  setLogLevel(client: ClientPort, level: string): void
  /** Forwards that the roots of the client have changed. */
  rootsChanged(client: ClientPort, frame: NotificationFrame): void
  /** Pauses or resumes reading from the server, because the client reads too slowly. */
  setReading(client: ClientPort, on: boolean): void
  /** Removes the subscriptions of a client that moves to another lane, and returns their resources. */
  takeSubscriptions(client: ClientPort): string[]
  /** Removes and returns the client's calls that have not begun here, so that another lane can make them. */
  release(client: ClientPort): Call[]
  /** Ends everything that only this client used, and resolves then; undefined if nothing has to end. */
  leave(client: ClientPort): Promise<void> | undefined
}

/** The members of Node's `ChildProcess` that the proxy uses. */
export interface RunningProcess {
  readonly pid?: number | undefined
  readonly stdin: Writable | null
  readonly stdout: Readable | null
  readonly stderr: Readable | null
  readonly exitCode: number | null
  readonly signalCode: string | null
  kill(signal: 'SIGTERM' | 'SIGKILL'): boolean
  once(event: 'exit', listener: (code: number | null, signal: string | null) => void): unknown
}

export interface Upstream {
  readonly config: ServerConfig
  /** Whether no two clients share a process. */
  readonly isIsolated: boolean
  /** The facts for a client without a lane, from running processes or from an earlier start. */
  readonly view: Pick<ServerView, 'before' | 'facts' | 'failure' | 'state'>
  /** Applies a configuration that needs no other process, because only names and filters differ. */
  adjust(config: ServerConfig): void
  /** Uses a server that was started elsewhere as the first process; false if there is one already. */
  adopt(server: Connection | RunningProcess): boolean
  /** Returns the lane that this client uses from now on. */
  attach(client: ClientPort): Lane
  status(): UpstreamStatus
  /** Refuses new calls, lets running calls finish for up to `graceMs`, and closes; `why` is for people. */
  retire(graceMs: number, why: string): Promise<void>
  close(): Promise<void>
}

// How the proxy has found out the era of a server, for people.

/** The text after the revision of the server. */
export const evidenceInWords: Readonly<Record<EraEvidence, string>> = {
  configured: 'as configured',
  described: 'as it answered server/discover',
  unlisted: 'its answer to server/discover lists no later one',
  refused: 'it refused server/discover',
  silent: 'it did not answer server/discover',
  ended: 'it ended on server/discover',
  kept: 'it did not answer server/discover earlier, or ended on it',
}
