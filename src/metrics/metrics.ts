// The metrics of one process: counts of calls, and facts that are read for each scrape.

import { monitorEventLoopDelay } from 'node:perf_hooks'
import process from 'node:process'
import { version } from '../version.js'
import type { ServerLabels } from './call-labels.js'
import { CallMetrics } from './call-metrics.js'
import { exposition } from './exposition.js'
import { type ProcessFacts, type WatchedProxies, processGauges, proxyGauges, resultTokens } from './gauges.js'
import type { Family } from './registry.js'
import type { ProxyListeners } from '../events/proxy-events.js'

/** How often the delay of the event loop is measured. */
const DELAY_RESOLUTION_MS = 20

const delayQuantiles = ['0.5', '0.99', '1'] as const

/** Counts from the start on; `close` ends the look at the event loop. */
export class Metrics {
  readonly #calls: CallMetrics
  readonly #delays = monitorEventLoopDelay({ resolution: DELAY_RESOLUTION_MS })
  readonly #startedAtSeconds: number
  #proxies: () => WatchedProxies = () => new Map()
  #more: () => readonly Family[] = () => []

  /** With `hasTools` each tool has series of its own; `nowMs` is in milliseconds since 1970. */
  constructor(hasTools: boolean, nowMs: number) {
    this.#startedAtSeconds = nowMs / 1000 - process.uptime()
    this.#calls = new CallMetrics(hasTools)
    this.#delays.enable()
  }

  get listeners(): ProxyListeners {
    return this.#calls.listeners
  }

  serverLabelsOf(schema: string, server: string): ServerLabels | undefined {
    return this.#calls.serverLabelsOf(schema, server)
  }

  /** Servers and clients are read from these proxies. */
  watch(proxies: () => WatchedProxies): void {
    this.#proxies = proxies
  }

  /** Further families, which are read with the others. */
  add(more: () => readonly Family[]): void {
    this.#more = more
  }

  families(): readonly Family[] {
    const calls = this.#calls
    return [
      ...calls.families,
      resultTokens(calls.resultBytes),
      ...proxyGauges(this.#proxies(), (schema, server) => calls.listsOf(schema, server)),
      ...processGauges(this.#facts(), version),
      ...this.#more(),
    ]
  }

  /** As Prometheus reads them. */
  text(): string {
    return exposition(this.families())
  }

  close(): void {
    this.#delays.disable()
  }

  #facts(): ProcessFacts {
    const { user, system } = process.cpuUsage()
    const delays = delayQuantiles.map((each) => [each, this.#delaySeconds(Number(each))] as const)
    this.#delays.reset()
    return {
      memoryBytes: process.memoryUsage.rss(),
      cpuSeconds: (user + system) / 1e6,
      startedAtSeconds: this.#startedAtSeconds,
      delays,
    }
  }

  /** A measurement is the time between two turns, of which the loop has waited the resolution on purpose. */
  #delaySeconds(quantile: number): number {
    if (this.#delays.count === 0) return 0
    return Math.max(0, this.#delays.percentile(quantile * 100) / 1e9 - DELAY_RESOLUTION_MS / 1000)
  }
}
