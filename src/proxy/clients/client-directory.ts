// All clients of one proxy: those with a connection of their own, and those whose requests say by themselves what they are.
//
// A client without a session chooses what its requests say, so the number of these clients is bounded. The client that has
// been idle for longest makes room.

import { ClientLink } from './client-link.js'
import type { ClientReports } from './client-reports.js'
import type { AttachedSession } from './draining.js'
import type { Unread } from './flow.js'
import { StatelessClient } from './stateless-client.js'
import { type PendingInput, secretBytes } from '../input/pending-input.js'
import type { Connection } from '../../jsonrpc/connection.js'
import { ChurnMap } from '../../jsonrpc/fast/churn-map.js'
import type { PeerWatch } from '../../jsonrpc/peer.js'
import type { Limits } from '../../limits.js'
import type { Call, Outcome } from '../../calls/call.js'
import type { ClientOrigin, StatelessContext } from '../../mcp/client-context.js'
import { askableCapabilities, isAskable } from '../../mcp/capabilities.js'
import type { CallTracer } from '../../mcp/meta-edits.js'
import type { ClientLeg, ServerDescription } from '../../mcp/eras/client-leg.js'
import { latestStateless } from '../../mcp/revisions.js'
import type { CatalogView } from '../routing/catalog-view.js'
import type { ClientRoutes, RoutedClient } from '../routing/client-routes.js'
import type { SessionStatus } from '../routing/session-status.js'
import { TaskTable } from '../routing/client-tasks.js'
import type { LogSink, Runtime, Timer } from '../../runtime/runtime.js'
import { write } from '../../jsonrpc/text.js'

/** The proxy to which all of these clients belong. */
export interface ClientContext {
  readonly runtime: Runtime
  readonly log: LogSink
  readonly limits: Limits
  readonly unread: Unread
  readonly pending: PendingInput
  /** Undefined where calls are not traced. */
  readonly tracer?: CallTracer | undefined
  /** Whether the proxy was made for one client; the states that servers give it are not signed then. */
  readonly isForOneClient: boolean
  /** Whether one server stands behind the proxy, which its client opens by itself. */
  readonly isTransparent: () => boolean
  /** Whether a front tells its clients apart by several principals. */
  readonly hasSeveralPrincipals: () => boolean
  /** `principal` is that of its requests without a session. */
  newLeg(origin: ClientOrigin, principal: string): ClientLeg
  newReports(serial: number): ClientReports
  watch(): PeerWatch
  /** The servers that the client reaches from now on. */
  openRoutes(client: RoutedClient): ClientRoutes
  /** All servers of a view together, for a client that reaches none of them yet. */
  describe(view: CatalogView): ServerDescription
}

/** The client that sends a request without a session, as its calls and as events know it. */
export interface StatelessSender {
  readonly client: StatelessClient
  readonly seen: SeenClient
}

/** Finds the client of each connection, and the client of each request without a session. */
export class ClientDirectory {
  readonly context: ClientContext
  /** By their serials. */
  readonly #channels = new ChurnMap<number, ClientLink>()
  /** Of connections that no front has let in, by their serials. */
  readonly #ownPrincipals = new Map<number, string>()
  readonly #seen: SeenClients
  #serials = 0
  #connections = 0
  #isClosing = false
  /** Tells the connections of this instance from those of others. */
  #mark: string | undefined
  /** By principal, view, and what they can be asked. */
  readonly #clients = new Map<string, StatelessClient>()
  /** By contexts, which are the same where requests on one connection say the same. */
  readonly #senders = new WeakMap<StatelessContext, StatelessSender>()
  #sweeping: Timer | undefined

  constructor(context: ClientContext) {
    this.context = context
    const newReports = (): ClientReports => context.newReports(this.nextSerial())
    this.#seen = new SeenClients(context.limits.stateless.statelessMax, newReports, context.runtime)
  }

  /** Whether there has been one connection in all, to a proxy that was made for one client. */
  get isOneClient(): boolean {
    return this.context.isForOneClient && this.#connections < 2
  }

  /** Whether all clients have to leave, and not one of them. */
  get isClosing(): boolean {
    return this.#isClosing
  }

  /** A number that no other client of the proxy has. */
  nextSerial(): number {
    return ++this.#serials
  }

  attach(connection: Connection, origin: ClientOrigin, view: CatalogView): AttachedSession {
    const serial = this.nextSerial()
    this.#connections++
    if (origin.principal === undefined) this.#ownPrincipals.set(serial, this.#principalOf(serial))
    const principal = origin.principal ?? this.#principalOf(serial)
    const { transport } = connection
    const leg = this.context.newLeg(transport === undefined ? origin : { ...origin, transport }, principal)
    const channel = new ClientLink(connection, serial, leg, view, this, this.context.watch())
    this.#channels.set(serial, channel)
    if (this.#isClosing) channel.drain()
    const { begun, ended } = channel.draining
    return {
      leaving: begun.promise,
      ended: ended.promise,
      get revision() {
        return leg.profile.revision
      },
    }
  }

  /** The connection with this serial is closed. */
  detached(serial: number): void {
    this.#channels.take(serial)
    const principal = this.#ownPrincipals.get(serial)
    if (principal === undefined) return
    this.#ownPrincipals.delete(serial)
    for (const [key] of this.#of(principal)) this.#end(key)
    this.#seen.left(principal)
  }

  /** Every client, the oldest first. */
  status(): SessionStatus[] {
    const connected = [...this.#channels.values()].flatMap((channel) => channel.status() ?? [])
    const all = [...connected, ...this.#seen.status()]
    return all.sort((one, other) => one.connectedAtMs - other.connectedAtMs)
  }

  /** Lets calls finish for up to `graceMs`, and answers all others; a connection that comes now is closed immediately. */
  drain(graceMs: number): ClientLink[] {
    this.#isClosing = true
    const channels = [...this.#channels.values()]
    for (const channel of channels) channel.drain(0, graceMs)
    return channels
  }

  /** Ends the clients of these views, those with a session once what they have asked is answered. */
  leave(isGone: (view: CatalogView) => boolean): void {
    for (const channel of this.#channels.values()) if (isGone(channel.view)) channel.drain()
    for (const [key, { view }] of this.#clients) if (isGone(view)) this.#end(key)
  }

  /** The sender of a request with this context; undefined when there are too many clients. */
  sender(context: StatelessContext, view: CatalogView): StatelessSender | undefined {
    const known = this.#senders.get(context)
    if (known !== undefined && !known.client.hasLeft && !known.seen.hasLeft) return known
    const client = this.#clientOf(context, view)
    if (client === undefined) return undefined
    const sender = { client, seen: this.#seen.of(context) }
    this.#senders.set(context, sender)
    return sender
  }

  /** Whether one more request of this principal may stay open. */
  mayListen(principal: string): boolean {
    let [own, all] = [0, 0]
    for (const { listening, profile } of this.#clients.values()) {
      all += listening
      if (profile.principal === principal) own += listening
    }
    const { listensMax, listensOfOneMax } = this.context.limits.stateless
    return all < listensMax && own < listensOfOneMax
  }

  /** Nothing is left to be answered. */
  close(): void {
    this.#sweeping?.cancel()
    for (const key of this.#clients.keys()) this.#end(key)
    this.#seen.close()
  }

  #clientOf(context: StatelessContext, view: CatalogView): StatelessClient | undefined {
    const { principal, isSeveral, capabilities } = context
    const askable = askableCapabilities(capabilities, isSeveral)
    const key = `${principal}\n${view.name}\n${askable.json}`
    const known = this.#clients.get(key)
    if (known !== undefined) return known
    const [, sibling] = this.#of(principal)[0] ?? []
    const leavers = this.#placeFor(principal, isAskable(askable))
    if (leavers === undefined) return undefined
    const tasks = sibling?.tasks ?? new TaskTable(this.context.limits.session, true)
    const profile = { principal, isSeveral, revision: latestStateless, capabilities: askable }
    const client = new StatelessClient(profile, view, tasks, this)
    this.#clients.set(key, client)
    for (const leaver of leavers) this.#end(leaver)
    this.#sweepLater()
    return client
  }

  /**
   * The principal of a connection that no front has let in.
   *
   * Every instance counts from one, and instances may have one key for states, so the name has a mark of this instance in
   * it. Only a proxy for one client names it alike at the next start, so that the states of that client still open.
   */
  #principalOf(serial: number): string {
    if (this.context.isForOneClient) return `connection ${serial}`
    this.#mark ??= secretBytes(this.context.runtime)(MARK_BYTES).toString('base64url')
    return `connection ${serial} of ${this.#mark}`
  }

  /**
   * The keys of the clients that make room for one more: none where there is room, else the client that has been idle for
   * longest; undefined where no client can leave.
   *
   * A client that can be asked needs separate processes, so it takes only the place of a client that rests. Of each
   * principal there is one that can be asked nothing: none of the others of its principal keeps that one out.
   */
  #placeFor(principal: string, canBeAsked: boolean): readonly string[] | undefined {
    const { runtime, limits } = this.context
    const { statelessMax, statelessOfOneMax, statelessRestMs } = limits.stateless
    const since = runtime.now() - (canBeAsked ? statelessRestMs : 0)
    const own = this.#of(principal).filter(([, { profile }]) => isAskable(profile.capabilities))
    if (canBeAsked && own.length >= statelessOfOneMax) return idlest(own, since)
    return this.#clients.size < statelessMax ? [] : idlest([...this.#clients], since)
  }

  #of(principal: string): [string, StatelessClient][] {
    return [...this.#clients].filter(([, { profile }]) => profile.principal === principal)
  }

  /** The tasks of a principal go with the last of its clients. */
  #end(key: string): void {
    const client = this.#clients.get(key)
    this.#clients.delete(key)
    if (client === undefined) return
    if (![...this.#clients.values()].some(({ tasks }) => tasks === client.tasks)) client.tasks.left()
    void client.leave()
  }

  /** Looks from time to time for those that have asked nothing for long, as long as there are any. */
  #sweepLater(): void {
    const { runtime, limits } = this.context
    const { statelessIdleMs } = limits.stateless
    this.#sweeping ??= runtime.setTimer(statelessIdleMs, () => {
      this.#sweeping = undefined
      const since = runtime.now() - statelessIdleMs
      for (const [key, client] of this.#clients)
        if (client.tasks.isIdle && client.isIdleSince(since)) this.#end(key)
      this.#seen.sweep(since)
      if (this.#clients.size + this.#seen.size > 0) this.#sweepLater()
    })
  }
}

const MARK_BYTES = 16

/** The one of them that has been idle for longest, since then at least. */
function idlest(clients: readonly [string, StatelessClient][], since: number): readonly string[] | undefined {
  const idle = clients.filter(([, client]) => client.isIdleSince(since))
  const [first] = idle.sort(([, one], [, other]) => one.usedAt - other.usedAt)
  return first && [first[0]]
}

// The clients that send requests without a session, as events and the status count them.
//
// Over HTTP requests of many clients share a connection, and one client may use several. A client is who sends the same
// principal, name and version; it is gone when it has sent nothing for a while.

/** A client as events and the status count it. */
export class SeenClient {
  readonly status: SessionStatus
  readonly #reports: ClientReports
  readonly #runtime: Pick<Runtime, 'now' | 'wallNow'>
  /** Its requests that are not answered. */
  #open = 0
  usedAt: number
  /** It has sent nothing for long: what it sends next is of another client. */
  hasLeft = false

  constructor(
    { info, revision, origin }: StatelessContext,
    reports: ClientReports,
    runtime: Pick<Runtime, 'now' | 'wallNow'>,
  ) {
    this.#reports = reports
    this.#runtime = runtime
    this.usedAt = runtime.now()
    const connectedAtMs = runtime.wallNow()
    const { version } = revision
    this.status = {
      client: info,
      view: origin?.view,
      revision: version,
      connectedAtMs,
      processes: [],
      unreadBytes: 0,
    }
  }

  get isIdle(): boolean {
    return this.#open === 0
  }

  /** It has sent a request. */
  begun(context: StatelessContext): void {
    this.#open++
    this.#reports.attached(context)
  }

  settled(call: Call, outcome: Outcome): void {
    this.#open--
    this.usedAt = this.#runtime.now()
    this.#reports.settled(call, outcome)
  }

  gone(): void {
    this.hasLeft = true
    this.#reports.gone()
  }
}

/** The clients of one proxy. */
class SeenClients {
  readonly #clientsMax: number
  readonly #newReports: () => ClientReports
  readonly #runtime: Pick<Runtime, 'now' | 'wallNow'>
  readonly #clients = new Map<string, SeenClient>()

  /** `newReports` makes the reports of one more client. */
  constructor(
    clientsMax: number,
    newReports: () => ClientReports,
    runtime: Pick<Runtime, 'now' | 'wallNow'>,
  ) {
    this.#clientsMax = clientsMax
    this.#newReports = newReports
    this.#runtime = runtime
  }

  get size(): number {
    return this.#clients.size
  }

  of(context: StatelessContext): SeenClient {
    const { principal, info } = context
    const key = write([principal, info?.name, info?.version])
    const known = this.#clients.get(key)
    if (known !== undefined) return known
    if (this.#clients.size >= this.#clientsMax) this.#forgetOne()
    const client = new SeenClient(context, this.#newReports(), this.#runtime)
    this.#clients.set(key, client)
    return client
  }

  status(): SessionStatus[] {
    return [...this.#clients.values()].map(({ status }) => status)
  }

  /** Those that have sent nothing since then are gone. */
  sweep(since: number): void {
    this.#end(({ isIdle, usedAt }) => isIdle && usedAt <= since)
  }

  /** The principal sends nothing any more. */
  left(principal: string): void {
    this.#end((_client, key) => key.startsWith(write([principal]).slice(0, -1)))
  }

  close(): void {
    this.#end(() => true)
  }

  #end(isGone: (client: SeenClient, key: string) => boolean): void {
    for (const [key, client] of this.#clients) {
      if (!isGone(client, key)) continue
      this.#clients.delete(key)
      client.gone()
    }
  }

  #forgetOne(): void {
    const [oldest] = [...this.#clients].sort(([, one], [, other]) => one.usedAt - other.usedAt)
    if (oldest === undefined) return
    this.#clients.delete(oldest[0])
    oldest[1].gone()
  }
}
