// Emits the `server` and `lists` events of one server.

import type { EraEvidence, OpenedServer } from '../../mcp/eras/server-opener.js'
import { asUpstreamError } from '../contracts/upstream-error.js'
import type { Timer } from '../../runtime/runtime.js'
import type { ServerLists } from './server-lists.js'
import type { ServerConnection } from './server-connection.js'
import type { ListKind } from '../../mcp/methods.js'
import type { ServerContext } from './context.js'
import type { FailureReason } from '../../mcp/error-codes.js'
import type { ServerConfig } from '../contracts/server-config.js'

/** A start that takes longer is reported as late. Nearly every package is installed within this time. */
const LATE_MS = 10_000

type News = ServerNews extends infer One
  ? One extends ServerNews
    ? Omit<One, 'server' | 'kind' | 'pid' | 'client' | 'ms'>
    : never
  : never

/** The process of a report; `restarts` is the number of earlier ones for the same clients. */
export interface ReportedProcess {
  readonly client: number | undefined
  readonly restarts: number
  readonly hasClientLeft: () => boolean
}

export function reportLists(
  { news, service: server }: ServerContext,
  lists: ServerLists,
  client: number | undefined,
  changed: readonly ListKind[],
): void {
  const counts = ofEach((kind) => lists.items(kind).length)
  const bytes = ofEach((kind) => lists.items(kind).reduce((sum, { line }) => sum + line.length, 0))
  news.lists({ server, client, changed, counts, bytes })
}

export function ofEach<T>(valueOf: (kind: ListKind) => T): Readonly<Record<ListKind, T>> {
  return {
    tools: valueOf('tools'),
    prompts: valueOf('prompts'),
    resources: valueOf('resources'),
    templates: valueOf('templates'),
  }
}

export class ProcessReport {
  readonly #context: ServerContext
  readonly #connection: ServerConnection
  readonly #about: ReportedProcess
  readonly #startedAt: number
  readonly #late: Timer
  #isOver = false

  constructor(context: ServerContext, connection: ServerConnection, about: ReportedProcess) {
    const { runtime } = context
    this.#context = context
    this.#connection = connection
    this.#about = about
    this.#startedAt = runtime.now()
    this.#late = runtime.setTimer(LATE_MS, () => {
      this.#tell({ state: 'late', startTimeoutMs: context.times[connection.startBudget] })
    })
    this.#tell({ state: 'starting' })
    void connection.finished.promise.then(() => this.#ended())
  }

  ready({ facts, evidence }: OpenedServer, lists: ServerLists): void {
    this.#late.cancel()
    const revision = facts.revision.version
    const names = ofEach((kind) => lists.items(kind).map(({ key }) => key))
    const tools = names.tools.length
    this.#tell({ state: 'ready', revision, evidence, tools, names, restarts: this.#about.restarts })
  }

  failed(error: unknown): void {
    const { reason, message } = asUpstreamError(this.#context.service, error)
    if (reason !== 'shutting-down') this.#report({ state: 'failed', reason, message })
  }

  #ended(): void {
    const { reason, message } = this.#connection.failure
    const cause = this.#stopCause
    const why = cause === 'retired' ? (this.#context.retiredBecause ?? message) : message
    if (cause === undefined) this.#report({ state: 'failed', reason, message })
    else this.#report({ state: 'stopped', cause, message: why })
  }

  /** Undefined if the process has ended by itself. */
  get #stopCause(): StopCause | undefined {
    const { endedOnProbe, failure, isStopped } = this.#connection
    const { isClosed, retiredBecause } = this.#context
    if (endedOnProbe) return 'restart'
    if (!isStopped) return undefined
    if (isClosed) return retiredBecause === undefined ? 'closing' : 'retired'
    if (failure.reason === 'closed') return 'restart'
    return this.#about.hasClientLeft() ? 'client-gone' : 'idle'
  }

  #report(news: News): void {
    this.#late.cancel()
    this.#tell(news)
    this.#isOver = true
  }

  #tell(news: News): void {
    if (this.#isOver) return
    const { config, news: listener, runtime, service: server } = this.#context
    const ms = runtime.now() - this.#startedAt
    const { pid } = this.#connection.dialed
    listener.server({ server, kind: config.kind, pid, client: this.#about.client, ms, ...news })
  }
}

/** Why the proxy has ended a process or a session of a server. */
export type StopCause =
  /** No client has used the process for its idle time. */
  | 'idle'
  /** The one client of the process has left. */
  | 'client-gone'
  /** The proxy starts the process again immediately. */
  | 'restart'
  /** The server has left the configuration, or was stopped or replaced. */
  | 'retired'
  /** The proxy closes. */
  | 'closing'

interface ServerProcessNews {
  readonly server: string
  readonly kind: ServerConfig['kind']
  /** The id of the child process, if there is one. */
  readonly pid: number | undefined
  /** The client of the process; undefined if several clients share it. */
  readonly client: number | undefined
  /** Milliseconds since the start of the process. */
  readonly ms: number
}

/** A change of state of one process, or of one session with a remote server. */
export type ServerNews = ServerProcessNews &
  (
    | { readonly state: 'starting' }
    /** The process takes calls, and its lists have been read or have failed. */
    | {
        readonly state: 'ready'
        /** The protocol version that the server speaks. */
        readonly revision: string
        /** How the proxy has found out the era of the server. */
        readonly evidence: EraEvidence
        readonly tools: number
        /** The server's own names and URIs; empty for lists that could not be read. */
        readonly names: Readonly<Record<ListKind, readonly string[]>>
        /** The number of earlier processes for the same clients. */
        readonly restarts: number
      }
    /** Clients still wait for the process. The start fails after `startTimeoutMs`. */
    | { readonly state: 'late'; readonly startTimeoutMs: number }
    /** The process could not be started, perhaps because a variable is missing, or has ended by itself. */
    | { readonly state: 'failed'; readonly reason: FailureReason; readonly message: string }
    /** The proxy has ended the process. */
    | { readonly state: 'stopped'; readonly cause: StopCause; readonly message: string }
  )

/** The lists of a server have changed, or were read for the first time. */
export interface ListsNews {
  readonly server: string
  /** The client of the process; undefined if several clients share it. */
  readonly client: number | undefined
  readonly changed: readonly ListKind[]
  /** How many items the server has, before filters. */
  readonly counts: Readonly<Record<ListKind, number>>
  /** The bytes of these items, as the server wrote them. */
  readonly bytes: Readonly<Record<ListKind, number>>
}

export interface UpstreamNews {
  server(news: ServerNews): void
  lists(news: ListsNews): void
}
