// The metrics of one process: counts of calls, and values that each scrape reads.

import { monitorEventLoopDelay } from 'node:perf_hooks'
import process from 'node:process'
import type { ListsEvent, ProxyListeners } from '../events/proxy-events.js'
import type { McpProxy } from '../proxy/proxy-interface.js'
import type { UpstreamStatus } from '../upstream/contracts/upstream.js'
import { version } from '../version.js'
import { CallMetrics } from './call-metrics.js'
import { type Family, exposition, familyOf } from './registry.js'

/** The proxies by their schemas. */
export type WatchedProxies = ReadonlyMap<string, Pick<McpProxy, 'status' | 'sessions'>>

/** Functions that read values of the whole instance, by the names of metrics. An undefined value has no series. */
export type InstanceReadings = Readonly<Record<string, () => number | undefined>>

const DELAY_RESOLUTION_MS = 20

const delayQuantiles = ['0.5', '0.99', '1']

const ofServers: readonly (readonly [string, (status: UpstreamStatus) => number | undefined])[] = [
  ['mcps_server_up', ({ state }) => (state === 'error' || state === 'login-required' ? 0 : 1)],
  ['mcps_server_tools', ({ tools }) => tools],
  ['mcps_queue_depth', ({ gauges }) => gauges.queued],
  ['mcps_inflight', ({ gauges }) => gauges.inFlight],
  ['mcps_processes', ({ pids }) => pids.length],
  ['mcps_restarts_total', ({ gauges }) => gauges.restarts],
  ['mcps_child_memory_bytes', ({ gauges }) => gauges.memoryBytes],
]

/** Counts from construction on. `close` ends the measurement of the event loop. */
export class Metrics {
  readonly calls: CallMetrics
  readonly #delays = monitorEventLoopDelay({ resolution: DELAY_RESOLUTION_MS })
  readonly #startedAtSeconds: number
  readonly #lostLines: () => number
  /** The length of each list by schema and server, for every server that was ever configured. */
  readonly #lists = new Map<string, ListsEvent['bytes']>()
  #proxies: () => WatchedProxies = () => new Map()
  #readings: InstanceReadings = {}

  /** `hasTools` adds series of each tool; `nowMs` counts from 1970; `lostLines` counts lost lines of the audit. */
  constructor(hasTools: boolean, nowMs: number, lostLines: () => number = () => 0) {
    this.#startedAtSeconds = nowMs / 1000 - process.uptime()
    this.#lostLines = lostLines
    this.calls = new CallMetrics(hasTools)
    this.#delays.enable()
  }

  get listeners(): ProxyListeners {
    return {
      ...this.calls.listeners,
      lists: ({ schema, server, bytes }) => void this.#lists.set(`${schema}\0${server}`, bytes),
    }
  }

  /** Each scrape reads servers and clients from these proxies, and values of the instance from `readings`. */
  watch(proxies: () => WatchedProxies, readings: InstanceReadings = {}): void {
    this.#proxies = proxies
    this.#readings = readings
  }

  families(): readonly Family[] {
    const proxies = [...this.#proxies()].map(([schema, proxy]) => ({ schema, labels: [schema], proxy }))
    const servers = proxies.flatMap(({ schema, proxy }) =>
      proxy.status().map((status) => ({ schema, labels: [schema, status.name], status })),
    )
    for (const { schema } of proxies) this.calls.startAtZero(schema, '')
    for (const { schema, status } of servers) this.calls.startAtZero(schema, status.name)
    const lists = servers.flatMap(({ labels }) =>
      Object.entries(this.#lists.get(labels.join('\0')) ?? {}).map(([list, bytes]) => {
        return { labels: [...labels, list], bytes }
      }),
    )
    const sessions = proxies.map(({ labels, proxy }) => ({ labels, all: proxy.sessions() }))
    return [
      ...this.calls.families,
      ...ofServers.map(([name, valueOf]) => familyOf(name, servers, ({ status }) => valueOf(status))),
      familyOf('mcps_list_bytes', lists, ({ bytes }) => bytes),
      familyOf('mcps_sessions', sessions, ({ all }) => all.length),
      familyOf('mcps_unread_bytes', sessions, ({ all }) =>
        all.reduce((sum, { unreadBytes }) => sum + unreadBytes, 0),
      ),
      ...Object.entries(this.#readings).map(([name, read]) => one(name, read())),
      ...this.#ofProcess(),
    ]
  }

  /** Returns the metrics in the text format of Prometheus. */
  text(): string {
    return exposition(this.families())
  }

  close(): void {
    this.#delays.disable()
  }

  #ofProcess(): readonly Family[] {
    const { user, system } = process.cpuUsage()
    const delays = delayQuantiles.map((each) => ({ labels: [each] }))
    const waited = familyOf('mcps_eventloop_delay_seconds', delays, ({ labels: [quantile] }) =>
      this.#delaySeconds(Number(quantile)),
    )
    this.#delays.reset()
    return [
      one('mcps_audit_lost_lines_total', this.#lostLines()),
      one('mcps_build_info', 1, [version, process.versions.node, process.platform]),
      one('mcps_start_time_seconds', this.#startedAtSeconds),
      one('mcps_memory_bytes', process.memoryUsage.rss()),
      one('mcps_cpu_seconds_total', (user + system) / 1e6),
      waited,
    ]
  }

  /** Node measures the time between two timer ticks, so this subtracts the interval of the timer. */
  #delaySeconds(quantile: number): number {
    if (this.#delays.count === 0) return 0
    return Math.max(0, this.#delays.percentile(quantile * 100) / 1e9 - DELAY_RESOLUTION_MS / 1000)
  }
}

function one(name: string, value: number | undefined, labels: readonly string[] = []): Family {
  return familyOf(name, [{ labels }], () => value)
}
