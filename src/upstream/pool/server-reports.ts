// Emits the `server` events of one server: each process begins once and ends once.

import { crossing } from '../../mcp/eras/crossing.js'
import type { OpenedServer } from '../../mcp/eras/leg.js'
import { useOf } from './sharing.js'
import { asUpstreamError } from '../contracts/errors.js'
import type { Dialed, DialEnd } from '../contracts/dial.js'
import type { Timer } from '../../runtime/runtime.js'
import type { LaneLists } from './lane-lists.js'
import type { Link } from './link.js'
import type { ListKind } from '../../mcp/methods/method-row.js'
import type { ServerNews, StopCause } from './news.js'
import type { ServerParts } from './pool-parts.js'

/** A process in use, and its client where it has only one. */
export interface ProcessUse {
  readonly link: Link
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
export class ServerReports {
  readonly #parts: ServerParts
  readonly #stopping: () => StopCause | undefined
  readonly #starts = new WeakMap<Dialed, Start>()
  #crossing: string | undefined

  /** `stopping` says why all processes are being ended, if they are. */
  constructor(parts: ServerParts, stopping: () => StopCause | undefined) {
    this.#parts = parts
    this.#stopping = stopping
  }

  /** A server is being reached. */
  began(dialed: Dialed): void {
    const { limits, runtime } = this.#parts
    const late = runtime.setTimer(limits.lateMs, () => this.#tell(dialed, { state: 'late' }))
    this.#starts.set(dialed, { startedAt: runtime.now(), late, use: undefined, isOver: false })
    this.#tell(dialed, { state: 'starting' })
    void dialed.ended.then((end) => this.#ended(dialed, end))
  }

  /** A client, or several, use it from now on; `ready` rejects when they cannot. */
  used(link: Link, use: Omit<ProcessUse, 'link'>, ready: Promise<unknown>): void {
    const start = this.#starts.get(link.dialed)
    if (start !== undefined) start.use = { link, ...use }
    ready.catch((error: unknown) => this.#failed(link.dialed, error))
  }

  /** A server has said what it speaks; what clients get of it is logged once, until it is something else. */
  opened({ facts }: OpenedServer): void {
    const { log, service } = this.#parts
    const message = crossing(facts, useOf(this.#parts))
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

  lists(lists: LaneLists, client: number | undefined, changed: readonly ListKind[]): void {
    const count = (kind: ListKind): number => lists.items(kind).length
    const counts = {
      tools: count('tools'),
      prompts: count('prompts'),
      resources: count('resources'),
      templates: count('templates'),
    }
    this.#parts.news.lists({ server: this.#parts.service, client, changed, counts })
  }

  /** Why is known to the link, which hears of the end in the same turn. */
  async #ended(dialed: Dialed, end: DialEnd): Promise<void> {
    await Promise.resolve()
    const use = this.#starts.get(dialed)?.use
    const cause = use === undefined ? this.#stopping() : this.#causeOf(use)
    const { reason, message } = use?.link.failure ?? end
    if (use?.link.endedOnProbe === true) this.#over(dialed, { state: 'stopped', cause: 'restart', message })
    else if (cause === undefined) this.#over(dialed, { state: 'failed', reason, message })
    else this.#over(dialed, { state: 'stopped', cause, message })
  }

  /** It could not be made ready; being stopped meanwhile is no failure. */
  #failed(dialed: Dialed, error: unknown): void {
    const { reason, message } = asUpstreamError(this.#parts.service, error)
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
    const { kind, news: listener, runtime, service: server } = this.#parts
    const ms = runtime.now() - start.startedAt
    const client = start.use?.client
    listener.server({ server, kind, pid: dialed.pid, client, ms, ...news })
  }

  /** Undefined when it has ended by itself. */
  #causeOf({ link, isLeft }: ProcessUse): StopCause | undefined {
    if (!link.isStopped) return undefined
    return (
      this.#stopping() ?? (link.failure.reason === 'closed' ? 'restart' : isLeft() ? 'client-gone' : 'idle')
    )
  }
}
