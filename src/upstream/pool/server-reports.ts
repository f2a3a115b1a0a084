// Emits the `server` events of one server: each process begins once and ends once.

import { asUpstreamError } from '../contracts/errors.js'
import type { Dialed, DialEnd } from '../contracts/dial.js'
import type { Runtime, Timer } from '../../runtime/runtime.js'
import type { Link } from './link.js'
import type { Listing } from './listing.js'
import type { ListKind } from '../../mcp/methods/method-row.js'
import type { ServerNews, StopCause, UpstreamNews } from './news.js'
import type { ServerConfig } from '../contracts/server-config.js'

export interface ServerReportsParts {
  readonly runtime: Pick<Runtime, 'now' | 'setTimer'>
  readonly news: UpstreamNews
  /** How long a start takes before it is called late. */
  readonly lateMs: number
}

/** A process in use, and its client where it has only one. */
export interface ProcessUse {
  readonly link: Link
  /** Undefined when clients share it. */
  readonly client: number | undefined
  /** How many went before it for the same clients. */
  readonly restarts: number
  /** Why the proxy ends it, when it does. */
  cause(): StopCause
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
export class ServerReports {
  readonly #config: () => ServerConfig
  readonly #parts: ServerReportsParts
  readonly #starts = new WeakMap<Dialed, Start>()

  constructor(config: () => ServerConfig, parts: ServerReportsParts) {
    this.#config = config
    this.#parts = parts
  }

  /** A server is being reached; `unused` says why the proxy ends it before anybody uses it, if it does. */
  began(dialed: Dialed, unused: () => StopCause | undefined): void {
    const { runtime, lateMs } = this.#parts
    const late = runtime.setTimer(lateMs, () => this.#tell(dialed, { state: 'late' }))
    this.#starts.set(dialed, { startedAt: runtime.now(), late, use: undefined, isOver: false })
    this.#tell(dialed, { state: 'starting' })
    void dialed.ended.then((end) => this.#ended(dialed, end, unused))
  }

  /** A client, or several, use it from now on; `ready` rejects when they cannot. */
  used(link: Link, use: Omit<ProcessUse, 'link'>, ready: Promise<unknown>): void {
    const start = this.#starts.get(link.dialed)
    if (start !== undefined) start.use = { link, ...use }
    ready.catch((error: unknown) => this.#failed(link.dialed, error))
  }

  ready(dialed: Dialed, revision: string, tools: number): void {
    const start = this.#starts.get(dialed)
    if (start === undefined) return
    start.late.cancel()
    this.#tell(dialed, { state: 'ready', revision, tools, restarts: start.use?.restarts ?? 0 })
  }

  lists(listing: Listing, client: number | undefined, changed: readonly ListKind[]): void {
    const count = (kind: ListKind): number => listing.items(kind).length
    const counts = {
      tools: count('tools'),
      prompts: count('prompts'),
      resources: count('resources'),
      templates: count('templates'),
    }
    this.#parts.news.lists({ server: this.#config().name, client, changed, counts })
  }

  /** Why is known to the link, which hears of the end in the same turn. */
  async #ended(dialed: Dialed, end: DialEnd, unused: () => StopCause | undefined): Promise<void> {
    await Promise.resolve()
    const use = this.#starts.get(dialed)?.use
    const cause = use === undefined ? unused() : causeOf(use)
    const { reason, message } = use?.link.failure ?? end
    if (cause === undefined) this.#over(dialed, { state: 'failed', reason, message })
    else this.#over(dialed, { state: 'stopped', cause, message })
  }

  /** It could not be made ready; being stopped meanwhile is no failure. */
  #failed(dialed: Dialed, error: unknown): void {
    const { reason, message } = asUpstreamError(this.#config().name, error)
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
    const { name: server, kind } = this.#config()
    const { runtime } = this.#parts
    const ms = runtime.now() - start.startedAt
    const client = start.use?.client
    this.#parts.news.server({ server, kind, pid: dialed.pid, client, ms, ...news })
  }
}

/** Undefined when it has ended by itself. */
function causeOf(use: ProcessUse): StopCause | undefined {
  return use.link.isStopped ? use.cause() : undefined
}
