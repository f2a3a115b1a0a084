// Emits the `server` events of one server: each process begins once and ends once.

import { crossing } from '../../mcp/eras/crossing.js'
import type { EraEvidence, OpenedServer } from '../../mcp/eras/leg.js'
import { useOf } from './sharing.js'
import { asUpstreamError } from '../contracts/errors.js'
import type { Dialed, DialEnd } from '../contracts/dial.js'
import type { Timer } from '../../runtime/runtime.js'
import type { Lists } from './lists.js'
import type { ServerConnection } from './connection.js'
import type { ListKind } from '../../mcp/methods/method-row.js'
import type { ServerContext } from './context.js'
import type { FailureReason } from '../../mcp/error-codes.js'
import type { ServerConfig } from '../contracts/server-config.js'

/** A process in use, and its client where it has only one. */
export interface ProcessUse {
  readonly connection: ServerConnection
  /** Undefined when clients share it. */
  readonly client: number | undefined
  /** How many went before it for the same clients. */
  readonly restarts: number
  /** Whether its client has left. */
  readonly isLeft: () => boolean
}

interface Start {
  readonly startedAt: number
  readonly late: Timer
  use: ProcessUse | undefined
  isOver: boolean
}

type News = ServerNews extends infer One
  ? One extends ServerNews
    ? Omit<One, 'server' | 'kind' | 'pid' | 'client' | 'ms'>
    : never
  : never

/** Tells of the processes of one server, or of its sessions. */
export class Reports {
  readonly #context: Omit<ServerContext, 'dialer' | 'reports'>
  readonly #stopping: () => StopCause | undefined
  readonly #starts = new WeakMap<Dialed, Start>()
  #crossing: string | undefined

  /** `stopping` says why all processes are being ended, if they are. */
  constructor(context: Omit<ServerContext, 'dialer' | 'reports'>, stopping: () => StopCause | undefined) {
    this.#context = context
    this.#stopping = stopping
  }

  /** A server is being reached. */
  began(dialed: Dialed): void {
    const { limits, runtime } = this.#context
    const late = runtime.setTimer(limits.lateMs, () => this.#tell(dialed, { state: 'late' }))
    this.#starts.set(dialed, { startedAt: runtime.now(), late, use: undefined, isOver: false })
    this.#tell(dialed, { state: 'starting' })
    void dialed.ended.then((end) => this.#ended(dialed, end))
  }

  /** A client, or several, use it from now on; `ready` rejects when they cannot. */
  used(connection: ServerConnection, use: Omit<ProcessUse, 'connection'>, ready: Promise<unknown>): void {
    const start = this.#starts.get(connection.dialed)
    if (start !== undefined) start.use = { connection, ...use }
    ready.catch((error: unknown) => this.#failed(connection.dialed, error))
  }

  /** A server has said what it speaks; what clients get of it is logged once, until it is something else. */
  opened({ facts }: OpenedServer): void {
    const { log, service } = this.#context
    const message = crossing(facts, useOf(this.#context))
    if (message !== this.#crossing) log({ level: 'debug', service, message })
    this.#crossing = message
  }

  ready(dialed: Dialed, { facts, evidence }: OpenedServer, tools: number): void {
    const start = this.#starts.get(dialed)
    if (start === undefined) return
    start.late.cancel()
    const restarts = start.use?.restarts ?? 0
    this.#tell(dialed, { state: 'ready', revision: facts.revision.version, evidence, tools, restarts })
  }

  lists(lists: Lists, client: number | undefined, changed: readonly ListKind[]): void {
    const count = (kind: ListKind): number => lists.items(kind).length
    const counts = {
      tools: count('tools'),
      prompts: count('prompts'),
      resources: count('resources'),
      templates: count('templates'),
    }
    this.#context.news.lists({ server: this.#context.service, client, changed, counts })
  }

  /** Why is known to the connection, which hears of the end in the same turn. */
  async #ended(dialed: Dialed, end: DialEnd): Promise<void> {
    await Promise.resolve()
    const use = this.#starts.get(dialed)?.use
    const cause = use === undefined ? this.#stopping() : this.#causeOf(use)
    const { reason, message } = use?.connection.failure ?? end
    if (use?.connection.endedOnProbe === true)
      this.#over(dialed, { state: 'stopped', cause: 'restart', message })
    else if (cause === undefined) this.#over(dialed, { state: 'failed', reason, message })
    else this.#over(dialed, { state: 'stopped', cause, message })
  }

  /** It could not be made ready; being stopped meanwhile is no failure. */
  #failed(dialed: Dialed, error: unknown): void {
    const { reason, message } = asUpstreamError(this.#context.service, error)
    if (reason !== 'shutting-down') this.#over(dialed, { state: 'failed', reason, message })
  }

  #over(dialed: Dialed, news: News): void {
    const start = this.#starts.get(dialed)
    if (start === undefined || start.isOver) return
    start.late.cancel()
    this.#tell(dialed, news)
    start.isOver = true
  }

  #tell(dialed: Dialed, news: News): void {
    const start = this.#starts.get(dialed)
    if (start === undefined || start.isOver) return
    const { kind, news: listener, runtime, service: server } = this.#context
    const ms = runtime.now() - start.startedAt
    const client = start.use?.client
    listener.server({ server, kind, pid: dialed.pid, client, ms, ...news })
  }

  /** Undefined when it has ended by itself. */
  #causeOf({ connection, isLeft }: ProcessUse): StopCause | undefined {
    if (!connection.isStopped) return undefined
    return (
      this.#stopping() ??
      (connection.failure.reason === 'closed' ? 'restart' : isLeft() ? 'client-gone' : 'idle')
    )
  }
}

/** Why the proxy has ended a process or a session of a server. */
export type StopCause =
  /** Nobody has used it for a while. */
  | 'idle'
  /** The one client that it belonged to has left. */
  | 'client-gone'
  /** To be started anew at once. */
  | 'restart'
  /** It has left the configuration, or was stopped or replaced. */
  | 'retired'
  /** The proxy closes. */
  | 'closing'

/** Which process of a server, or which session with a remote one. */
interface ServerProcessNews {
  readonly server: string
  readonly kind: ServerConfig['kind']
  /** Of the child process, where there is one. */
  readonly pid: number | undefined
  /** The client that it belongs to; undefined when clients share it. */
  readonly client: number | undefined
  /** Milliseconds since it was started. */
  readonly ms: number
}

/** A change of state of one process of a server, or of one session with a remote one. */
export type ServerNews = ServerProcessNews &
  (
    | { readonly state: 'starting' }
    /** It takes calls, and its lists have been read, or could not be. */
    | {
        readonly state: 'ready'
        /** The protocol version that it speaks. */
        readonly revision: string
        /** How that was found out. */
        readonly evidence: EraEvidence
        readonly tools: number
        /** How many went before it for the same clients. */
        readonly restarts: number
      }
    /** It should be ready by now; it is waited for all the same. */
    | { readonly state: 'late' }
    /** It could not be started, for want of a variable perhaps, or has ended by itself. */
    | { readonly state: 'failed'; readonly reason: FailureReason; readonly message: string }
    /** The proxy has ended it. */
    | { readonly state: 'stopped'; readonly cause: StopCause; readonly message: string }
  )

/** The lists of a server have changed, or were read for the first time. */
export interface ListsNews {
  readonly server: string
  /** The client that the process belongs to; undefined when clients share it. */
  readonly client: number | undefined
  readonly changed: readonly ListKind[]
  /** How many the server has now, whatever is shown of them. */
  readonly counts: Readonly<Record<ListKind, number>>
}

/** The listener for news of servers. */
export interface UpstreamNews {
  server(news: ServerNews): void
  lists(news: ListsNews): void
}
