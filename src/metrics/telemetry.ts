// The telemetry of a serving process: metrics on a port, on the front or at a collector.
//
// Loaded only where the configuration or the environment asks for it.

import type { Configuration } from '../config/configuration.js'
import type { ProxyListeners } from '../events/proxy-events.js'
import { within } from '../runtime/deadline.js'
import type { LogSink, Runtime } from '../runtime/runtime.js'
import { errorText } from '../text/error-text.js'
import { Metrics, type WatchedProxies } from './metrics.js'
import { MetricsServer } from './metrics-server.js'
import type { Collector } from './opentelemetry.js'
import { EXPOSITION_TYPE } from './registry.js'

/** How long the end of the program waits for a collector. */
const CLOSE_MS = 2000

/** The log and the clock of the program, and how strict it is. */
export interface TelemetryOptions {
  readonly log: LogSink
  readonly runtime: Pick<Runtime, 'now' | 'setTimer' | 'wallNow' | 'env'>
  /** Whether a port that another proxy has ends the start, instead of being a warning. */
  readonly needsPort: boolean
  /** Counts the lines that the audit has lost. */
  readonly lostLines?: () => number
}

/** Counts the calls of one process, and serves or sends the counts. */
export class Telemetry {
  readonly #metrics: Metrics
  readonly #collector: Collector | undefined
  readonly #runtime: TelemetryOptions['runtime']
  #server: MetricsServer | undefined

  constructor(metrics: Metrics, collector: Collector | undefined, runtime: TelemetryOptions['runtime']) {
    this.#metrics = metrics
    this.#collector = collector
    this.#runtime = runtime
  }

  /** Traces calls; undefined where no collector gets them. */
  get tracer(): Collector['tracer'] {
    return this.#collector?.tracer
  }

  /** The page for the HTTP front. */
  readonly page: { readonly type: string; text(): string } = {
    type: EXPOSITION_TYPE,
    text: () => this.#metrics.text(),
  }

  /** Of the proxies whose calls are counted. */
  get listeners(): readonly ProxyListeners[] {
    const { tracer } = this
    const counting = this.#metrics.listeners
    return tracer === undefined ? [counting] : [counting, { call: (event) => tracer.ended(event) }]
  }

  /** Servers and clients are read from these proxies. */
  watch(proxies: () => WatchedProxies): void {
    this.#metrics.watch(proxies)
  }

  /** Serves the page on a port without a token. */
  async listen(place: ConstructorParameters<typeof MetricsServer>[0]): Promise<number> {
    const server = new MetricsServer(place, () => this.page.text())
    const port = await server.listen()
    this.#server = server
    return port
  }

  /** Sends what waits for the collector, for up to two seconds. */
  async close(): Promise<void> {
    const sent = this.#collector?.close() ?? Promise.resolve()
    await Promise.all([this.#server?.close(), within(sent, CLOSE_MS, this.#runtime)])
    this.#metrics.close()
  }
}

/**
 * Undefined where nothing asks for telemetry after all.
 *
 * @throws Error with a message for the person who started the program, when the port cannot be had
 */
export async function openTelemetry(
  { server: { metrics: wanted, name } }: Configuration,
  { log, runtime, needsPort, lostLines }: TelemetryOptions,
): Promise<Telemetry | undefined> {
  const { exportedSignals, openCollector } = await import('./opentelemetry.js')
  const isExported = exportedSignals(runtime.env).size > 0
  if (wanted === undefined && !isExported) return undefined
  const metrics = new Metrics(wanted?.tools ?? false, runtime.wallNow(), lostLines)
  // The variables may be meant for other programs of this machine, so a package that is missing stops nothing.
  const collector = await (isExported ? openCollector(metrics, name, runtime, log) : undefined)?.catch(
    (error: unknown) => {
      log({ level: 'error', message: errorText(error) })
      return undefined
    },
  )
  const telemetry = new Telemetry(metrics, collector, runtime)
  if (wanted?.port === undefined) return telemetry
  const { host, port: wantedPort } = wanted
  try {
    const port = await telemetry.listen({ host, port: wantedPort })
    const shown = host.includes(':') ? `[${host}]` : host
    log({ level: 'info', message: `metrics are at http://${shown}:${port}/metrics` })
  } catch (error) {
    if (needsPort || !(error instanceof Error)) {
      await telemetry.close()
      throw error
    }
    log({ level: 'warn', message: error.message })
  }
  return telemetry
}
