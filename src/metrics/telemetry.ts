// The telemetry of a serving process: metrics on a port, on the front or at a collector.
//
// The proxy loads this file only if the configuration or the environment asks for telemetry.

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
  /** Whether an occupied port ends the start. Otherwise the proxy logs a warning. */
  readonly needsPort: boolean
  /** Returns the number of lines that the audit has lost. */
  readonly lostLines?: () => number
}

/** Counts the calls of one process, and serves or sends the counts. */
export interface Telemetry {
  /** Traces calls; undefined if no collector gets spans. */
  readonly tracer: Collector['tracer']
  /** The page for the HTTP front. */
  readonly page: { readonly type: string; text(): string }
  readonly listeners: readonly ProxyListeners[]
  /** Each scrape reads servers and clients from these proxies, and values of the instance from `readings`. */
  watch(proxies: () => WatchedProxies, readings?: InstanceReadings): void
  /** Sends all pending data to the collector, for at most two seconds. */
  close(): Promise<void>
}

/**
 * Resolves with undefined if neither the configuration nor the environment asks for telemetry.
 *
 * @throws Error with a message for the person who started the program, if the port is not available
 */
export async function openTelemetry(
  { server: { metrics: wanted, name } }: Configuration,
  { log, runtime, needsPort, lostLines }: TelemetryOptions,
): Promise<Telemetry | undefined> {
  const { exportedSignals, openCollector } = await import('./opentelemetry.js')
  const isExported = exportedSignals(runtime.env).size > 0
  if (wanted === undefined && !isExported) return undefined
  const metrics = new Metrics(wanted?.tools ?? false, runtime.wallNow(), lostLines)
  // The variables may be meant for other programs, so a missing package does not stop the proxy.
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

const CONNECTIONS_MAX = 16

const REQUEST_MS = 5000

interface MetricsServer {
  readonly port: number
  close(): void
}

/**
 * Serves the metrics on a port, without a token. The configuration must allow a port that other machines can reach.
 * Rejects with a message for the person who started the program.
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

/** Refuses foreign names of this machine, so that no page in a browser reads the port (DNS rebinding). */
function isOwnName(host: string, named: string | undefined): boolean {
  if (!isLoopback(host) || named === undefined) return true
  return isLoopback(readAuthority(named)?.host ?? '')
}
