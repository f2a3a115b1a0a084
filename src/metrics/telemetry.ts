// The telemetry of a serving process: metrics on a port, on the front or at a collector.
//
// Loaded only where the configuration or the environment asks for it.

import type { Configuration } from '../config/configuration.js'
import type { ProxyListeners } from '../events/proxy-events.js'
import type { LogSink, Runtime } from '../runtime/runtime.js'
import { read } from './families.js'
import { type WatchedProxies, family } from './gauges.js'
import { EXPOSITION_TYPE } from './exposition.js'
import { Metrics } from './metrics.js'
import { MetricsServer } from './metrics-server.js'
import { OtlpExporter, type Post } from './otlp/exporter.js'
import { metricsJson } from './otlp/metrics-json.js'
import { type OtlpOptions, otlpOptions } from './otlp/options.js'
import { spansJson } from './otlp/spans-json.js'
import { type CallSpan, Tracing } from './tracing.js'

/** How long the end of the program waits for a collector. */
const CLOSE_MS = 2000

/** The log and the clock of the program, and how strict it is. */
export interface TelemetryOptions {
  readonly log: LogSink
  readonly runtime: Pick<Runtime, 'setTimer' | 'wallNow' | 'env'>
  /** Whether a port that another proxy has ends the start, instead of being a warning. */
  readonly needsPort: boolean
}

/** Counts the calls of one process, and serves or sends the counts. */
export class Telemetry {
  readonly #metrics: Metrics
  readonly #exporter: OtlpExporter<CallSpan> | undefined
  #server: MetricsServer | undefined
  /** Traces calls; undefined where no collector gets them. */
  readonly tracer: Tracing | undefined

  constructor(metrics: Metrics, exporter?: OtlpExporter<CallSpan>, tracer?: Tracing) {
    this.#metrics = metrics
    this.#exporter = exporter
    this.tracer = tracer
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
    await Promise.all([this.#server?.close(), this.#exporter?.close(CLOSE_MS)])
    this.#metrics.close()
  }
}

/**
 * Undefined where nothing asks for telemetry after all.
 *
 * @throws Error with a message for the person who started the program, when the port cannot be had
 */
export async function openTelemetry(
  { server: config }: Configuration,
  { log, runtime, needsPort }: TelemetryOptions,
): Promise<Telemetry | undefined> {
  const { metrics: wanted, otlp: endpoint, name } = config
  const warn = (message: string): void => log({ level: 'warn', message })
  const otlp = otlpOptions({ endpoint, name }, runtime.env, warn)
  if (wanted === undefined && otlp === undefined) return undefined
  const place = wanted?.port === undefined ? undefined : { ...wanted, port: wanted.port }
  const metrics = new Metrics(wanted?.tools ?? false, runtime.wallNow())
  const telemetry = otlp === undefined ? new Telemetry(metrics) : exporting(otlp, metrics, log, runtime)
  if (place === undefined) return telemetry
  try {
    const port = await telemetry.listen(place)
    log({ level: 'info', message: `metrics are at http://${hostInUrl(place.host)}:${port}/metrics` })
  } catch (error) {
    if (needsPort || !(error instanceof Error)) {
      await telemetry.close()
      throw error
    }
    warn(error.message)
  }
  return telemetry
}

function hostInUrl(host: string): string {
  return host.includes(':') ? `[${host}]` : host
}

function exporting(
  options: OtlpOptions,
  metrics: Metrics,
  log: LogSink,
  runtime: TelemetryOptions['runtime'],
): Telemetry {
  const now = (): number => runtime.wallNow()
  const { resource, sampler, tracesUrl, headers } = options
  const startMs = now()
  const exported = {
    metrics: () => metricsJson(metrics.families(), resource, { startMs, nowMs: now() }),
    spans: (spans: readonly CallSpan[]) => spansJson(spans, resource),
  }
  const exporter = new OtlpExporter(options, exported, postWith(headers), runtime, log)
  if (tracesUrl === undefined) return new Telemetry(metrics, exporter)
  metrics.add(() => [family(read.spansDropped, [{ labels: [], value: exporter.dropped }])])
  const serverLabelsOf: Metrics['serverLabelsOf'] = (schema, server) => metrics.serverLabelsOf(schema, server)
  return new Telemetry(
    metrics,
    exporter,
    new Tracing(sampler, serverLabelsOf, now, (span) => exporter.add(span)),
  )
}

/** Node's own client, whose certificates are those of NODE_EXTRA_CA_CERTS too. */
function postWith(more: Readonly<Record<string, string>>): Post {
  return async (url, body, signal) => {
    const headers = { 'content-type': 'application/json', ...more }
    const response = await fetch(url, { method: 'POST', headers, body, signal, redirect: 'error' })
    await response.body?.cancel()
    return response.status
  }
}
