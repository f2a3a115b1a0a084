// All groups of servers of a configuration behind one HTTP front: one proxy for each group.
//
// Loaded only when something is served over HTTP.

import type { Socket } from 'node:net'
import { type Common, openCommon } from '../proxy/common.js'
import type { Configuration } from '../config/configuration.js'
import { ConfigError } from '../config/problems.js'
import { write } from '../jsonrpc/text.js'
import { enabledSchemas } from '../config/config.js'
import { filesIn } from '../kept/folder-files.js'
import type { Cluster } from '../store/cluster.js'
import { SessionPersistence } from '../store/session-persistence.js'
import type { Store } from '../store/store.js'
import type { OpenCluster } from './open-cluster.js'
import type { StartPages } from '../front-auth/start-pages.js'
import { within } from '../runtime/deadline.js'
import { CoalescedChanges } from '../runtime/deferred.js'
import type { Serving } from '../proxy/listener.js'
import { ConfiguredProxy } from '../proxy/proxy.js'
import type { McpProxy } from '../proxy/proxy-interface.js'
import type { EventSource } from '../events/emitter.js'
import type { ProxyEvents } from '../events/proxy-events.js'
import type { ProxyOptions } from '../proxy/proxy-options.js'
import { type FrontRemedies, type ProxiesServing, refuseOpenFront, serveProxies } from './serving.js'
import { defaultHttpServerLimits } from '../transports/http-server/front-limits.js'
import { type HttpServerConfig, isRemote } from '../upstream/contracts/server-config.js'
import { isLoopback } from '../text/loopback.js'
import { hostAndPort } from '../transports/address.js'
import { type MetricsPage, type PathHandler, type ServedGateway, schemaAt } from './routes.js'
import { frontPathOf } from '../front-auth/front-paths.js'
import { viewKey } from '../proxy/routing/views.js'

export interface GatewayOptions extends Omit<ProxyOptions, 'schema'> {
  /** `host` and `port` override the configuration. */
  readonly host?: string | undefined
  readonly port?: number | undefined
  /** A listening socket that replaces host and port. Another process accepts on it while this gateway drains. */
  readonly socket?: Socket | undefined
  readonly allowUnauthenticated?: boolean
  /** Has the key of session ids and the notes about each session, so that sessions outlive the process. */
  readonly sessionsFolder?: string | undefined
  /** A store that other instances share, which replaces `server.store` of the configuration. */
  readonly store?: Store | undefined
  /** The page at `/metrics`, which needs the token. */
  readonly metrics?: MetricsPage | undefined
  /** Serves paths that the gateway does not have, and checks credentials itself. */
  readonly handler?: PathHandler | undefined
  /** The front listens after this promise, so the servers start first. It rejects if the front must not listen. */
  readonly beforeListening?: ((events: EventSource<ProxyEvents>) => Promise<void>) | undefined
}

/** A running gateway. */
export interface Gateway extends EventSource<ProxyEvents>, Pick<Serving, 'host' | 'port' | 'origin'> {
  /**
   * Changes to another configuration while clients use the gateway, as `McpProxy.reload` does for one schema.
   *
   * A new schema is served. A removed or disabled schema answers 404 immediately, and its running calls may
   * finish. Token, CORS and allowed hosts change too, and sessions of another token end. A front that asked
   * for a token continues to ask, even without a token in the configuration. Host and port do not change,
   * which is logged.
   *
   * @throws ConfigError if a schema would be a server of itself; nothing has changed then
   */
  reload(config: Configuration): Promise<void>
  /** The proxies of the enabled schemas, by name. */
  readonly proxies: ReadonlyMap<string, McpProxy>
  /** The state of this instance, by names of metrics. A value that is undefined is not shown. */
  readonly readings: Readonly<Record<string, () => number | undefined>>
  /** Continues to serve, while `GET /ready` tells balancers to choose another instance. */
  drain(): void
  /**
   * Refuses new requests, lets calls finish for up to `graceMs`, fails the others, and stops all servers.
   *
   * With a `socket`, the gateway accepts no new connection, and answers the requests on open connections.
   */
  close(graceMs?: number): Promise<void>
}

/** @throws ConfigError if a gateway with these options would refuse to start, as far as that is known in advance */
export function refuseGateway(
  config: Configuration,
  options: Pick<GatewayOptions, 'host' | 'port' | 'allowUnauthenticated'>,
): void {
  const { server, source } = config
  const { allowUnauthenticated = false } = options
  const address = addressOf(config, options)
  refuseOwnAddress(config, address)
  const { token, tokens, auth } = server
  refuseOpenFront({ token, tokens, auth, host: address.host, allowUnauthenticated, source, remedies })
}

const remedies: FrontRemedies = {
  token:
    'set server.token or MCPS_PROXY_TOKEN, make one with mcps-proxy token create, or start with --allow-unauthenticated',
  port: 'choose another one with --port or server.port; 0 takes a free one',
  host: 'check --host and server.host',
  page: (origin) => `add it to server.cors.origins, "origins": ["${origin}"]`,
  name: (host) => `add it to server.allowedHosts, "allowedHosts": ["${host}"]`,
}

/**
 * Starts every enabled schema and listens.
 *
 * @throws ConfigError if the front would be open to the network without a token, or the system's error if the
 * front cannot listen; nothing keeps running then
 */
export async function openGateway(config: Configuration, options: GatewayOptions = {}): Promise<Gateway> {
  const alone = openCommon(config, options)
  const startPages = await startPagesFor(config, alone)
  const sessions = sessionsOf(config, options, alone)
  const shared = await clusterOf(config, options, sessions, alone).catch(async (error: unknown) => {
    await alone.close()
    throw error
  })
  const close = async (): Promise<void> => {
    shared?.revocations.close()
    await shared?.cluster.close()
    await alone.close()
  }
  const instance = shared?.cluster.label
  const common = { ...alone, instance, loginPages: loginPagesOf(startPages), sessions, shared, close }
  common.loaded.store = shared?.cluster.store
  // The clients of a public front may belong to other people at other machines.
  const { publicUrl, auth } = config.server
  const isPublic =
    !isLoopback(addressOf(config, options).host) || publicUrl !== undefined || auth !== undefined
  const isFar = options.person === 'here' && isPublic
  const proxies = new SchemaProxies({ ...options, ...(isFar && { person: 'elsewhere' }) }, common)
  let serving: ProxiesServing | undefined
  try {
    // No server starts for a front that cannot listen. The proxies are created in the turn of the event loop
    // in which the front begins to listen, so no request arrives before they exist.
    refuseGateway(config, options)
    const take = await common.loaded.load(config)
    take()
    const isReady = options.beforeListening?.(common.events)
    if (isReady !== undefined) await Promise.all([proxies.change(config), isReady])
    serving = await listen(config, options, { ...common, startPages }, proxies.served(config))
    const opened = proxies.change(config)
    serving.change(proxies.served(config), config.server)
    await opened
    return gatewayOf(config, options, proxies, serving, common)
  } catch (error) {
    await proxies.close(0)
    await serving?.close()
    await common.close()
    throw error
  }
}

interface GatewayCommon extends Common {
  readonly sessions: SessionPersistence
  readonly shared: OpenCluster | undefined
}

function readingsOf(cluster: Cluster): Gateway['readings'] {
  return {
    mcps_store_up: () => Number(!cluster.isAway),
    mcps_store_commands_total: () => cluster.status().commands,
    mcps_store_seconds_total: () => cluster.status().commandsMs / 1000,
    mcps_forwards_total: () => cluster.status().forwards,
  }
}

/** Undefined if the gateway has no store, and so no other instances. */
async function clusterOf(
  config: Configuration,
  { store }: GatewayOptions,
  sessions: SessionPersistence,
  common: Common,
): Promise<OpenCluster | undefined> {
  if (store === undefined && config.server.store === undefined) return undefined
  const { openCluster } = await import('./open-cluster.js')
  return openCluster(config, store, sessions, common)
}

function sessionsOf(
  { server, source }: Configuration,
  { sessionsFolder }: GatewayOptions,
  { runtime, log }: Common,
): SessionPersistence {
  const disk =
    sessionsFolder === undefined ? undefined : { files: filesIn(sessionsFolder, runtime), log, source }
  return new SessionPersistence({ keys: server, instance: server.instance, runtime, log, disk })
}

/** Loads the pages only if the configuration needs them. */
async function startPagesFor(
  { server: { auth, publicUrl } }: Configuration,
  { runtime }: Common,
): Promise<StartPages | undefined> {
  if (auth?.login === undefined || publicUrl === undefined) return undefined
  const { StartPages: Pages } = await import('../front-auth/start-pages.js')
  return new Pages(publicUrl, auth.login, runtime)
}

function loginPagesOf(pages: StartPages | undefined): Common['loginPages'] {
  return pages && ((user) => (pages.knows(user) ? () => pages.open(user) : undefined))
}

function gatewayOf(
  config: Configuration,
  options: GatewayOptions,
  proxies: SchemaProxies,
  serving: ProxiesServing,
  common: GatewayCommon,
): Gateway {
  const { runtime } = common
  let isClosing = false
  const fixed = fixedKeys(config, options)
  const changes = new CoalescedChanges(async (next: Configuration) => {
    const take = await common.loaded.load(next)
    await serving.prepare(next.server)
    if (isClosing)
      return common.log({ level: 'warn', message: 'a changed configuration is ignored: closing' })
    for (const [key, value] of fixedKeys(next, options))
      if (value !== fixed.get(key))
        common.log({ level: 'warn', message: `server.${key} has changed, which needs a restart` })
    take()
    common.sessions.change(next.server)
    const changed = proxies.change(next)
    serving.change(proxies.served(next), next.server)
    await changed
  })
  const { host, port, origin } = serving
  return {
    host,
    port,
    origin,
    proxies: proxies.all,
    readings: {
      mcps_draining: () => Number(serving.server.isDraining),
      mcps_sessions_revived_total: () => serving.server.revived,
      ...(common.shared && readingsOf(common.shared.cluster)),
    },
    on: (name, listener) => common.events.on(name, listener),
    reload: async (next) => {
      refuseOwnAddress(next, { host, port })
      await changes.take(next)
    },
    drain: () => void serving.server.drain(),
    // Stop the servers before the front, so that each waiting client still gets its answer.
    close: async (graceMs = common.limits.drainMs * CALLS_SHARE) => {
      isClosing = true
      const endsAtMs = runtime.now() + graceMs
      await within(serving.server.drain(), graceMs, runtime)
      serving.stop()
      const restMs = Math.max(0, endsAtMs - runtime.now())
      await Promise.all([proxies.close(restMs), within(serving.server.answeredElsewhere(), restMs, runtime)])
      await serving.close()
      await common.close()
    },
  }
}

/** The part of the drain time that calls get. The other part is for the end of servers that still work. */
const CALLS_SHARE = 0.9

function addressOf(
  { server: { host, port } }: Configuration,
  options: Pick<GatewayOptions, 'host' | 'port'>,
): FrontAddress {
  return { host: options.host ?? host, port: options.port ?? port }
}

/** The keys whose change needs a restart, with their values. */
function fixedKeys(config: Configuration, options: GatewayOptions): Map<string, unknown> {
  const { host, port } = addressOf(config, options)
  const { auth, publicUrl } = config.server
  const login = auth?.login && write([auth.login, publicUrl])
  const { instance, store } = config.server
  return new Map(Object.entries({ host, port, instance, store, 'auth.login or its publicUrl': login }))
}

class SchemaProxies {
  readonly #options: GatewayOptions
  readonly #common: Common
  readonly #proxies = new Map<string, ConfiguredProxy>()
  readonly all: ReadonlyMap<string, McpProxy> = this.#proxies
  /** Proxies of removed schemas, whose calls may still run. */
  readonly #going = new Set<McpProxy>()

  constructor(options: GatewayOptions, common: Common) {
    this.#options = options
    // A proxy must not close the common parts, because the proxies of other schemas use them too.
    this.#common = { ...common, close: () => Promise.resolve() }
  }

  /** The paths of this configuration, which must be the configuration of the last `change`. */
  served({ schemas, profiles, server }: Configuration): ServedGateway {
    const name = this.#options.name ?? server.name
    const ofProfiles = [...profiles.values()].map(
      ({ name: profile, schema }) =>
        [frontPathOf('p', profile), schema, viewKey('profile', profile)] as const,
    )
    const doors = (schemas.get('default')?.servers ?? [])
      .filter(({ disabled }) => !disabled)
      .map(
        ({ name: server }) => [frontPathOf('servers', server), 'default', viewKey('server', server)] as const,
      )
    return {
      name,
      schemas: new Map([...schemas.keys()].map((schema) => [schema, this.#proxies.get(schema)])),
      views: new Map(
        [...ofProfiles, ...doors].flatMap(([path, schema, view]) => {
          const proxy = this.#proxies.get(schema)
          return proxy === undefined ? [] : [[path, { proxy, view }]]
        }),
      ),
    }
  }

  /** Adds and removes schemas in this turn of the event loop; resolves when the other schemas have changed too. */
  async change(config: Configuration): Promise<void> {
    const enabled = enabledSchemas(config)
    const staying = [...this.#proxies].filter(([schema]) => enabled.includes(schema))
    for (const [schema, proxy] of this.#proxies) if (!enabled.includes(schema)) this.#drop(schema, proxy)
    for (const schema of enabled) if (!this.#proxies.has(schema)) this.#open(schema, config)
    await Promise.all(staying.map(([, proxy]) => proxy.reload(config)))
  }

  async close(graceMs: number | undefined): Promise<void> {
    await Promise.all([...this.#proxies.values(), ...this.#going].map((proxy) => proxy.close(graceMs)))
  }

  #open(schema: string, config: Configuration): void {
    const options = { eager: true, ...this.#options, schema }
    this.#proxies.set(schema, new ConfiguredProxy(config, options, this.#common))
  }

  #drop(schema: string, proxy: McpProxy): void {
    this.#proxies.delete(schema)
    this.#going.add(proxy)
    void proxy.close().then(() => this.#going.delete(proxy))
  }
}

function listen(
  config: Configuration,
  options: GatewayOptions,
  {
    log,
    runtime,
    startPages,
    sessions,
    shared,
  }: GatewayCommon & { readonly startPages: StartPages | undefined },
  served: ServedGateway,
): Promise<ProxiesServing> {
  const { source } = config
  const session = options.limits?.session
  return serveProxies(served, {
    ...config.server,
    ...addressOf(config, options),
    socket: options.socket,
    allowUnauthenticated: options.allowUnauthenticated ?? false,
    limits: {
      ...defaultHttpServerLimits,
      ...(session && { bodyBytesMax: session.ndjson.lineBytesMax }),
    },
    sessions: shared?.sessions ?? sessions,
    peers: shared?.cluster,
    revocations: shared?.revocations,
    clusterStatus: () => shared?.cluster.status(),
    log,
    runtime,
    metrics: options.metrics,
    handler: options.handler,
    visited: startPages && ((path) => startPages.find(path)),
    source,
    remedies,
  })
}

// Refuses servers that lead back to their own schema at this front. A client's file that is used unchanged
// may name the front, and such a schema would list its own tools again and again, without end.

interface FrontAddress {
  readonly host: string
  /** Port 0 is any free port, which no configuration can name. */
  readonly port: number
}

/** @throws ConfigError (`CONFIG_LOOP`) if an enabled schema would be a server of itself, directly or through others */
function refuseOwnAddress(config: Configuration, front: FrontAddress): void {
  const problems = enabledSchemas(config).flatMap((schema) =>
    remotesOf(config, schema)
      .filter(({ url }) => schemasBehind(config, url, front).has(schema))
      .map(({ name, url }) => ({
        path: `server "${name}" of group "${schema}"`,
        problem: `is this program's own address (${new URL(url).origin}) and leads back to that group, which would list its tools again without end`,
        hint: 'remove it from the file',
      })),
  )
  if (problems.length > 0) throw new ConfigError('CONFIG_LOOP', config.source, problems)
}

/** The remote servers of a schema that are in use; none while the schema is not served. */
function remotesOf({ schemas }: Configuration, schema = ''): HttpServerConfig[] {
  const { enabled = false, servers = [] } = schemas.get(schema) ?? {}
  const used = enabled ? servers.filter(isRemote) : []
  return used.filter(({ disabled, unavailable }) => !disabled && unavailable === undefined)
}

/** The schemas of this front to which an address leads, directly and through others. */
function schemasBehind(config: Configuration, address: string, front: FrontAddress): Set<string | undefined> {
  const found = new Set([ownSchema(config, new URL(address), front)])
  for (const schema of found)
    for (const { url } of remotesOf(config, schema)) found.add(ownSchema(config, new URL(url), front))
  return found
}

/** The schema of this front at an address; undefined for the address of another front. */
function ownSchema(config: Configuration, url: URL, front: FrontAddress): string | undefined {
  const { host, port } = hostAndPort(url)
  const isHere = port === front.port && (isLoopback(host) || host === front.host)
  return url.protocol === 'http:' && isHere ? schemaAt(url.pathname, config) : undefined
}
