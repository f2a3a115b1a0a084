// The proxy of one schema of a configuration: it connects clients, views and servers.

import { ArgumentChecks } from './routing/argument-checks.js'
import type { AttachedSession } from './clients/session.js'
import { type Common, openCommon } from './common.js'
import type { Configuration } from '../config/configuration.js'
import type { ConfigurationJson } from '../config/keys.js'
import { selfStartVariables } from '../config/proxy-chain.js'
import { homeOf, ownPath } from '../config/file.js'
import { resolveConfig, selectSchema } from '../config/config.js'
import { hasSeveralPrincipals, hasUsers } from '../config/front.js'
import type { EventListener } from '../events/emitter.js'
import { Fleet, inWords } from './fleet.js'
import { type ClientContext, ClientDirectory } from './clients/client-directory.js'
import { PendingInput } from './input/pending-input.js'
import type { Connection } from '../jsonrpc/connection.js'
import { CoalescedChanges } from '../runtime/deferred.js'
import type { Listener, Serving } from './listener.js'
import type { ClientOrigin } from '../mcp/client-context.js'
import type { ServerIdentity } from '../mcp/capabilities.js'
import { serverOpener } from '../mcp/eras/server-opener.js'
import type { McpProxy } from './proxy-interface.js'
import type { ProxyEvents, ServerChanges } from '../events/proxy-events.js'
import type { ProxyOptions } from './proxy-options.js'
import { Views } from './routing/views.js'
import type { AttachedClient } from './clients/attached-client.js'
import type { SessionStatus } from './routing/session-status.js'
import type { RunningProcess, UpstreamStatus } from '../upstream/contracts/upstream.js'
import type { ServerConfig } from '../upstream/contracts/server-config.js'
import type { ProxyContext } from '../upstream/server/context.js'
import { withSecrets } from '../secrets/load.js'
import { isObject } from '../text/json-object.js'
import { version } from '../version.js'
import type { Runtime } from '../runtime/runtime.js'

/** The longest time that a reload waits for new servers, so that no client finds a gap. */
const RELOAD_WAIT_MS = 10_000

/**
 * Creates a proxy from a configuration, or from an object in one of the configuration file's formats.
 *
 * Servers start with the first client, or immediately with `eager`. The first client never waits for slow
 * ones.
 *
 * @throws ConfigError with every problem of the configuration, or if the schema does not exist
 */
export async function createProxy(
  config: Configuration | ConfigurationJson,
  options: ProxyOptions = {},
): Promise<McpProxy> {
  const whole = await resolvedConfig(config, options.runtime)
  return openReady(whole, options, openCommon(whole, options))
}

export async function openReady(
  config: Configuration,
  options: ProxyOptions,
  common: Common,
): Promise<McpProxy> {
  const take = await common.loaded.load(config)
  take()
  return new ConfiguredProxy(config, options, common)
}

export class ConfiguredProxy implements McpProxy {
  #config: Configuration
  readonly #options: ProxyOptions
  readonly #common: Common
  readonly #schema: string
  readonly #fleet: Fleet
  readonly #directory: ClientDirectory
  readonly #views = new Views()
  readonly #serving = new Set<Serving>()
  readonly #changes = new CoalescedChanges((config: Configuration) => this.#change(config))
  #closed: Promise<void> | undefined

  /** Several proxies may share `common`. @throws ConfigError if the schema does not exist */
  constructor(config: Configuration, options: ProxyOptions, common: Common) {
    this.#config = config
    this.#options = options
    this.#common = common
    this.#schema = options.schema ?? 'default'
    this.#directory = new ClientDirectory(this.#clientContext())
    const marks = selfStartVariables(config, this.#schema, common.runtime.env)
    const newContext = (): ProxyContext => this.#newContext(marks)
    this.#fleet = new Fleet(this.#serversOf(config), common, newContext, options.eager ?? false)
    this.#changeViews(config)
  }

  attach(connection: Connection, origin: ClientOrigin = {}): Promise<AttachedSession> {
    const view = this.#views.of(origin.view)
    if (view === undefined) return Promise.reject(new Error(`there is no view '${origin.view}'`))
    return Promise.resolve(this.#directory.attach(connection, origin, view))
  }

  async serve(listener: Listener): Promise<Serving> {
    const { log, runtime } = this.#common
    const serving = await listener.serve(this, { name: this.#identity.name, log, runtime })
    this.#serving.add(serving)
    if (this.#directory.isClosing) await serving.close()
    return serving
  }

  adopt(service: string, server: Connection | RunningProcess): boolean {
    const upstream = this.#fleet.upstreams.find(({ config }) => config.name === service)
    return upstream?.adopt(server) ?? false
  }

  on<Name extends keyof ProxyEvents>(name: Name, listener: EventListener<ProxyEvents[Name]>): () => void {
    return this.#common.events.on(name, listener)
  }

  async restart(service: string): Promise<void> {
    await this.#fleet.restart(service, this.#config.startupGraceMs ?? RELOAD_WAIT_MS)
  }

  async stop(service: string): Promise<void> {
    await this.#fleet.stop(service)
  }

  status(): UpstreamStatus[] {
    return this.#fleet.upstreams.map((upstream) => upstream.status())
  }

  sessions(): SessionStatus[] {
    return this.#directory.status()
  }

  isBound(name?: string): boolean {
    const view = this.#views.of(name)
    return this.#fleet.upstreams.some(
      ({ config }) =>
        config.kind === 'stdio' && config.isolation === 'session' && view?.hasServer(config) === true,
    )
  }

  async reload(config: Configuration | ConfigurationJson): Promise<ServerChanges | undefined> {
    const wanted = await resolvedConfig(config, this.#options.runtime)
    this.#serversOf(wanted)
    return this.#changes.take(wanted)
  }

  close(graceMs: number = this.#common.limits.drainMs): Promise<void> {
    // Write now: the process may be killed before its servers have ended.
    this.#common.kept.flush()
    for (const serving of this.#serving) serving.stop()
    const clients = this.#directory.drain(graceMs)
    this.#closed ??= this.#finish(clients)
    return this.#closed
  }

  async #finish(clients: readonly AttachedClient[]): Promise<void> {
    await Promise.all(clients.map(({ session }) => session.answered.promise))
    this.#directory.close()
    // All calls are answered, so the servers can end while the clients read their last answers.
    await Promise.all([this.#fleet.close(), ...clients.map(({ session }) => session.ended.promise)])
    await Promise.all([...this.#serving].map((serving) => serving.close()))
    await this.#common.close()
    this.#common.events.emit('close', { schema: this.#schema })
  }

  #clientContext(): ClientContext {
    const { runtime, log, limits, taps, kept, loaded, instance } = this.#common
    const [options, schema] = [this.#options, this.#schema]
    const context: ClientContext = {
      ...this.#common,
      schema,
      checks: new ArgumentChecks(log),
      policy: () => loaded.policy(schema),
      gate: options.gate,
      tracer: options.tracer,
      isForOneClient: options.ownStart === 'with-client',
      pending: new PendingInput({
        runtime,
        schema,
        instance,
        limits: limits.pendingInput,
        stateKeys: () => this.#config.server.stateKeys,
        isSigned: ({ isSeveral }) =>
          !this.#directory.isOneClient && (isSeveral !== true || hasSeveralPrincipals(this.#config.server)),
      }),
      identity: () => this.#identity,
      isTransparent: () => this.#fleet.isTransparent,
      startupGraceMs: () => this.#config.startupGraceMs,
      // The answer to `initialize` is that of the one server, so it waits for the server.
      initializeGraceMs: () => (this.#fleet.isTransparent ? Infinity : limits.initializeGraceMs),
      keepLists: () => kept.flush(),
      watch: () => taps.watch({ hop: 'client', service: undefined, schema }),
      openRouter: (client) => this.#fleet.openRouter(client, context),
      describe: (view) => this.#fleet.describe(view, limits.session.instructionsLengthMax),
    }
    return context
  }

  /** The identity for later clients. Connected clients keep the identity that they got. */
  get #identity(): ServerIdentity {
    const { server } = this.#config
    return { name: this.#options.name ?? server.name, version: server.version ?? version }
  }

  /** @throws ConfigError if there is no such schema */
  #serversOf(config: Configuration): readonly ServerConfig[] {
    return selectSchema(config, this.#schema).servers
  }

  #newContext(marks: ProxyContext['marks']): ProxyContext {
    const { events, limits, taps, loaded, guard } = this.#common
    const schema = this.#schema
    return {
      ...this.#common,
      news: {
        server: (news) => events.emit('server', { schema, ...news }),
        lists: (news) => events.emit('lists', { schema, ...news }),
      },
      verbose: this.#options.verbose ?? false,
      person: this.#options.person,
      limits: limits.upstream,
      marks,
      open: serverOpener(this.#identity),
      watch: (service) => taps.watch({ hop: 'upstream', service, schema }),
      onSecrets: this.#options.onSecrets,
      guard: () => guard ?? loaded.guard(schema),
      ownStart: this.#options.ownStart ?? 'with-call',
      separatesPrincipals: () =>
        this.#options.ownStart !== 'with-client' && this.#config.server.auth !== undefined,
      hasUsers: () => this.#options.ownStart !== 'with-client' && hasUsers(this.#config.server),
    }
  }

  /** Applies the profiles of the schema, and a view of each server under its own names. */
  #changeViews(config: Configuration): void {
    const profiles = [...config.profiles].filter(([, { schema }]) => schema === this.#schema)
    this.#views.change(
      new Map(profiles),
      this.#serversOf(config).map(({ name }) => name),
    )
  }

  async #change(config: Configuration): Promise<ServerChanges | undefined> {
    const { log, events, loaded } = this.#common
    const take = await loaded.load(config)
    if (this.#directory.isClosing) {
      log({ level: 'warn', message: 'a changed configuration is ignored: the proxy is closing' })
      return undefined
    }
    take()
    this.#config = config
    this.#changeViews(config)
    this.#directory.leaveGone()
    const changes = await this.#fleet.change(this.#serversOf(config), config.startupGraceMs ?? RELOAD_WAIT_MS)
    const schema = this.#schema
    events.emit('reload', { schema, ...changes })
    log({ level: 'info', message: `configuration changed: ${inWords(changes)}`, details: { schema } })
    return changes
  }
}

/** A loaded configuration has its schemas in a map; a written one is plain JSON. */
async function resolvedConfig(
  config: Configuration | ConfigurationJson,
  runtime: Runtime | undefined,
): Promise<Configuration> {
  if (isResolved(config)) return config
  const from = { source: 'createProxy', folder: process.cwd(), env: process.env }
  return withSecrets((references) => resolveConfig(config, { ...from, references }), {
    secretsFile: ownPath(homeOf(process.env), 'secrets.json'),
    runtime,
    runsPrograms: true,
  })
}

function isResolved(config: Configuration | ConfigurationJson): config is Configuration {
  // A program without types may pass anything.
  return isObject(config) && 'schemas' in config && config.schemas instanceof Map
}
