// The servers of one schema, and how they change while clients use them.
//
// A change is one step for all clients. Before it, new servers start while clients still use the old ones.
// After it, removed servers may finish their calls.

import type { Common } from './common.js'
import type { ServerChanges } from '../events/proxy-events.js'
import { Catalogs } from './routing/catalog.js'
import type { CatalogView } from './routing/views.js'
import { ChurnMap } from '../jsonrpc/churn-map.js'
import type { ClientPort } from '../calls/call.js'
import { noCapabilities } from '../mcp/capabilities.js'
import type { ServerDescription } from '../mcp/eras/client-leg.js'
import { describeServers } from './routing/description.js'
import { type RoutedClient, Router, type RoutingContext } from './routing/router.js'
import { isSameServer } from '../kept/identity.js'
import { UpstreamError } from '../upstream/contracts/upstream-error.js'
import type { ServerConfig } from '../upstream/contracts/server-config.js'
import { openUpstream } from '../upstream/kinds/kinds.js'
import type { ProxyContext } from '../upstream/server/context.js'
import { stoppedUpstream } from '../upstream/kinds/unavailable.js'
import type { Lane, Upstream } from '../upstream/contracts/upstream.js'
import { within } from '../runtime/deadline.js'
import { latestSession } from '../mcp/revisions.js'

/** The `Upstream` of each configured server after a change: the previous one if its configuration is the same. */
type Plans = ReadonlyMap<Upstream, ServerConfig>

export class Fleet {
  readonly #catalogs: Catalogs
  upstreams: readonly Upstream[]
  readonly #common: Common
  readonly #newContext: () => ProxyContext
  readonly #isEager: boolean
  readonly #routers = new ChurnMap<number, Router>()
  /** For each open upstream: its end, after a reload or a restart has removed or replaced it. */
  readonly #open: Map<Upstream, Promise<void> | undefined>
  #changing: Promise<unknown> = Promise.resolve()
  #closed = false

  /** `newContext` creates each server's context. An eager fleet opens all servers before the first client. */
  constructor(
    servers: readonly ServerConfig[],
    common: Common,
    newContext: () => ProxyContext,
    isEager: boolean,
  ) {
    this.#common = common
    this.#newContext = newContext
    this.#isEager = isEager
    this.#catalogs = new Catalogs(common.log)
    this.upstreams = inUse(servers).map((config) => this.#add(config))
    this.#open = new Map(this.upstreams.map((upstream) => [upstream, undefined]))
  }

  /** Whether there is one server, which its client must see as if there were no proxy. */
  get isTransparent(): boolean {
    const [only, ...others] = this.upstreams
    return others.length === 0 && only?.config.isTransparent === true
  }

  /** Opens the router of a client, which follows every change until the client leaves. */
  openRouter(client: RoutedClient, context: RoutingContext): Router {
    const router = new Router(client, context, this.upstreams, this.#catalogs, () =>
      this.#routers.take(client.serial),
    )
    this.#routers.set(client.serial, router)
    return router
  }

  describe(view: CatalogView, instructionsLengthMax: number): ServerDescription {
    const seen = this.upstreams.filter(({ config }) => view.hasServer(config))
    return describeServers(seen, view, noCapabilities, { instructionsLengthMax, isStateless: true })
  }

  /** Exchanges the servers. Waits up to `graceMs` for the lists of new servers, so that no client finds a gap. */
  change(servers: readonly ServerConfig[], graceMs: number): Promise<ServerChanges> {
    return this.#inTurn(async () => {
      const before = this.upstreams
      const plans = new Map(inUse(servers).map((config) => [this.#planned(config), config]))
      const names = new Set(inUse(servers).map(({ name }) => name))
      const why = ({ config: { name } }: Upstream): string =>
        names.has(name) ? 'a reload replaced it' : 'a reload removed it'
      await this.#switch(plans, graceMs, why)
      return summary(before, plans)
    })
  }

  /** Starts a server anew. @throws UpstreamError if no server has that name */
  restart(service: string, graceMs: number): Promise<unknown> {
    return this.#replace(service, graceMs, 'it was restarted by request', (config) => this.#add(config))
  }

  /** Resolves when no process of the server is left. @throws UpstreamError if no server has that name */
  async stop(service: string): Promise<void> {
    const before = await this.#replace(service, 0, 'it was stopped by request', stoppedUpstream)
    await this.#open.get(before)
  }

  /** Resolves with the replaced `Upstream`. @throws UpstreamError if no server has that name */
  #replace(
    service: string,
    graceMs: number,
    why: string,
    open: (config: ServerConfig) => Upstream,
  ): Promise<Upstream> {
    return this.#inTurn(async () => {
      const before = this.upstreams.find(({ config }) => config.name === service)
      if (this.#closed) throw new UpstreamError(service, 'shutting-down', 'the proxy is being closed')
      if (before === undefined)
        throw new UpstreamError(service, 'unavailable', `there is no server '${service}'`)
      const next = this.upstreams.map((upstream) => (upstream === before ? open(before.config) : upstream))
      await this.#switch(new Map(next.map((each) => [each, each.config])), graceMs, () => why)
      return before
    })
  }

  #inTurn<T>(change: () => Promise<T>): Promise<T> {
    const made = this.#changing.then(change)
    this.#changing = made.catch(() => undefined)
    return made
  }

  /** `why` returns the reason as text for a person. */
  async #switch(plans: Plans, graceMs: number, why: (gone: Upstream) => string): Promise<void> {
    const before = this.upstreams
    const next = [...plans.keys()]
    for (const upstream of next) this.#open.set(upstream, undefined)
    const present = [...this.#routers.values()]
    const listed = Promise.all(present.map((router) => router.prepare(next)))
    await within(listed, graceMs, this.#common.runtime)
    const newcomers = [...this.#routers.values()].filter((router) => !present.includes(router))
    // A client that attached during the wait has the old servers.
    for (const router of newcomers) void router.prepare(next)
    if (!this.#closed) this.#exchange(plans)
    for (const router of [...present, ...newcomers]) router.notifyChanges()
    for (const upstream of before)
      if (!next.includes(upstream)) this.#open.set(upstream, this.#retire(upstream, why(upstream)))
  }

  async close(): Promise<void> {
    this.#closed = true
    await Promise.all([...this.#open.keys()].map((upstream) => upstream.close()))
  }

  #add(config: ServerConfig): Upstream {
    const upstream = openUpstream(config, this.#newContext())
    if (this.#isEager) warmUp(upstream)
    return upstream
  }

  #planned(config: ServerConfig): Upstream {
    const there = this.upstreams.find((upstream) => upstream.config.name === config.name)
    return there !== undefined && isSameServer(there.config, config) ? there : this.#add(config)
  }

  /** Synchronous, so that no client sees a part of the exchange. */
  #exchange(plans: Plans): void {
    for (const [upstream, config] of plans) upstream.adjust(config)
    this.upstreams = [...plans.keys()]
    this.#catalogs.renew()
    for (const router of this.#routers.values()) router.exchange(this.upstreams)
  }

  async #retire(upstream: Upstream, why: string): Promise<void> {
    await upstream.retire(this.#common.limits.drainMs, why)
    this.#open.delete(upstream)
    for (const router of this.#routers.values()) router.forget(upstream)
  }
}

function inUse(servers: readonly ServerConfig[]): ServerConfig[] {
  return servers.filter(({ disabled }) => !disabled)
}

function summary(before: readonly Upstream[], plans: Plans): ServerChanges {
  const had = new Set(before.map(({ config }) => config.name))
  const has = new Set([...plans.values()].map(({ name }) => name))
  const names = (which: (upstream: Upstream, name: string) => boolean): string[] =>
    [...plans].flatMap(([upstream, { name }]) => (which(upstream, name) ? [name] : []))
  return {
    added: names((_upstream, name) => !had.has(name)),
    replaced: names((upstream, name) => had.has(name) && !before.includes(upstream)),
    removed: [...had].filter((name) => !has.has(name)),
    kept: names((upstream) => before.includes(upstream)),
  }
}

export function inWords(changes: ServerChanges): string {
  const { added, replaced, removed, kept } = changes
  const named = Object.entries({ added, replaced, removed }).flatMap(([what, names]) =>
    names.length === 0 ? [] : [`${what} ${names.join(', ')}`],
  )
  return [...named, `${kept.length} kept`].join('; ')
}

// A client without a connection opens the shared servers before the first client attaches.
//
// The status then shows early which servers work, and the first client does not wait. The client declares no
// capabilities, so it opens the processes that such clients share. A child process stays open for them. A
// session with a remote server ends after an idle time, and the next call opens it again.

const ignore = (): void => {}

function warmUp(upstream: Upstream): void {
  if (upstream.isIsolated) return
  let lane: Lane | undefined
  const client: ClientPort = {
    serial: 0,
    isWarmUp: true,
    profile: { revision: latestSession, capabilities: noCapabilities },
    questions: { ask: () => false, withdraw: ignore, isAwaitedBy: () => false, forget: ignore },
    tell: ignore,
    log: ignore,
    listens: false,
    listsChanged: () => {
      if (lane?.view.isPending === false) void lane.leave(client)
    },
  }
  lane = upstream.attach(client)
  client.listsChanged([])
}
