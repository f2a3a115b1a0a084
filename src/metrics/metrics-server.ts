// A port on which a scraper reads the metrics. There is no token: the configuration is refused where it opens the port to other
// machines without the key that allows it.

import { createServer } from 'node:http'
import { isLoopback } from '../text/loopback.js'
import { readAuthority } from '../transports/http-server/access.js'
import { EXPOSITION_TYPE } from './registry.js'

/** Scrapers that read at the same time. */
const CONNECTIONS_MAX = 16

/** How long a scraper has for its request. */
const REQUEST_MS = 5000

export interface MetricsServer {
  readonly port: number
  close(): void
}

/** Serves the page. Rejects with an error with a message for the person who started the program. */
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
