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

/** `login-required` is an error that a person ends by a login. */
export type ShownState = UpstreamState | 'login-required'

/** The description of the bundled sandbox. */
export interface ServerAbout {
  readonly runtime: string
  readonly isolation: string
  /** The network that code reaches: `none`, `allow` for the hosts that are named, `host`, or other words of its runtime. */
  readonly network: string
  /** By name. */
  readonly tools: readonly string[]
}

/** The load of a server, now. */
export interface ServerGauges {
  /** Calls that it works on. */
  readonly inFlight: number
  /** Calls that wait for a process or for a slot of one. */
  readonly queued: number
  /** Calls that its processes, or its sessions, may work on at the same time. */
  readonly slots: number
  /** Starts after a crash, since the proxy began. */
  readonly restarts: number
  /** Resident memory of its processes where that is watched, in bytes. */
  readonly memoryBytes: number | undefined
}

/** One server as the status shows it. */
export interface UpstreamStatus {
  readonly name: string
  readonly kind: string
  readonly state: ShownState
  readonly error: string | undefined
  /** When it was last ready to be called, in milliseconds since 1970; undefined when it never was. */
  readonly connectedAtMs: number | undefined
  readonly pids: readonly number[]
  /** The revision that it speaks; undefined before its first handshake. */
  readonly revision: string | undefined
  /** How that was found out. */
  readonly evidence: EraEvidence | undefined
  readonly tools: number
  readonly gauges: ServerGauges
  /** The differences from `mcps.lock`, if there are any. */
  readonly changes?: readonly ListChange[]
  /** How many items are left out of its lists, because clients would refuse them; absent for none. */
  readonly leftOut?: number
  readonly about?: ServerAbout
  /** Of a server at which each user has a login: the users whose sessions are open, and those of them without a login. */
  readonly users?: { readonly count: number; readonly withoutLogin: number }
}

export interface UpstreamFailure {
  readonly message: string
  /** The error of a call, where that is known. */
  readonly body: ErrorBody | undefined
  readonly reason: FailureReason | undefined
}

/** Facts about a server from an earlier start, until this one has answered or failed. */
export type Before =
  | { readonly kind: 'nothing' }
  /** Its description is shown. */
  | { readonly kind: 'facts' }
  /** A list does not wait for it: its last start failed, for this reason. */
  | { readonly kind: 'silent'; readonly failure: string }

/** The facts of a server, and the state of its start. */
export interface ServerView {
  /** Whether the first attempt to reach it has ended, and well. */
  readonly state: UpstreamState
  /** Why it is not connected. */
  readonly failure: UpstreamFailure | undefined
  /** Undefined until the server has said. */
  readonly facts: ServerFacts | undefined
  readonly before: Before
  /** When its first start began, in monotonic milliseconds; undefined before. */
  readonly startedAt: number | undefined
  /** Whether the first attempt to reach it is under way. */
  readonly isStarting: boolean
  /** Whether its lists are about to be read, after that or a later start that was hurried. */
  readonly isPending: boolean
  /** Whether this list is about to be read; not where the server cannot be reached at first. */
  isComing(kind: ListKind): boolean
  /** Whether this list is known, of this start or an earlier one. */
  isShown(kind: ListKind): boolean
  /** When this list was first read in this start, in monotonic milliseconds. */
  listedAt(kind: ListKind): number | undefined
  /** Whether lists of an earlier start were there at this one. */
  readonly wasKept: boolean
  items(kind: ListKind): readonly ListItem[]
  /** A client wants these lists: a server of which they are not known starts now. For a call, kept lists are not enough. */
  want(kinds: readonly ListKind[], how: 'list' | 'call'): void
}

/** A server that calls are routed to. */
export interface CallTarget {
  readonly config: ServerConfig
  /** The lists that its clients see; they may come from another process than the one that takes the calls. */
  readonly view: ServerView
  /** The lists that have been read at least once of the server that takes the calls, or that it does not have. */
  readonly listed: ReadonlySet<ListKind>
  /** Whether a task of a client can be that client's own. */
  readonly keepsTasks: boolean
  /** Whether it takes no new calls, since its server has left the configuration. */
  readonly retired: boolean
  /** The call may be for it: while its lists are not known, it starts or is asked now, without a delay. */
  hurry(call: Call): void
  /** Takes the call over and settles it. */
  call(call: Call, edits: readonly Edit[]): void
  /** The client follows this resource, also if another server got the request for it. */
  follow(client: ClientPort, uri: string): void
}

/** A server as one client uses it: with processes for itself, or with shared ones. */
export interface Lane extends CallTarget {
  /** Whether other clients may use it too. */
  readonly shared: boolean
  /** Of its processes that run now. */
  readonly pids: readonly number[]
  /** The client wants log messages from this level on. */
  level(client: ClientPort, level: string): void
  /** The client says that its roots have changed. */
  rootsChanged(client: ClientPort, frame: NotificationFrame): void
  /** Stops or resumes reading for the sake of a client that reads too slowly. */
  read(client: ClientPort, on: boolean): void
  /** The client uses another lane from now on; gives the resources that it followed here. */
  takeSubscriptions(client: ClientPort): string[]
  /** Gives back the client's calls that have not begun here, to be made elsewhere. */
  release(client: ClientPort): Call[]
  /** The client is gone; resolves when what only it used has ended, undefined when there is nothing to wait for. */
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

/** A configured server. */
export interface Upstream {
  readonly config: ServerConfig
  /** Whether no two clients share a process. */
  readonly isolated: boolean
  /** The facts for a client without a lane: from running processes, or from an earlier start. */
  readonly view: Pick<ServerView, 'before' | 'facts' | 'failure' | 'state'>
  /** Takes a configuration that differs only in what needs no other process: names, and what is shown. */
  adjust(config: ServerConfig): void
  /** Uses a server that was started elsewhere as its first; false when it has one already. */
  adopt(server: Connection | RunningProcess): boolean
  /** The lane that this client uses from now on. */
  attach(client: ClientPort): Lane
  status(): UpstreamStatus
  /** Takes no new calls, lets those that run finish for up to `graceMs`, and closes; `why` is for people. */
  retire(graceMs: number, why: string): Promise<void>
  close(): Promise<void>
}

// How the era of a server was found out, for people.

/** Behind the revision that the server speaks. */
export const evidenceInWords: Readonly<Record<EraEvidence, string>> = {
  configured: 'as configured',
  described: 'as it answered server/discover',
  unlisted: 'its answer to server/discover lists no later one',
  refused: 'it refused server/discover',
  silent: 'it did not answer server/discover',
  ended: 'it ended on server/discover',
  kept: 'it did not answer server/discover earlier, or ended on it',
}
