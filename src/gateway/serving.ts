// Schemas behind one HTTP front: endpoints, pages, and the order in which they end.
//
// Loaded only when something is served over HTTP.

import { Emitter } from '../events/emitter.js'
import { type ServingEvents, SessionReports } from '../events/serving-events.js'
import { write } from '../jsonrpc/text.js'
import { handshakeRevisions } from '../mcp/revisions.js'
import type { ServedProxy, Serving } from '../proxy/listener.js'
import { escapeJson } from '../text/escape.js'
import type { HttpEndpoint } from '../transports/http-server/endpoint.js'
import type { Refusals } from '../transports/http-server/refusal.js'
import { HandshakeJudge } from './request-policy.js'
import { Front, type FrontOptions, type FrontRules } from './http-front.js'
import { type RouteParts, Routes } from './routes.js'
import {
  type GatewayStatus,
  type SchemaStatus,
  gatewayStatus,
  sandboxStatus,
  schemaStatus,
} from './status.js'
import { version } from '../version.js'

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

/**
 * Listens, and serves each schema at its own endpoint.
 *
 * @throws ConfigError when the front would be open to the network, or the system's error when it cannot listen
 */
export async function serveSchemas(served: ServedGateway, options: FrontOptions): Promise<SchemasServing> {
  const schemas = new Schemas(served, () => options.runtime.now())
  const events = new Emitter<ServingEvents>(options.log)
  const routes = new Routes(schemas)
  const front = new Front(options, routes, new SessionReports(events), judgeOf)
  const address = await front.listen()
  schemas.address = address
  return {
    ...address,
    url: `${address.origin}/mcp`,
    check: (rules) => front.check(rules),
    change: (next, rules) => {
      front.change(rules)
      schemas.serve(next)
    },
    on: (name, listener) => events.on(name, listener),
    stop: () => front.server.stop(),
    close: () => front.server.close(),
  }
}

/** The page of one schema, where `status` may be that of its sandbox. */
type SchemaPage = Omit<SchemaStatus, 'status'> & { readonly schema: string; readonly status: string }

/** A page holds words of servers and clients, and terminals show it. */
function shown(page: SchemaPage | GatewayStatus): string {
  return escapeJson(write(page))
}

/** The schemas that are served: one endpoint for each proxy, and the pages about all of them. */
class Schemas implements RouteParts {
  readonly endpoints = new Map<string, HttpEndpoint>()
  /** Known once the front listens; it is not read before. */
  address = { port: 0, origin: '' }
  #served: ServedGateway
  readonly #byProxy = new WeakMap<ServedProxy, HttpEndpoint>()
  readonly #now: () => number
  readonly #startedMs: number

  constructor(served: ServedGateway, now: () => number) {
    this.#served = served
    this.#now = now
    this.#startedMs = now()
    this.serve(served)
  }

  get name(): string {
    return this.#served.name
  }

  /** A proxy that stays keeps its endpoint. */
  serve(served: ServedGateway): void {
    this.#served = served
    this.endpoints.clear()
    for (const [name, proxy] of served.schemas)
      if (proxy !== undefined) this.endpoints.set(name, this.#of(name, proxy))
  }

  health(): string {
    const uptime = Math.round(this.#uptimeMs) / 1000
    return write({ status: 'ok', timestamp: new Date().toISOString(), uptime })
  }

  sandbox(): object | undefined {
    const [only, ...others] = this.#served.schemas.values()
    return others.length > 0 ? undefined : sandboxStatus(only, version)
  }

  status(): string {
    const schemas = new Map<string, SchemaStatus>()
    for (const [name, proxy] of this.#served.schemas) schemas.set(name, schemaStatus(proxy))
    const { port, origin: url } = this.address
    return shown(gatewayStatus({ port, url, uptimeMs: this.#uptimeMs }, schemas))
  }

  get #uptimeMs(): number {
    return this.#now() - this.#startedMs
  }

  #of(name: string, proxy: ServedProxy): HttpEndpoint {
    const known = this.#byProxy.get(proxy)
    if (known !== undefined) return known
    const endpoint: HttpEndpoint = {
      name,
      // Everybody who shows the token is one principal, and so is everybody where no token is asked for.
      attach: (connection, caller) => proxy.attach(connection, { ...caller, isSeveral: true }),
      status: () => shown({ schema: name, ...schemaStatus(proxy), ...sandboxStatus(proxy, version) }),
    }
    this.#byProxy.set(proxy, endpoint)
    return endpoint
  }
}

function judgeOf(refusals: Refusals): HandshakeJudge {
  return new HandshakeJudge(refusals, handshakeRevisions)
}
