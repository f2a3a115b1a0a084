// Reports the state of servers and clients to the page.

import type { ProxyListeners } from '../events/proxy-events.js'
import type { McpProxy } from '../proxy/proxy-interface.js'
import type { SessionStatus } from '../proxy/routing/session-status.js'
import type { Runtime } from '../runtime/runtime.js'
import type { UpstreamStatus } from '../upstream/contracts/upstream.js'
import type { ClientRow, ServerRow, StatusReport } from './protocol.js'
import type { MessageRedactor } from './redaction.js'
import type { Ring } from './ring.js'
import { UsageCounts } from './usage.js'

export type InspectedProxy = Pick<McpProxy, 'status' | 'sessions' | 'restart' | 'stop'>

type StatusRuntime = Pick<Runtime, 'wallNow' | 'memoryOf'>

export class Status {
  /** The proxies by the names of their schemas. */
  proxies: ReadonlyMap<string, InspectedProxy> = new Map()
  readonly listeners: ProxyListeners = {
    call: (event) => this.#usage.count(event),
  }
  readonly #runtime: StatusRuntime
  readonly #redactor: MessageRedactor
  readonly #ring: Pick<Ring, 'first' | 'next' | 'bytes'>
  readonly #usage: UsageCounts

  constructor(
    runtime: StatusRuntime,
    redactor: MessageRedactor,
    ring: Pick<Ring, 'first' | 'next' | 'bytes'>,
  ) {
    this.#runtime = runtime
    this.#redactor = redactor
    this.#ring = ring
    this.#usage = new UsageCounts(redactor)
  }

  async report(): Promise<StatusReport> {
    const all = [...this.proxies].flatMap(([schema, proxy]) =>
      proxy.status().map((status) => this.#row(schema, status)),
    )
    const { first, next, bytes } = this.#ring
    return {
      now: this.#runtime.wallNow(),
      servers: await Promise.all(all),
      clients: [...this.proxies].flatMap(([schema, proxy]) =>
        proxy.sessions().map((each) => clientRow(schema, each)),
      ),
      usage: this.#usage.report(),
      kept: { frames: next - first, bytes },
    }
  }

  async #row(schema: string, status: UpstreamStatus): Promise<ServerRow> {
    const { name, kind, state, error, pids, revision, tools, gauges, changes, leftOut } = status
    const { inFlight, queued, slots, restarts } = gauges
    const memoryBytes = gauges.memoryBytes ?? (await this.#memoryOf(pids))
    const facts = { schema, name, kind, state, tools, inFlight, queued, slots, restarts, pids }
    return {
      ...facts,
      ...(error !== undefined && { error: this.#redactor.cleanText(error) }),
      ...(revision !== undefined && { revision }),
      ...(memoryBytes !== undefined && { memoryBytes }),
      ...(changes !== undefined && { changes: changes.length }),
      ...(leftOut !== undefined && { leftOut }),
    }
  }

  /** Returns the memory of all processes together; undefined if the system does not report the memory of one. */
  async #memoryOf(pids: readonly number[]): Promise<number | undefined> {
    const each = await Promise.all(pids.map((pid) => this.#runtime.memoryOf(pid)))
    return each.length === 0 ? undefined : each.reduce((sum, bytes) => bytes && sum && sum + bytes)
  }
}

function clientRow(schema: string, status: SessionStatus): ClientRow {
  const { client, view, tools, revision, connectedAtMs, processes, unreadBytes } = status
  const { name, version } = client ?? {}
  return {
    schema,
    ...(name !== undefined && { name }),
    ...(version !== undefined && { version }),
    revision,
    ...(view !== undefined && { view }),
    ...(tools !== undefined && { tools }),
    connectedAt: connectedAtMs,
    processes: processes.length,
    unreadBytes,
  }
}
