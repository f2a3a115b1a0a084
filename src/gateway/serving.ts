// Schemas behind one HTTP front: endpoints, pages, and the order in which they end.
//
// Loaded only when something is served over HTTP.

import { Emitter } from '../events/emitter.js'
import { Front, type FrontOptions, type FrontRules } from './http-front.js'
import { HandshakeJudge } from './handshake-judge.js'
import { write } from '../jsonrpc/text.js'
import { listenFailure } from './listen-failure.js'
import type { ServedProxy, Serving } from '../proxy/listener.js'
import { escapeJson } from '../text/escape.js'
import { Routes } from './routes.js'
import { type ServingEvents, SessionReports } from '../events/serving-events.js'
import { type GatewayStatus, type SchemaStatus, gatewayStatus, schemaStatus } from './status.js'
import type { HttpEndpoint } from '../transports/http-server/endpoint.js'
import type { HttpAddress, HttpServer } from '../transports/http-server/http-server.js'
import type { Refusals } from '../transports/http-server/refusal.js'

/** Every schema of a configuration; one that is disabled has no proxy. */
export type ServedSchemas = ReadonlyMap<string, ServedProxy | undefined>

/** The schemas that are served, and the name of the proxy. */
export interface ServedGateway {
  readonly name: string
  readonly schemas: ServedSchemas
}

/** A front whose schemas and rules may change. */
export interface SchemasServing extends Serving {
  /** @throws ConfigError when these rules would open the front to the network; nothing has changed then */
  check(rules: FrontRules): void
  /** Serves these schemas by these rules, which must have been checked; a schema that stays keeps its sessions. */
  change(served: ServedGateway, rules: FrontRules): void
}

/** How the front is served; who is told of its sessions, and how requests are served, is its own affair. */
type ServeOptions = Omit<FrontOptions, 'watch' | 'judge'>

/**
 * Listens, and serves each schema at its own endpoint.
 *
 * @throws ConfigError when the front would be open to the network, or the system's error when it cannot listen
 */
export async function serveSchemas(served: ServedGateway, options: ServeOptions): Promise<SchemasServing> {
  const endpoints = new Endpoints(served)
  const pages = new Pages(endpoints, () => options.runtime.now())
  const routes = new Routes({
    endpoints: endpoints.byName,
    name: () => endpoints.served.name,
    health: () => pages.health(),
    status: () => pages.status(),
  })
  const events = new Emitter<ServingEvents>(options.log)
  const watch = new SessionReports(events)
  const judge = (refusals: Refusals): HandshakeJudge => new HandshakeJudge(refusals, routes.revisions)
  const front = new Front({ ...options, watch, judge }, routes)
  const { server } = front
  const address = await listen(server, options)
  pages.address = address
  return {
    ...address,
    url: `${address.origin}/mcp`,
    check: (rules) => front.check(rules),
    change: (next, rules) => {
      front.change(rules)
      endpoints.serve(next)
    },
    on: (name, listener) => events.on(name, listener),
    stop: () => server.stop(),
    close: () => server.close(),
  }
}

interface SchemaPage extends SchemaStatus {
  readonly schema: string
}

/** A page holds words of servers and clients, and terminals show it. */
function shown(page: SchemaPage | GatewayStatus): string {
  return escapeJson(write(page))
}

async function listen(front: HttpServer, options: ServeOptions): Promise<HttpAddress> {
  try {
    return await front.listen()
  } catch (error) {
    throw listenFailure(error, options)
  }
}

/** One endpoint for each proxy, for as long as it is served. */
class Endpoints {
  readonly byName = new Map<string, HttpEndpoint>()
  readonly #byProxy = new WeakMap<ServedProxy, HttpEndpoint>()
  served: ServedGateway

  constructor(served: ServedGateway) {
    this.served = served
    this.serve(served)
  }

  serve(served: ServedGateway): void {
    this.served = served
    this.byName.clear()
    for (const [name, proxy] of served.schemas)
      if (proxy !== undefined) this.byName.set(name, this.#of(name, proxy))
  }

  #of(name: string, proxy: ServedProxy): HttpEndpoint {
    const known = this.#byProxy.get(proxy)
    if (known !== undefined) return known
    const status = (): string => shown({ schema: name, ...schemaStatus(proxy) })
    const endpoint: HttpEndpoint = {
      name,
      attach: (connection, caller) => proxy.attach(connection, caller),
      status,
    }
    this.#byProxy.set(proxy, endpoint)
    return endpoint
  }
}

/** The pages that are about all schemas. */
class Pages {
  /** Known once the front listens, and nobody asks before. */
  address: HttpAddress | undefined
  readonly #endpoints: Endpoints
  readonly #now: () => number
  readonly #startedMs: number

  constructor(endpoints: Endpoints, now: () => number) {
    this.#endpoints = endpoints
    this.#now = now
    this.#startedMs = now()
  }

  health(): string {
    const uptime = Math.round(this.#uptimeMs) / 1000
    return write({ status: 'ok', timestamp: new Date().toISOString(), uptime })
  }

  status(): string {
    const schemas = new Map<string, SchemaStatus>()
    for (const [name, proxy] of this.#endpoints.served.schemas) schemas.set(name, schemaStatus(proxy))
    const { port = 0, origin: url = '' } = this.address ?? {}
    return shown(gatewayStatus({ port, url, uptimeMs: this.#uptimeMs }, schemas))
  }

  get #uptimeMs(): number {
    return this.#now() - this.#startedMs
  }
}
