// The paths of the HTTP front, and what stands at each.

import { write } from '../jsonrpc/text.js'
import { schemaNotFound, transportRefused } from '../mcp/error-codes.js'
import { handshakeRevisions, statelessRevisions } from '../mcp/revisions.js'
import { version } from '../version.js'
import type { ServedProxy } from '../proxy/listener.js'
import { escapeJson } from '../text/escape.js'
import {
  type GatewayStatus,
  type SchemaStatus,
  gatewayStatus,
  sandboxStatus,
  schemaStatus,
} from './status.js'
import type { HttpEndpoint, HttpRevision, HttpRoutes, HttpRoute } from '../transports/http-server/endpoint.js'

/** The schema that has the short paths. */
const DEFAULT = 'default'

/** Every schema of a configuration; one that is disabled has no proxy. */
export type ServedSchemas = ReadonlyMap<string, ServedProxy | undefined>

/** The schemas that are served, and the name of the proxy. */
export interface ServedGateway {
  readonly name: string
  readonly schemas: ServedSchemas
}

/** The page of one schema, where `status` may be that of its sandbox. */
type SchemaPage = Omit<SchemaStatus, 'status'> & { readonly schema: string; readonly status: string }

/** A page holds words of servers and clients, and terminals show it. */
function shown(page: SchemaPage | GatewayStatus): string {
  return escapeJson(write(page))
}

/** The handler of each path: an endpoint for each proxy, and the pages about all of them. */
export class Routes implements HttpRoutes {
  readonly revisions: readonly HttpRevision[] = [...handshakeRevisions, ...statelessRevisions]
  /** Known once the front listens; it is not read before. */
  address = { port: 0, origin: '' }
  #served: ServedGateway
  readonly #endpoints = new Map<string, HttpEndpoint>()
  readonly #byProxy = new WeakMap<ServedProxy, HttpEndpoint>()
  readonly #now: () => number
  readonly #startedMs: number
  /** Nearly all requests have the same path. */
  #last: McpPath | undefined

  constructor(served: ServedGateway, now: () => number) {
    this.#served = served
    this.#now = now
    this.#startedMs = now()
    this.serve(served)
  }

  /** A proxy that stays keeps its endpoint. */
  serve(served: ServedGateway): void {
    this.#served = served
    this.#endpoints.clear()
    for (const [name, proxy] of served.schemas)
      if (proxy !== undefined) this.#endpoints.set(name, this.#of(name, proxy))
  }

  find(sent: string): HttpRoute {
    const path = withoutSlash(sent)
    switch (path) {
      case '/':
        return { kind: 'page', open: false, body: () => this.#index() }
      case '/health':
        // For machines that have no token; it says nothing but that the process answers.
        return { kind: 'page', open: true, body: () => this.#health() }
      case '/api/status':
        return { kind: 'page', open: false, body: () => this.#status() }
      default:
        return this.#mcp(path)
    }
  }

  #mcp(path: string): HttpRoute {
    const known = this.#last?.path === path ? this.#last : readPath(path)
    if (known === undefined) return LOGIN.test(path) ? noLogin : this.#nothing(path)
    this.#last = known
    const { name, written, last } = known
    const endpoint = name === undefined ? undefined : this.#endpoints.get(name)
    if (endpoint === undefined) return this.#noSchema(name ?? written)
    if (last === 'mcp') return { kind: 'mcp', endpoint }
    if (last === 'message') return { kind: 'messages', endpoint }
    return { kind: 'events', endpoint, messagePath: path.replace(/sse$/, 'message') }
  }

  #noSchema(name: string): HttpRoute {
    const error = schemaNotFound(name.slice(0, NAME_LENGTH_MAX), [...this.#endpoints.keys()])
    return { kind: 'nothing', refusal: { status: 404, error } }
  }

  #nothing(path: string): HttpRoute {
    const message = `There is nothing at ${path.slice(0, NAME_LENGTH_MAX)}`
    const body = write({ error: 'Not Found', message, availableEndpoints: this.#list() })
    return { kind: 'nothing', refusal: { status: 404, error: transportRefused(message), body } }
  }

  #index(): string {
    const { name } = this.#served
    return write({ name, version, endpoints: this.#list(), ...this.#sandbox() })
  }

  #list(): string[] {
    const names = [...this.#endpoints.keys()]
    const short = names.includes(DEFAULT) ? ['POST /mcp', 'GET /sse'] : []
    const long = names
      .map(encodeURIComponent)
      .flatMap((name) => [`POST /api/${name}/mcp`, `GET /api/${name}/sse`])
    return [...short, ...long, 'GET /health', 'GET /api/status', 'GET /']
  }

  #health(): string {
    const uptime = Math.round(this.#uptimeMs) / 1000
    return write({ status: 'ok', timestamp: new Date().toISOString(), uptime })
  }

  #sandbox(): object | undefined {
    const [only, ...others] = this.#served.schemas.values()
    return others.length > 0 ? undefined : sandboxStatus(only, version)
  }

  #status(): string {
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

/** A path at which a schema stands, if there is one of that name. */
interface McpPath {
  readonly path: string
  /** Undefined where its escapes are none. */
  readonly name: string | undefined
  /** The name as it was written. */
  readonly written: string
  readonly last: string
}

function readPath(path: string): McpPath | undefined {
  const [, short, escaped, long] =
    /^(?:\/(mcp|sse|message)|\/api\/([^/]+)\/(mcp|sse|message))$/.exec(path) ?? []
  const last = short ?? long
  if (last === undefined) return undefined
  const name = escaped === undefined ? DEFAULT : unescaped(escaped)
  return { path, name, written: escaped ?? '', last }
}

/** The schema whose clients come to this path; undefined where none would. */
export function schemaAt(path: string): string | undefined {
  const found = readPath(withoutSlash(path))
  return found?.last === 'message' ? undefined : found?.name
}

/** `/mcp/` is `/mcp`. */
function withoutSlash(path: string): string {
  return path.length > 1 && path.endsWith('/') ? path.slice(0, -1) : path
}

/**
 * The paths at which clients look for a login (MCP 2025-03-26 to 2025-11-25, Authorization): metadata, below the endpoint too, and what
 * they assume without it.
 */
const LOGIN = /\/\.well-known(?:\/|$)|^\/(?:register|authorize|token)$/

/** A client that gets 401 there would go on with a login that leads nowhere; it names no schema, since it needs no token. */
const noLogin: HttpRoute = {
  kind: 'nothing',
  isForAll: true,
  refusal: {
    status: 404,
    error: transportRefused(
      'There is no login here; a token, where one is needed, is configured by the operator',
    ),
  },
}

/** Most characters of an unknown path that an error repeats. */
const NAME_LENGTH_MAX = 100

function unescaped(text: string): string | undefined {
  try {
    return decodeURIComponent(text)
  } catch {
    return undefined
  }
}
