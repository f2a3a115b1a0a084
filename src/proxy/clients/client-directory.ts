// All clients of one proxy: clients with a connection, and clients without a session, which each request
// describes.
//
// A client without a session chooses what its requests say, so the proxy limits the number of these clients.
// The client that has been idle for longest makes room.

import { AttachedClient } from './attached-client.js'
import type { AttachedSession } from './session.js'
import { StatelessClient } from './stateless-client.js'
import type { Unread } from './unread.js'
import type { PendingInput } from '../input/pending-input.js'
import { secretBytes } from '../input/request-state.js'
import type { Connection } from '../../jsonrpc/connection.js'
import { ChurnMap } from '../../jsonrpc/churn-map.js'
import type { PeerWatch } from '../../jsonrpc/peer.js'
import type { Limits } from '../../limits.js'
import type { ClientOrigin, StatelessContext } from '../../mcp/client-context.js'
import { askableCapabilities, isAskable, type ServerIdentity } from '../../mcp/capabilities.js'
import type { CallTracer } from '../../mcp/meta-edits.js'
import { ClientLeg, type ServerDescription } from '../../mcp/eras/client-leg.js'
import { latestStateless } from '../../mcp/revisions.js'
import type { CatalogView } from '../routing/views.js'
import type { RoutedClient, Router, RoutingContext } from '../routing/router.js'
import type { Emitter } from '../../events/emitter.js'
import type { ProxyEvents } from '../../events/proxy-events.js'
import type { SessionStatus } from '../routing/session-status.js'
import { TaskTable } from '../routing/client-tasks.js'
import { ofMost } from '../../runtime/limited-table.js'
import type { LogSink, Timer } from '../../runtime/runtime.js'
import { write } from '../../jsonrpc/text.js'

export interface ClientContext extends RoutingContext {
  readonly log: LogSink
  readonly events: Emitter<ProxyEvents>
  readonly schema: string
  readonly limits: Limits
  readonly unread: Unread
  readonly pending: PendingInput
  /** Undefined if calls are not traced. */
  readonly tracer: CallTracer | undefined
  /** Whether the proxy was created for one client. It then does not sign the states of servers. */
  readonly isForOneClient: boolean
  /** Whether the proxy has one server, which the client opens with its own `initialize`. */
  isTransparent(): boolean
  /** The identity of the proxy for clients that connect from now on. */
  identity(): ServerIdentity
  watch(): PeerWatch
  openRouter(client: RoutedClient): Router
  /** Describes all servers of a view to a client that has not opened any of them. */
  describe(view: CatalogView): ServerDescription
}

export class ClientDirectory {
  readonly context: ClientContext
  readonly #attached = new ChurnMap<number, AttachedClient>()
  #serials = 0
  #connections = 0
  /** Whether the whole proxy closes, and not only a single client. */
  isClosing = false
  /** Distinguishes the connections of this instance from those of other instances. */
  #mark: string | undefined
  /** Keyed by principal, client name and version, view, and askable capabilities. */
  readonly #clients = new Map<string, StatelessClient>()
  /** Requests of one connection that describe the same client share a context object. */
  readonly #latest = new WeakMap<StatelessContext, StatelessClient>()
  #sweeping: Timer | undefined

  constructor(context: ClientContext) {
    this.context = context
  }

  /** Whether a proxy that was created for one client has had no second connection. */
  get isOneClient(): boolean {
    return this.context.isForOneClient && this.#connections < 2
  }

  nextSerial(): number {
    return ++this.#serials
  }

  attach(connection: Connection, from: ClientOrigin, view: CatalogView): AttachedSession {
    const serial = this.nextSerial()
    this.#connections++
    const origin = { ...from, transport: connection.transport ?? from.transport }
    const principal = origin.principal ?? this.#principalOf(serial)
    const leg = new ClientLeg(this.context.identity(), { origin, principal })
    const client = new AttachedClient(connection, serial, leg, view, this, this.context.watch())
    this.#attached.set(serial, client)
    if (this.isClosing) client.drain()
    const { leaving, ended } = client.session
    return {
      leaving: leaving.promise,
      ended: ended.promise,
      get revision() {
        return leg.profile.revision
      },
    }
  }

  detached(serial: number): void {
    this.#attached.take(serial)
    for (const [key] of this.#of(this.#principalOf(serial))) this.#end(key)
  }

  status(): SessionStatus[] {
    const connected = [...this.#attached.values()].flatMap((client) => client.status() ?? [])
    const stateless = [...this.#clients.values()].map((client) => client.status())
    return [...connected, ...stateless].sort((one, other) => one.connectedAtMs - other.connectedAtMs)
  }

  /** Lets calls finish for up to `graceMs`, and answers the others. A later connection is closed immediately. */
  drain(graceMs: number): AttachedClient[] {
    this.isClosing = true
    const clients = [...this.#attached.values()]
    for (const client of clients) client.drain(0, graceMs)
    return clients
  }

  /** Ends the clients of removed views. A client with a session first gets the answers to its requests. */
  leaveGone(): void {
    for (const client of this.#attached.values()) if (client.view.isGone) client.drain()
    for (const [key, { view }] of this.#clients) if (view.isGone) this.#end(key)
  }

  /** Returns the client that sends a request with this context; undefined if there are too many clients. */
  stateless(context: StatelessContext, view: CatalogView): StatelessClient | undefined {
    const latest = this.#latest.get(context)
    if (latest?.hasLeft === false) return latest
    const client = this.#clientOf(context, view)
    if (client !== undefined) this.#latest.set(context, client)
    return client
  }

  canListen(principal: string): boolean {
    const { listensMax, listensOfOneMax } = this.context.limits.stateless
    return listening([...this.#clients]) < listensMax && listening(this.#of(principal)) < listensOfOneMax
  }

  close(): void {
    this.#sweeping?.cancel()
    for (const key of this.#clients.keys()) this.#end(key)
  }

  #clientOf(context: StatelessContext, view: CatalogView): StatelessClient | undefined {
    const { principal, isSeveral, info } = context
    const capabilities = askableCapabilities(context.capabilities, isSeveral)
    const key = write([principal, info?.name, info?.version, view.name, capabilities.json])
    const known = this.#clients.get(key)
    if (known !== undefined) return known
    const [, sibling] = this.#of(principal)[0] ?? []
    const leavers = this.#placeFor(principal, isAskable(capabilities))
    if (leavers === undefined) return undefined
    const tasks = sibling?.tasks ?? new TaskTable(this.context.limits.session, 'principal')
    const profile = { principal, isSeveral, info, revision: latestStateless, capabilities }
    const client = new StatelessClient(profile, view, tasks, this)
    this.#clients.set(key, client)
    for (const leaver of leavers) this.#end(leaver)
    this.#sweepLater()
    return client
  }

  /**
   * The principal of a connection that no front has authenticated. It contains a random mark of this
   * instance: every instance counts from one, and instances may share a key for states.
   */
  #principalOf(serial: number): string {
    this.#mark ??= secretBytes(this.context.runtime, MARK_BYTES)
    return `connection ${serial} of ${this.#mark}`
  }

  /**
   * Returns the keys of the clients that leave to make room: none if there is room, else the client that has
   * been idle for longest; undefined if no client can leave.
   *
   * The limit for one principal counts only clients that servers can ask, so it never keeps out the others.
   */
  #placeFor(principal: string, canBeAsked: boolean): readonly string[] | undefined {
    const { statelessMax, statelessOfOneMax } = this.context.limits.stateless
    const own = this.#of(principal).filter(([, { profile }]) => isAskable(profile.capabilities))
    if (canBeAsked && own.length >= statelessOfOneMax) return idlest(own)
    if (this.#clients.size < statelessMax) return []
    // The principal with the most clients makes room first, so changing names evicts only its own clients.
    const most = ofMost([...this.#clients], ([, { profile }]) => profile.principal)
    return idlest(most) ?? idlest([...this.#clients])
  }

  #of(principal: string): [string, StatelessClient][] {
    return [...this.#clients].filter(([, { profile }]) => profile.principal === principal)
  }

  /** When the last client of a principal ends, the tasks of the principal end too. */
  #end(key: string): void {
    const client = this.#clients.get(key)
    this.#clients.delete(key)
    if (client === undefined) return
    if (![...this.#clients.values()].some(({ tasks }) => tasks === client.tasks)) client.tasks.dropAll()
    void client.leave()
  }

  #sweepLater(): void {
    const { runtime, limits } = this.context
    const { statelessIdleMs } = limits.stateless
    this.#sweeping ??= runtime.setTimer(statelessIdleMs, () => {
      this.#sweeping = undefined
      const since = runtime.now() - statelessIdleMs
      for (const [key, client] of this.#clients)
        if (client.tasks.isIdle && client.isIdle && client.usedAt <= since) this.#end(key)
      if (this.#clients.size > 0) this.#sweepLater()
    })
  }
}

const MARK_BYTES = 16

function listening(clients: readonly [string, StatelessClient][]): number {
  return clients.reduce((sum, [, client]) => sum + client.listenCount, 0)
}

/** The key of the client that has been idle for longest; undefined if every client is busy. */
function idlest(clients: readonly [string, StatelessClient][]): readonly string[] | undefined {
  const idle = clients.filter(([, client]) => client.isIdle)
  const [first] = idle.sort(([, one], [, other]) => one.usedAt - other.usedAt)
  return first && [first[0]]
}
