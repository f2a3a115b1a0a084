// The paths of the HTTP front, and the handler of each.

import type { Configuration } from '../config/configuration.js'
import { write } from '../jsonrpc/text.js'
import { internalError, schemaNotFound, transportRefused } from '../mcp/error-codes.js'
import { version } from '../version.js'
import type { ServedProxy } from '../proxy/listener.js'
import { gatewayPage, healthPage, sandboxStatus, schemaPage } from './status.js'
import type { ClusterStatus } from '../store/cluster.js'
import { type FrontPath, frontPathOf, readFrontPath, withoutSlash } from '../front-auth/front-paths.js'
import type { FrontAccess } from './front-access.js'
import type { Sender } from '../transports/http-server/access.js'
import type {
  HttpEndpoint,
  HttpRoutes,
  HttpRoute,
  RequestHandler,
} from '../transports/http-server/endpoint.js'

const DEFAULT = 'default'

export interface MetricsPage {
  readonly type: string
  text(): string
}

/** The served schemas, and the name of the proxy. */
export interface ServedGateway {
  readonly name: string
  /** Every schema of a configuration; a disabled schema has no proxy. */
  readonly schemas: ReadonlyMap<string, ServedProxy | undefined>
  /** Keyed by path prefix, such as `/p/NAME`. */
  readonly views: ReadonlyMap<string, ServedView>
}

interface ServedView {
  readonly proxy: ServedProxy
  readonly view: string
}

/** The pages that a gateway may serve in addition to its schemas. */
export interface MorePaths {
  /** For the status page; undefined without a store. */
  readonly clusterStatus?: (() => ClusterStatus | undefined) | undefined
  readonly metrics?: MetricsPage | undefined
  /** Runs before every other handler, and needs no token of the front. */
  readonly handler?: PathHandler | undefined
  /** Like `handler`, for pages that a page of another site may link to. */
  readonly visited?: PathHandler | undefined
}

/** Finds the handler of a path that the gateway does not have. */
export type PathHandler = (path: string) => RequestHandler | undefined

/** The handler of each path: an endpoint for each proxy, and the pages about all proxies. */
export class Routes implements HttpRoutes {
  /** Set when the front listens; nothing reads it before. */
  address = { port: 0, origin: '' }
  front: { readonly access: FrontAccess | undefined; readonly isDraining: boolean } = {
    access: undefined,
    isDraining: false,
  }
  #served: ServedGateway
  /** Keyed by path prefix, such as `/api/NAME` and `/p/NAME`. */
  #endpoints: ReadonlyMap<string, ServedEndpoint> = new Map()
  /** Nearly every request has the path of the request before it. */
  #last: McpPath | undefined
  readonly #more: MorePaths
  readonly #now: () => number
  readonly #startedMs: number

  constructor(served: ServedGateway, now: () => number, more: MorePaths) {
    this.#more = more
    this.#served = served
    this.#now = now
    this.#startedMs = now()
    this.serve(served)
  }

  /** A proxy that stays keeps its endpoint. */
  serve(served: ServedGateway): void {
    this.#served = served
    const endpoints = [
      ...[...served.schemas].flatMap(([name, proxy]) =>
        proxy ? endpointAt(frontPathOf('api', name), name, proxy) : [],
      ),
      ...[...served.views].map(([path, { proxy, view }]) => endpointAt(path, path.slice(1), proxy, view)),
    ]
    const before = this.#endpoints
    this.#endpoints = new Map(
      endpoints.map((each) => {
        const known = before.get(each.path)
        return [each.path, known?.proxy === each.proxy ? known : each]
      }),
    )
  }

  handlerOf(path: string): RequestHandler | undefined {
    return this.#more.visited?.(path) ?? this.#more.handler?.(path)
  }

  isVisited(path: string): boolean {
    return this.#more.visited?.(path) !== undefined
  }

  find(sent: string, sender?: Sender): HttpRoute {
    const path = withoutSlash(sent)
    // For machines that have no token; the page only shows that the process answers.
    if (path === '/health') return { kind: 'page', open: true, body: () => healthPage(this.#uptimeMs) }
    if (path === '/ready') return this.front.isDraining ? draining : ready
    const profiles = sender?.profiles
    if (sender !== undefined && profiles !== undefined) return this.#within(path, sender, profiles)
    switch (path) {
      case '/':
        return { kind: 'page', open: false, body: () => this.#index() }
      case '/api/status':
        return { kind: 'page', open: false, body: () => this.#status }
      case '/metrics': {
        const { metrics } = this.#more
        if (metrics === undefined) return this.#nothing(path)
        return { kind: 'page', open: false, type: metrics.type, body: () => metrics.text() }
      }
      default:
        return this.#mcp(path)
    }
  }

  /** For a client of some profiles, no other path exists. A single profile is also at the short paths. */
  #within(path: string, sender: Sender, profiles: readonly string[]): HttpRoute {
    if (LOGIN.test(path)) return this.#login(path)
    const own = profiles.map((name) => frontPathOf('p', name))
    if (own.includes(readPath(path)?.prefix ?? '')) return this.#mcp(path)
    const refusal = this.front.access?.needsScope(path, sender)
    if (refusal !== undefined) return { kind: 'nothing', refusal }
    const [first, ...more] = own
    if (first === undefined || !SHORT.test(path)) return this.#nothing(path, own.flatMap(pathsAt))
    return more.length === 0 ? this.#mcp(`${first}${path}`) : severalProfiles(own)
  }

  #mcp(path: string): HttpRoute {
    const found = this.#last?.path === path ? this.#last : readPath(path)
    if (found === undefined) return LOGIN.test(path) ? this.#login(path) : this.#nothing(path)
    this.#last = found
    const { kind = 'api', name, written, prefix, last } = found
    const endpoint = this.#endpoints.get(prefix)
    if (endpoint === undefined) return kind === 'api' ? this.#noSchema(name ?? written) : this.#nothing(path)
    if (last === 'mcp') return { kind: 'mcp', endpoint }
    if (last === 'message') return { kind: 'messages', endpoint }
    return { kind: 'events', endpoint, messagePath: path.replace(/sse$/, 'message') }
  }

  #login(path: string): HttpRoute {
    const metadata = this.front.access?.auth?.resources.metadata(path)
    return metadata === undefined ? noLogin : { kind: 'page', open: true, body: () => metadata }
  }

  #noSchema(name: string): HttpRoute {
    const error = schemaNotFound(name.slice(0, NAME_LENGTH_MAX), this.#schemas)
    return { kind: 'nothing', refusal: { status: 404, error } }
  }

  #nothing(path: string, there: readonly string[] = this.#list()): HttpRoute {
    const message = `There is nothing at ${path.slice(0, NAME_LENGTH_MAX)}`
    const body = write({ error: 'Not Found', message, availableEndpoints: there })
    return { kind: 'nothing', refusal: { status: 404, error: transportRefused(message), body } }
  }

  #index(): string {
    const { name, schemas } = this.#served
    const [only, ...others] = schemas.values()
    const sandbox = others.length > 0 ? undefined : sandboxStatus(only)
    return write({ name, version, endpoints: this.#list(), ...sandbox })
  }

  get #schemas(): string[] {
    return [...this.#served.schemas].flatMap(([name, proxy]) => (proxy === undefined ? [] : [name]))
  }

  #list(): string[] {
    const names = this.#schemas
    const short = names.includes(DEFAULT) ? ['POST /mcp', 'GET /sse'] : []
    const long = names.flatMap((name) => pathsAt(frontPathOf('api', name)))
    const profiles = [...this.#served.views.keys()].filter((path) => path.startsWith('/p/')).flatMap(pathsAt)
    const metrics = this.#more.metrics === undefined ? [] : ['GET /metrics']
    const pages = ['GET /health', 'GET /ready', 'GET /api/status', ...metrics, 'GET /']
    return [...short, ...long, ...profiles, ...pages]
  }

  get #status(): string {
    return gatewayPage(this.address, this.#uptimeMs, this.#served.schemas, this.#more.clusterStatus?.())
  }

  get #uptimeMs(): number {
    return this.#now() - this.#startedMs
  }
}

interface ServedEndpoint extends HttpEndpoint {
  readonly path: string
  readonly proxy: ServedProxy
}

function endpointAt(path: string, name: string, proxy: ServedProxy, view?: string): ServedEndpoint {
  return {
    path,
    proxy,
    name,
    // All clients with the token are one principal, and so are all clients of a front without a token.
    attach: (connection, caller) => proxy.attach(connection, { ...caller, isSeveral: true, view }),
    isBound: () => proxy.isBound(view),
    // The page of a view does not show the servers, because its clients may not see all of them.
    status: () => (view === undefined ? schemaPage(name, proxy) : write({ view: name, status: 'active' })),
  }
}

/** The client must choose a profile, because profiles may give one name to different tools. */
function severalProfiles(paths: readonly string[]): HttpRoute {
  const addresses = paths.map((path) => `${path}/mcp`).join(' or ')
  const message = `This token is for several profiles: connect to ${addresses}`
  const body = write({ error: 'Forbidden', message, availableEndpoints: paths.flatMap(pathsAt) })
  return { kind: 'nothing', refusal: { status: 403, error: transportRefused(message), body } }
}

function pathsAt(path: string): string[] {
  return [`POST ${path}/mcp`, `GET ${path}/sse`]
}

/** A path in the form of a schema's or a view's path; the schema or view may not exist. */
interface McpPath extends FrontPath {
  readonly path: string
  /** The beginning of the path; for a short path, that of the default schema. */
  readonly prefix: string
}

function readPath(path: string): McpPath | undefined {
  const found = readFrontPath(path)
  if (found === undefined) return undefined
  const name = found.kind === undefined ? DEFAULT : found.name
  return { ...found, path, name, prefix: frontPathOf(found.kind ?? 'api', name ?? '') }
}

/** The schema whose clients use this path; undefined if no client would. */
export function schemaAt(path: string, { profiles }: Pick<Configuration, 'profiles'>): string | undefined {
  const found = readFrontPath(withoutSlash(path))
  if (found === undefined || found.last === 'message') return undefined
  if (found.kind === 'api') return found.name
  return found.kind === 'p' ? profiles.get(found.name ?? '')?.schema : DEFAULT
}

/** The paths of the default schema that do not name it. */
const SHORT = /^\/(?:mcp|sse|message)$/

/**
 * The paths at which clients look for a login (MCP 2025-03-26 to 2025-11-25, Authorization): metadata, also
 * below the endpoint, and the default paths without metadata.
 */
const LOGIN = /\/\.well-known(?:\/|$)|^\/(?:register|authorize|token)$/

/** For balancers, which have no token: new clients may connect. */
const ready: HttpRoute = { kind: 'page', open: true, body: () => write({ status: 'ready' }) }

const draining: HttpRoute = {
  kind: 'nothing',
  isForAll: true,
  refusal: {
    status: 503,
    error: internalError('Not ready: draining'),
    body: write({ status: 'draining' }),
    headers: { 'retry-after': '1' },
  },
}

/** After a 401, a client would try a login that cannot work. The answer needs no token, so it names no schema. */
const noLogin: HttpRoute = {
  kind: 'nothing',
  isForAll: true,
  refusal: {
    status: 404,
    error: transportRefused(
      'There is no login here: the operator configures a token, or an authorization server that the metadata of the resource names',
    ),
  },
}

const NAME_LENGTH_MAX = 100
