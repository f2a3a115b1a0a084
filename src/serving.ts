// Schemas behind one HTTP front: endpoints, pages, and the order in which they end.
//
// Loaded only when something is served over HTTP.

import { type FrontOptions, createFront } from './http-front.js'
import { write } from './jsonrpc/text.js'
import { listenFailure } from './listen-failure.js'
import type { ServedProxy, Serving } from './listener.js'
import { Routes } from './routes.js'
import { type SchemaStatus, gatewayStatus, schemaStatus } from './status.js'
import type { HttpEndpoint } from './transports/http-front/endpoint.js'
import type { HttpAddress, HttpServer } from './transports/http-server.js'

/** Every schema of a configuration; one that is disabled has no proxy. */
export type ServedSchemas = ReadonlyMap<string, ServedProxy | undefined>

/**
 * Listens, and serves each schema at its own endpoint.
 *
 * @throws ConfigError when the front would be open to the network, or the system's error when it cannot listen
 */
export async function serveSchemas(
  schemas: ServedSchemas,
  name: string,
  options: FrontOptions,
): Promise<Serving> {
  const pages = new Pages(schemas, () => options.runtime.now())
  const routes = new Routes({
    endpoints: endpointsOf(schemas),
    name,
    health: () => pages.health(),
    status: () => pages.status(),
  })
  const front = createFront(options, routes)
  const address = await listen(front, options)
  pages.address = address
  return { ...address, stop: () => front.stop(), close: () => front.close() }
}

async function listen(front: HttpServer, options: FrontOptions): Promise<HttpAddress> {
  try {
    return await front.listen()
  } catch (error) {
    throw listenFailure(error, options)
  }
}

function endpointsOf(schemas: ServedSchemas): Map<string, HttpEndpoint> {
  const endpoints = new Map<string, HttpEndpoint>()
  for (const [name, proxy] of schemas) {
    if (proxy === undefined) continue
    const status = (): string => write({ schema: name, ...schemaStatus(proxy.status()) })
    endpoints.set(name, { name, attach: (connection, version) => proxy.attach(connection, version), status })
  }
  return endpoints
}

/** The pages that are about all schemas. */
class Pages {
  /** Known once the front listens, and nobody asks before. */
  address: HttpAddress | undefined
  readonly #schemas: ServedSchemas
  readonly #now: () => number
  readonly #startedMs: number

  constructor(schemas: ServedSchemas, now: () => number) {
    this.#schemas = schemas
    this.#now = now
    this.#startedMs = now()
  }

  health(): string {
    const uptime = Math.round(this.#uptimeMs) / 1000
    return write({ status: 'ok', timestamp: new Date().toISOString(), uptime })
  }

  status(): string {
    const schemas = new Map<string, SchemaStatus>()
    for (const [name, proxy] of this.#schemas) schemas.set(name, schemaStatus(proxy?.status()))
    const { port = 0, url = '' } = this.address ?? {}
    return write(gatewayStatus({ port, url, uptimeMs: this.#uptimeMs }, schemas))
  }

  get #uptimeMs(): number {
    return this.#now() - this.#startedMs
  }
}
