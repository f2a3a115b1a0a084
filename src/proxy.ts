// The proxy: what a configuration becomes, and who gets what.

import { ArgumentChecks } from './arguments.js'
import { type Configuration, resolveConfig, selectSchema } from './config.js'
import type { Connection } from './jsonrpc/connection.js'
import type { PeerOptions } from './jsonrpc/peer.js'
import type { Hop, WireTap } from './jsonrpc/wire-tap.js'
import { limits as defaultLimits, type Limits } from './limits.js'
import type { Listener, Serving } from './listener.js'
import { LegacyClientLeg, type ServerIdentity } from './mcp/eras/legacy-client.js'
import { LegacyServerLeg } from './mcp/eras/legacy-server.js'
import type { Revision } from './mcp/revision.js'
import { Reach } from './reach.js'
import { realRuntime } from './runtime.js'
import { Session } from './session.js'
import type { SessionEnd } from './session-parts.js'
import type { LogSink, Runtime } from './upstream/host.js'
import { openUpstream } from './upstream/kinds.js'
import type { PoolSurroundings } from './upstream/pool.js'
import type { ServerConfig } from './upstream/server-config.js'
import { UnavailableUpstream } from './upstream/unavailable.js'
import type { Upstream, UpstreamStatus } from './upstream/upstream.js'
import { version } from './version.js'
import { visit } from './visitor.js'

export interface ProxyOptions {
  /** Which schema of the configuration is served; `default` unless given. */
  readonly schema?: string
  /** `serverInfo.name` towards clients; the configuration's unless given. */
  readonly name?: string
  readonly log?: LogSink
  readonly tap?: WireTap
  /** Time, randomness and processes; the real ones unless given. */
  readonly runtime?: Runtime
  readonly limits?: Limits
  /** Opens every server before the first client comes, so that the status tells at once what works. */
  readonly eager?: boolean
}

/** One client of the proxy. */
export interface AttachedSession {
  /** The protocol revision that the client speaks: negotiated, or assumed until then. */
  readonly revision: Revision
  /** Resolves when the client is gone: its end of file, its `exit`, or a broken connection. */
  readonly ended: Promise<SessionEnd>
}

/** Many MCP servers that look like one. */
export interface Proxy {
  /** Serves one client on a connection that has not been started. */
  attach(connection: Connection): Promise<AttachedSession>
  /** Serves many clients, until the proxy is closed. */
  serve(listener: Listener): Promise<Serving>
  /**
   * Uses a server that was started elsewhere as the first process of a configured one.
   *
   * Call it before the first client is attached; gives false when it is too late or there is no such server.
   */
  adopt(service: string, connection: Connection): boolean
  /** The state of every configured server, in configuration order. */
  status(): UpstreamStatus[]
  /** Lets calls finish for up to `graceMs`, answers the rest, and stops every server. */
  close(graceMs?: number): Promise<void>
}

/**
 * Makes a proxy out of a configuration, or of an object in one of the configuration file's formats.
 *
 * Servers start at once; the first client does not wait for those that are slow.
 *
 * @throws ConfigError with every problem of the configuration, or when the schema does not exist
 */
export function createProxy(
  config: Configuration | Readonly<Record<string, unknown>>,
  options: ProxyOptions = {},
): Promise<Proxy> {
  return Promise.resolve().then(() => new PooledProxy(isResolved(config) ? config : resolve(config), options))
}

/** A configuration that was loaded has its schemas in a map; one that was written is plain JSON. */
function isResolved(config: Configuration | Readonly<Record<string, unknown>>): config is Configuration {
  return config['schemas'] instanceof Map
}

function resolve(value: Readonly<Record<string, unknown>>): Configuration {
  return resolveConfig(value, { source: 'createProxy', folder: process.cwd(), env: process.env })
}

class PooledProxy implements Proxy {
  readonly #config: Configuration
  readonly #options: ProxyOptions
  readonly #limits: Limits
  readonly #runtime: Runtime
  readonly #log: LogSink
  readonly #identity: ServerIdentity
  readonly #checks: ArgumentChecks
  readonly #upstreams: readonly Upstream[]
  readonly #sessions = new Set<Session>()
  readonly #serving = new Set<Serving>()
  readonly #startedAt: number
  #connections = 0
  #processes = 0

  constructor(config: Configuration, options: ProxyOptions) {
    this.#config = config
    this.#options = options
    this.#limits = options.limits ?? defaultLimits
    this.#runtime = options.runtime ?? realRuntime
    this.#log = options.log ?? (() => {})
    this.#identity = { name: options.name ?? config.server.name, version }
    this.#checks = new ArgumentChecks(this.#log)
    this.#startedAt = this.#runtime.now()
    const { servers } = selectSchema(config, options.schema ?? 'default')
    this.#upstreams = servers.filter((server) => !server.disabled).map((server) => this.#open(server))
    for (const upstream of this.#upstreams) {
      upstream.warm()
      if (options.eager === true) visit(upstream)
    }
  }

  attach(connection: Connection): Promise<AttachedSession> {
    const session = new Session(connection, {
      leg: new LegacyClientLeg(this.#identity),
      limits: this.#limits.session,
      drainMs: this.#limits.drainMs,
      runtime: this.#runtime,
      log: this.#log,
      watch: this.#watch('client', undefined),
      reach: (port, peer) =>
        new Reach(port, {
          upstreams: this.#upstreams,
          checks: this.#checks,
          splice: (line, edits) => peer.item(line, edits),
          runtime: this.#runtime,
          log: this.#log,
          startupGraceMs: this.#config.startupGraceMs,
          listPageBytesMax: this.#limits.session.listPageBytesMax,
          gave: (kind) => port.gave(kind),
        }),
    })
    this.#sessions.add(session)
    const ended = session.end.finally(() => this.#sessions.delete(session))
    return Promise.resolve({
      get revision() {
        return session.revision
      },
      ended,
    })
  }

  async serve(listener: Listener): Promise<Serving> {
    const { name } = this.#identity
    const serving = await listener.serve(this, { name, log: this.#log, runtime: this.#runtime })
    this.#serving.add(serving)
    return serving
  }

  adopt(service: string, connection: Connection): boolean {
    const upstream = this.#upstreams.find(({ config }) => config.name === service)
    return upstream?.adopt(connection) ?? false
  }

  status(): UpstreamStatus[] {
    return this.#upstreams.map((upstream) => upstream.status())
  }

  async close(graceMs: number = this.#limits.drainMs): Promise<void> {
    for (const serving of this.#serving) serving.stop()
    const sessions = [...this.#sessions]
    for (const session of sessions) session.drain(0, graceMs)
    await Promise.all(sessions.map((session) => session.end))
    await Promise.all(this.#upstreams.map((upstream) => upstream.close()))
    await Promise.all([...this.#serving].map((serving) => serving.close()))
  }

  #open(config: ServerConfig): Upstream {
    const why = config.unavailable
    if (config.kind === 'stdio' && config.memoryLimitBytes !== undefined) {
      const message = 'memoryLimitMB is not enforced by this version'
      this.#log({ level: 'warn', service: config.name, message })
    }
    // The configuration has warned of what it found itself.
    return why === undefined ? openUpstream(config, this.#around()) : new UnavailableUpstream(config, why)
  }

  #around(): PoolSurroundings {
    return {
      runtime: this.#runtime,
      log: this.#log,
      limits: this.#limits.upstream,
      leg: () => new LegacyServerLeg(this.#identity),
      watch: (service) => this.#watch('upstream', service),
      admit: () => this.#admit(),
    }
  }

  #admit(): (() => void) | undefined {
    if (this.#processes >= this.#limits.upstream.processesMax) return undefined
    this.#processes++
    return () => {
      this.#processes--
    }
  }

  /** The taps of one new connection. */
  #watch(hop: Hop['hop'], service: string | undefined): Pick<PeerOptions, 'wire' | 'forwarded'> {
    const tap = this.#options.tap
    const to: Hop = { hop, service, connection: ++this.#connections }
    const wire = tap?.wire
    const forward = tap?.forward
    return {
      ...(wire !== undefined && {
        wire: (direction, bytes) =>
          wire({ ...to, direction, at: this.#runtime.now() - this.#startedAt, bytes }),
      }),
      ...(forward !== undefined && {
        forwarded: (input, edits, output) => forward({ to, input, edits, output }),
      }),
    }
  }
}
