// A port on which a scraper reads the metrics. There is no token: the configuration is refused where it opens
// the port to other machines without a word.

import { type IncomingMessage, type Server, type ServerResponse, createServer } from 'node:http'
import { isLoopback } from '../text/loopback.js'
import { readAuthority } from '../transports/http-server/access.js'
import { EXPOSITION_TYPE } from './registry.js'

/** Scrapers that read at the same time. */
const CONNECTIONS_MAX = 16

/** How long a scraper has for its request. */
const REQUEST_MS = 5000

/** The address of the port. */
interface MetricsPlace {
  readonly host: string
  readonly port: number
}

/** Serves the page; `close` cuts scrapers off. */
export class MetricsServer {
  readonly #server: Server
  readonly #place: MetricsPlace
  readonly #page: () => string

  constructor(place: MetricsPlace, page: () => string) {
    this.#place = place
    this.#page = page
    this.#server = createServer(
      { requestTimeout: REQUEST_MS, headersTimeout: REQUEST_MS },
      (request, response) => this.#serve(request, response),
    )
    this.#server.maxConnections = CONNECTIONS_MAX
  }

  /** Gives the port. @throws Error with a message for the person who started the program */
  listen(): Promise<number> {
    const { host, port } = this.#place
    return new Promise((resolve, reject) => {
      this.#server.once('error', (error) => reject(listenFailure(error, this.#place)))
      this.#server.listen(port, host, () => {
        const address = this.#server.address()
        resolve(typeof address === 'object' && address !== null ? address.port : port)
      })
    })
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections()
    await new Promise((resolve) => this.#server.close(resolve))
  }

  #serve({ method, url = '', headers }: IncomingMessage, response: ServerResponse): void {
    const [path] = url.split('?')
    if (!this.#isForUs(headers.host)) return plain(response, 403, 'the Host field names another machine\n')
    if (path !== '/metrics') return plain(response, 404, 'metrics are at /metrics\n')
    if (method !== 'GET' && method !== 'HEAD')
      return plain(response, 405, 'GET alone\n', { allow: 'GET, HEAD' })
    response.writeHead(200, { 'content-type': EXPOSITION_TYPE, 'cache-control': 'no-store' })
    response.end(method === 'HEAD' ? undefined : this.#page())
  }

  /** A page in a browser must not read the port of this machine under another name (DNS rebinding). */
  #isForUs(named: string | undefined): boolean {
    if (!isLoopback(this.#place.host) || named === undefined) return true
    return isLoopback(readAuthority(named)?.host ?? '')
  }
}

function plain(
  response: ServerResponse,
  status: number,
  text: string,
  fields: Readonly<Record<string, string>> = {},
): void {
  response.writeHead(status, { 'content-type': 'text/plain; charset=utf-8', ...fields })
  response.end(text)
}

function listenFailure(error: Error, { host, port }: MetricsPlace): Error {
  const code = 'code' in error ? String(error.code) : error.message
  const remedy =
    code === 'EADDRINUSE'
      ? 'another program has the port, choose another one with server.metrics.port, or start with --no-metrics'
      : 'check server.metrics'
  return Object.assign(
    new Error(`metrics cannot be served on ${host}, port ${port} (${code}): ${remedy}`, { cause: error }),
    { code },
  )
}
