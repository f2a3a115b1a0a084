// The servers of one client: its lanes, their public names, and the wait for both.

import type { Catalog, Catalogs, Target } from './catalog.js'
import { describeServers } from './description.js'
import { ListChanges } from './list-changes.js'
import type { NotificationFrame } from '../../jsonrpc/frame.js'
import { presumedCapabilities } from '../../mcp/capabilities.js'
import type { ServerDescription } from '../../mcp/eras/client-leg.js'
import { listKinds } from '../../mcp/list-items.js'
import type { ListKind } from '../../mcp/methods.js'
import { type RoutedClient, type RoutingContext, Router } from './router.js'
import type { SessionProcess } from './session-status.js'
import type { Lane, Upstream } from '../../upstream/contracts/upstream.js'

/** A client's lanes, one for each server in configuration order. */
export class ClientRoutes {
  readonly router: Router
  /** Resolves when `initialize` can be answered; undefined when no server has to be waited for. */
  readonly settled: Promise<unknown> | undefined
  readonly #client: RoutedClient
  readonly #context: RoutingContext
  readonly #catalogs: Catalogs
  readonly #onLeave: () => void
  readonly #changes: ListChanges
  catalog: Catalog
  lanes: readonly Lane[]
  /** All lanes of the client: also those opened for the next exchange, and those on which only earlier calls still run. */
  readonly #entered = new Map<Upstream, Lane>()
  /** The client wants log messages from this level on. */
  logLevel: string | undefined

  constructor(
    client: RoutedClient,
    context: RoutingContext,
    upstreams: readonly Upstream[],
    catalogs: Catalogs,
    onLeave: () => void,
  ) {
    this.#client = client
    this.#context = context
    this.#catalogs = catalogs
    this.#onLeave = onLeave
    this.lanes = this.#enter(upstreams)
    // A client that calls before it opens a session stays what it was then.
    this.catalog = catalogs.of(this.lanes, client.view, client.profile.hasTasks === true)
    this.#changes = new ListChanges(client, this, context)
    const isRemembered = this.lanes.some(({ view }) => view.before.kind !== 'nothing')
    this.router = new Router(client, context, this)
    this.settled = isRemembered ? undefined : this.router.waits.opened(context.initializeGraceMs)
    const coming = this.router.waits.quiet()
    if (coming === undefined) return
    // The client gets one notification for all servers that are starting now.
    this.#changes.pause()
    void coming.then(() => this.tellChanges())
  }

  get processes(): SessionProcess[] {
    // In configuration order; behind them those that come or go with a reload.
    const own = [...new Set([...this.lanes, ...this.#entered.values()])].filter(({ shared }) => !shared)
    return own.flatMap(({ config, pids }) => pids.map((pid) => ({ server: config.name, pid })))
  }

  describe(): ServerDescription {
    const { instructionsLengthMax } = this.#context.limits.session
    const options = { instructionsLengthMax, hasTasks: this.catalog.hasTasks }
    return describeServers(this.lanes, this.#client.view, this.#client.profile.capabilities, options)
  }

  shown(kind: ListKind): readonly Target[] {
    return this.catalog.shown(kind)
  }

  /** The client has been given this list. */
  listed(kind: ListKind): void {
    this.#changes.markShown(kind)
    // Most clients call a tool soon after they have got the list.
    const isChecked = this.lanes.some(({ config }) => config.argumentChecks === 'on')
    const { checks, runtime } = this.#context
    if (kind === 'tools' && isChecked && this.shown(kind).length > 0) checks.prepare(runtime)
  }

  offers(kind: ListKind): boolean {
    const feature = kind === 'templates' ? 'resources' : kind
    return this.lanes.some(({ view }) => (view.facts?.capabilities ?? presumedCapabilities)[feature])
  }

  /** The lists of some server have changed; without kinds, a server has other news that calls may wait for. */
  changed(kinds: readonly ListKind[]): void {
    this.#changes.changed(kinds)
    this.router.waits.look()
  }

  clientIsReady(): void {
    this.#changes.notifySoon()
  }

  level(level: string): void {
    this.logLevel = level
    for (const lane of this.#entered.values()) lane.level(this.#client, level)
  }

  rootsChanged(frame: NotificationFrame): void {
    for (const lane of this.#entered.values()) lane.rootsChanged(this.#client, frame)
  }

  read(on: boolean): void {
    for (const lane of this.#entered.values()) lane.read(this.#client, on)
  }

  /** Resolves when what only this client used has ended; undefined when there was nothing. */
  leave(): Promise<unknown> | undefined {
    this.#onLeave()
    const leaving = [...this.#entered.values()].flatMap((lane) => lane.leave(this.#client) ?? [])
    this.router.waits.close()
    return leaving.length === 0 ? undefined : Promise.all(leaving)
  }

  /** Opens what the client will reach, and resolves when it is listed; until `exchange` nothing else changes. */
  async prepare(upstreams: readonly Upstream[]): Promise<void> {
    this.#changes.pause()
    const entered = this.#enter(upstreams)
    const coming = entered.filter((lane) => !this.lanes.includes(lane))
    // The client has asked for these lists, so a lazy server starts for them.
    for (const { view } of coming) view.want(this.#changes.shownKinds, 'list')
    await this.router.waits.allListed(coming)
  }

  /** From now on the client reaches these, with the log level and the subscriptions that it has. */
  exchange(upstreams: readonly Upstream[]): void {
    const before = this.lanes
    this.lanes = this.#enter(upstreams)
    this.catalog = this.#catalogs.of(this.lanes, this.#client.view, this.catalog.hasTasks)
    const left = before.filter((lane) => !this.lanes.includes(lane))
    // A view may hide resources from now on of servers that stay.
    for (const lane of this.#client.view.name === '' ? left : before)
      for (const uri of lane.takeSubscriptions(this.#client)) this.#follow(uri, lane.config.name)
    // Calls that have not begun on a server that is gone go to its successor, or fail.
    this.router.exchanged(
      left,
      left.flatMap((lane) => lane.release(this.#client)),
    )
    for (const upstream of upstreams) if (!this.#client.view.hasServer(upstream.config)) this.forget(upstream)
  }

  /** Ends one `prepare`: the client gets a notification for each list that differs from the one it has. */
  tellChanges(): void {
    this.#changes.resume()
    this.#client.listsChanged(listKinds)
  }

  /** The server is gone, and no call runs there any more. */
  forget(upstream: Upstream): void {
    const lane = this.#entered.get(upstream)
    this.#entered.delete(upstream)
    void lane?.leave(this.#client)
  }

  #enter(upstreams: readonly Upstream[]): Lane[] {
    const seen = upstreams.filter(({ config }) => this.#client.view.hasServer(config))
    return seen.map((upstream) => this.#laneOf(upstream))
  }

  #laneOf(upstream: Upstream): Lane {
    const there = this.#entered.get(upstream)
    if (there !== undefined) return there
    const lane = upstream.attach(this.#client)
    this.#entered.set(upstream, lane)
    if (this.logLevel !== undefined) lane.level(this.#client, this.logLevel)
    return lane
  }

  /** A server that replaces another is presumed to have the same resources until it has listed its own. */
  #follow(uri: string, service: string): void {
    const heir = this.lanes.find(({ config }) => config.name === service)
    const lane = heir?.known.has('resources') === false ? heir : (this.catalog.resource(uri) ?? heir)
    if (lane !== undefined && this.#client.view.hasUri(uri)) lane.follow(this.#client, uri)
  }
}
