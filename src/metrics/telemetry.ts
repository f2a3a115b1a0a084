// The telemetry of a serving process: metrics on a port, on the front or at a collector.
//
// Loaded only where the configuration or the environment asks for it.

import { createServer } from 'node:http'
import type { Configuration } from '../config/configuration.js'
import type { CallEvent, ProxyListeners } from '../events/proxy-events.js'
import { within } from '../runtime/deadline.js'
import type { LogSink, Runtime } from '../runtime/runtime.js'
import { errorText } from '../text/error-text.js'
import { isLoopback } from '../text/loopback.js'
import { readAuthority } from '../transports/http-server/access.js'
import { type InstanceReadings, Metrics, type WatchedProxies } from './metrics.js'
import type { Collector } from './opentelemetry.js'
import { EXPOSITION_TYPE } from './registry.js'

/** How long the end of the program waits for a collector. */
const CLOSE_MS = 2000

export interface TelemetryOptions {
  readonly log: LogSink
  readonly runtime: Pick<Runtime, 'now' | 'setTimer' | 'wallNow' | 'env'>
  /** Whether a port that another proxy has ends the start, instead of being a warning. */
  readonly needsPort: boolean
  /** Counts the lines that the audit has lost. */
  readonly lostLines?: () => number
}

/** Counts the calls of one process, and serves or sends the counts. */
export interface Telemetry {
  /** Traces calls; undefined where no collector gets them. */
  readonly tracer: Collector['tracer']
  /** The page for the HTTP front. */
  readonly page: { readonly type: string; text(): string }
  /** Of the proxies whose calls are counted. */
  readonly listeners: readonly ProxyListeners[]
  /** Servers and clients are read from these proxies, and what they have in common from `readings`. */
  watch(proxies: () => WatchedProxies, readings?: InstanceReadings): void
  /** Sends what waits for the collector, for up to two seconds. */
  close(): Promise<void>
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
  let server: MetricsServer | undefined
  const close = async (): Promise<void> => {
    server?.close()
    await within(collector?.close() ?? Promise.resolve(), CLOSE_MS, runtime)
    metrics.close()
  }
  if (wanted?.port !== undefined)
    try {
      server = await serveMetrics(wanted.host, wanted.port, () => metrics.text())
      const shown = wanted.host.includes(':') ? `[${wanted.host}]` : wanted.host
      log({ level: 'info', message: `metrics are at http://${shown}:${server.port}/metrics` })
    } catch (error) {
      if (needsPort) {
        await close()
        throw error
      }
      log({ level: 'warn', message: errorText(error) })
    }
  const tracer = collector?.tracer
  return {
    tracer,
    page: { type: EXPOSITION_TYPE, text: () => metrics.text() },
    listeners: [metrics.listeners, ...(tracer ? [{ call: (event: CallEvent) => tracer.ended(event) }] : [])],
    watch: (proxies, readings) => metrics.watch(proxies, readings),
    close,
  }
}

/** Scrapers that read at the same time. */
const CONNECTIONS_MAX = 16

/** How long a scraper has for its request. */
const REQUEST_MS = 5000

interface MetricsServer {
  readonly port: number
  close(): void
}

/**
 * A port on which a scraper reads the metrics. There is no token: the configuration is refused where it opens the port to other
 * machines without the key that allows it. Rejects with an error with a message for the person who started the program.
 */
export function serveMetrics(host: string, port: number, page: () => string): Promise<MetricsServer> {
  const times = { requestTimeout: REQUEST_MS, headersTimeout: REQUEST_MS }
  const server = createServer(times, ({ method, url = '', headers }, response) => {
    const [path] = url.split('?')
    const status = !isOwnName(host, headers.host)
      ? 403
      : path !== '/metrics'
        ? 404
        : method === 'GET'
          ? 200
          : 405
    response.writeHead(status, {
      'content-type': status === 200 ? EXPOSITION_TYPE : 'text/plain; charset=utf-8',
      'cache-control': 'no-store',
    })
    response.end(status === 200 ? page() : 'the page is GET /metrics, under a name of this machine\n')
  })
  server.maxConnections = CONNECTIONS_MAX
  return new Promise((resolve, reject) => {
    server.once('error', (error) => {
      const code = 'code' in error ? String(error.code) : error.message
      const why = `metrics cannot be served on ${host}, port ${port} (${code})`
      const message = `${why}: choose another port with server.metrics.port, or start with --no-metrics`
      reject(Object.assign(new Error(message, { cause: error }), { code }))
    })
    server.listen(port, host, () => {
      const address = server.address()
      resolve({
        port: typeof address === 'object' && address !== null ? address.port : port,
        close: () => {
          server.close()
          server.closeAllConnections()
        },
      })
    })
  })
}

/** A page in a browser must not read the port of this machine under another name (DNS rebinding). */
function isOwnName(host: string, named: string | undefined): boolean {
  if (!isLoopback(host) || named === undefined) return true
  return isLoopback(readAuthority(named)?.host ?? '')
}
