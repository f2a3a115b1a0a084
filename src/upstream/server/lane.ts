// A lane: the processes of one server that one set of clients uses.

import type { NotificationFrame } from '../../jsonrpc/frame.js'
import type { Edit } from '../../jsonrpc/splice.js'
import { parse } from '../../jsonrpc/text.js'
import type { Call, ClientPort } from '../../mcp/call.js'
import type { OpenedServer } from '../../mcp/eras/server-era.js'
import { listKinds } from '../../mcp/list-items.js'
import type { ListChange } from '../contracts/list-guard.js'
import { GuardedLists } from './guarded-lists.js'
import type { ListKind } from '../../mcp/methods.js'
import { shuttingDown } from '../../mcp/error-codes.js'
import type { Described } from './kept-lists.js'
import { Inbox } from './inbox.js'
import type { Timer } from '../../runtime/runtime.js'
import { ServerLists } from './server-lists.js'
import type { Load } from './worker.js'
import { LaneView } from './lane-view.js'
import { Workers } from './workers.js'
import { isOfOne, keepsTasks, type LaneScope } from './sharing.js'
import type { OwnTool, ServerContext } from './context.js'
import type { ServerConfig } from '../contracts/server-config.js'
import type { Lane, ServerView } from '../contracts/upstream.js'

/** A server that has not answered for this long has failed. */
const LIVED_MS = 30_000

/** The processes of one server for one set of clients. */
export class ServerLane implements Lane {
  /** The current configuration: names and filters may change while the server runs. */
  config: ServerConfig
  /** Its server has left the configuration. */
  retired = false
  /** The lists of its own processes. */
  readonly ownView: LaneView
  readonly #context: ServerContext
  readonly #scope: LaneScope
  readonly #left: () => void
  readonly known: ReadonlySet<ListKind>
  readonly #lists: ServerLists
  readonly #guarded: GuardedLists
  readonly #inbox: Inbox
  readonly #workers: Workers
  /**
   * The client has used this lane and stays here, also if it turns out that all clients could share one. Before that the
   * client notices no move, and its calls wait here while another process is asked which revisions the server speaks.
   */
  isChosen = false
  /** The lane whose lists its client sees until it uses this one. */
  #standIn: ServerLane | undefined
  /** Set while the lane of a principal has no client. */
  #ending: Timer | undefined
  /** The lanes that this one stands in for. */
  readonly #deferred = new Set<ServerLane>()

  /** `left` is called when the one client of the lane, or the last one of its principal, has left. */
  constructor(context: ServerContext, scope: LaneScope, config: ServerConfig, left: () => void) {
    this.#context = context
    this.#scope = scope
    this.config = config
    this.#left = left
    // The lists of a client's own process may differ from those of the common lane, which other clients see.
    const isKept = !scope.startsOnCall || context.isolation === 'session'
    const onNews = (): void => this.#report([])
    this.#lists = new ServerLists(context, scope.sharing, isKept, {
      onChange: (kinds) => {
        this.#keepTools()
        this.#announce(kinds)
      },
      onRead: () => this.#keep(),
      onNews: () => {
        this.#keepTools()
        onNews()
      },
    })
    this.known = this.#lists.known
    this.#inbox = new Inbox(context, scope, this.#lists)
    this.#guarded = new GuardedLists(context, this.#lists, this.#inbox, () => this.config)
    this.#workers = new Workers(context, scope, this.#inbox)
    this.ownView = new LaneView(context, {
      inbox: this.#inbox,
      lists: this.#lists,
      guarded: this.#guarded,
      workers: this.#workers,
      onSettled: () => this.#settle(),
      onNews,
    })
    // Requests that kept lists can answer are answered before a process is started.
    const isLater = !context.dialer.hasAdopted && this.#lists.keptFacts !== undefined
    if (!scope.startsOnCall && !config.lazy) this.ownView.begin(isLater)
  }

  get view(): ServerView {
    return this.#standIn?.ownView ?? this.ownView
  }

  /**
   * Shows another lane until a call comes: many clients only list.
   *
   * That lane is of clients that can be asked nothing.
   */
  defer(standIn: ServerLane): void {
    this.#standIn = standIn
    standIn.#deferred.add(this)
  }

  /** From now on the client sees what its own process says, and until that has started what it saw before. */
  #endDeferral(): void {
    const standIn = this.#standIn
    if (standIn === undefined) return
    this.#standIn = undefined
    standIn.#deferred.delete(this)
    if (standIn.described !== undefined) this.#lists.borrow(standIn.described)
    // The kept lists of an earlier start show again where the other lane has failed since.
    const differing = listKinds.filter((kind) => standIn.ownView.items(kind) !== this.ownView.items(kind))
    for (const client of this.#inbox.clients) client.listsChanged(differing)
  }

  /** Its own process is wanted, also where the start was put off. */
  #use(): void {
    this.#endDeferral()
    this.ownView.begin()
    this.ownView.startNow()
  }

  /** Resolves when the first attempt to start a process has ended; undefined when it has, or has not begun. */
  get settled(): Promise<void> | undefined {
    return this.ownView.settled
  }

  /** A start that was put off begins now. */
  startNow(): void {
    this.ownView.startNow()
  }

  /** Lists do not wait for its server any longer. */
  unreachable(): void {
    this.ownView.unreachable()
  }

  /** The client uses the server: it stays here, or from then on when the era is known. */
  #choose(): void {
    const eraKnown = this.#scope.eraKnown?.()
    if (eraKnown === undefined) this.isChosen = true
    else
      void eraKnown.then(() => {
        this.isChosen = true
      })
  }

  hurry(): void {
    if (!this.isChosen) this.#choose()
    this.#endDeferral()
    if (this.#lists.hasNames) return
    if (this.ownView.failure?.reason === 'login-required') this.#context.logins?.ask()
    // Trying again without other credentials gets nowhere, and may lock them out.
    const isRefused = this.#workers.failure?.reason === 'unauthorized' && this.ownView.state !== 'starting'
    this.ownView.hurry(isRefused)
  }

  /** The server's description of itself and its lists, from this start or an earlier one. */
  get described(): Described | undefined {
    const { said: facts } = this.#guarded
    if (facts === undefined) return undefined
    const isCurrent = this.#inbox.server?.facts !== undefined || this.#lists.isBorrowed
    return { isCurrent, facts, lists: this.#describedLists }
  }

  get isUsed(): boolean {
    return this.#inbox.clients.size > 0
  }

  get shared(): boolean {
    return !isOfOne(this.#scope.sharing)
  }

  get keepsTasks(): boolean {
    return keepsTasks(this.#scope.sharing)
  }

  get load(): Load {
    return this.#workers.load
  }

  /** The latest description by a process of this lane; undefined before the first. */
  get server(): OpenedServer | undefined {
    return this.#inbox.server
  }

  /** The differences from `mcps.lock`. */
  get changes(): readonly ListChange[] {
    return this.#guarded.changes
  }

  get pids(): number[] {
    return this.#workers.connections.flatMap((connection) => connection.dialed.pid ?? [])
  }

  renew(why: string): void {
    for (const connection of this.#workers.connections) connection.restart(why)
  }

  join(client: ClientPort): this {
    this.#inbox.clients.add(client)
    if (this.#inbox.clients.size > 1) this.#inbox.read(true)
    return this
  }

  call(call: Call, edits: readonly Edit[]): void {
    const own = this.#context.logins?.tool
    if (
      own !== undefined &&
      this.view.items('tools').at(-1) === own.item &&
      isCallOf(call, edits, own.item.key)
    )
      return this.#callOwn(own, call, edits)
    const why = this.#guarded.blocked
    if (why !== undefined) return call.fail(this.#guarded.error(why))
    const { subscribes } = call.row
    // The lane that makes the call remembers the subscription.
    if (subscribes !== undefined) this.isChosen = true
    if (!this.isChosen) this.#choose()
    this.#use()
    const sent =
      subscribes === undefined
        ? call
        : this.#inbox.subscriptions.passing(call, subscribes, () => this.#workers.firstConnection)
    if (sent === undefined) return
    this.#workers.workerFor(sent).call(sent, edits)
  }

  #callOwn(tool: OwnTool, call: Call, edits: readonly Edit[]): void {
    call.deadline.times = this.#context.times
    tool.call(call, edits)
  }

  level(client: ClientPort, level: string): void {
    this.#inbox.clients.setLevel(client, level)
    this.#sendLevel()
  }

  rootsChanged(_client: ClientPort, frame: NotificationFrame): void {
    const { declared, sharing } = this.#scope
    if (sharing !== 'own' || !declared.names.has('roots')) return
    for (const connection of this.#workers.connections) connection.pass(frame, [])
  }

  read(client: ClientPort, on: boolean): void {
    // One slow client among several does not pause the others.
    if (on || this.#inbox.clients.only === client) this.#inbox.read(on)
  }

  follow(client: ClientPort, uri: string): void {
    this.isChosen = true
    if (this.#guarded.blocked !== undefined) return
    this.#use()
    this.#inbox.subscriptions.follow(client, uri, this.#workers.firstConnection)
  }

  takeSubscriptions(client: ClientPort): string[] {
    return this.#inbox.clients.resources.takeAll(client)
  }

  release(client: ClientPort): Call[] {
    return this.#workers.release(client).map(({ call }) => call)
  }

  /** The one client uses another lane of the same server from now on, which gets the calls that have not begun here. */
  moveTo(lane: Lane, client: ClientPort): Lane {
    for (const { call, edits } of this.#workers.release(client)) lane.call(call, edits)
    void this.leave(client)
    return lane
  }

  leave(client: ClientPort): Promise<void> | undefined {
    const { level } = this.#inbox.clients
    const unfollowed = this.#inbox.clients.remove(client)
    this.#inbox.read(true)
    for (const connection of this.#workers.connections) connection.calls.tasks.onClientLeft(client)
    if (isOfOne(this.#scope.sharing)) {
      this.#left()
      return this.close()
    }
    this.#inbox.subscriptions.unsubscribe(this.#workers.firstConnection, unfollowed)
    if (this.#inbox.clients.level !== level) this.#sendLevel()
    if (this.#scope.principal !== undefined && this.#inbox.clients.size === 0) this.#endLater()
    return undefined
  }

  /** Another client of its principal may come soon: many clients leave after each request. */
  #endLater(): void {
    const { runtime, processIdleMs = 0 } = this.#context
    this.#ending?.cancel()
    this.#ending = runtime.setTimer(processIdleMs, () => {
      if (this.#inbox.isClosed || this.#inbox.clients.size > 0) return
      this.#left()
      void this.close()
    })
  }

  async close(): Promise<void> {
    this.#ending?.cancel()
    this.#inbox.isClosed = true
    if (this.#standIn !== undefined) this.#standIn.#deferred.delete(this)
    this.#lists.endKept()
    this.#lists.close()
    this.ownView.startNow()
    await this.#workers.close()
  }

  /** The first attempt to start a process has ended. */
  #settle(): void {
    // The opening request has its answer already, unless the server could not be reached.
    this.#scope.opening?.fail(this.#workers.failure?.body ?? shuttingDown())
    // A start that was refused for want of room says nothing about the server.
    const { failure } = this.#workers
    const isUnknown = this.#inbox.isClosed || failure?.reason === 'overloaded'
    if (this.#inbox.server?.facts !== undefined || isUnknown) return
    const livedMs = this.#context.runtime.now() - (this.ownView.startedAt ?? 0)
    // A process that was stopped before this says nothing about the next start, which may find what this one has installed.
    if (failure?.reason === 'timeout' && livedMs < LIVED_MS) return
    this.#lists.startFailed(failure?.message ?? 'it did not start')
  }

  /** A client may list the tools and kill the proxy before the other lists have come. */
  #keepTools(): void {
    if (this.#context.keptLists.described === undefined && this.known.has('tools')) this.#keep()
  }

  /** Keeps the server's description and lists for the next start. */
  #keep(): void {
    const { server } = this.#inbox
    if (server === undefined || this.retired) return
    const { facts } = server
    this.#lists.confirmed({ facts, lists: this.#describedLists })
    this.#guarded.complete(facts)
    if (this.#guarded.turned()) this.#announce(listKinds)
  }

  /** The lists as the server has written them. */
  get #describedLists(): Described['lists'] {
    const kinds = listKinds.filter((kind) => this.#guarded.isKnown(kind))
    return new Map(kinds.map((kind) => [kind, this.#lists.items(kind)] as const))
  }

  #sendLevel(): void {
    if (this.#inbox.server?.facts.capabilities.logging !== true) return
    for (const connection of this.#workers.connections) this.#inbox.subscriptions.sendLevel(connection)
  }

  #announce(changed: readonly ListKind[]): void {
    if (changed.length === 0) return
    this.#context.reports.lists(this.#lists, this.#scope.client, changed)
    if (this.retired) return
    // A list may block the server, and then the others are not shown either.
    this.#report(this.#guarded.turned() ? listKinds : changed)
  }

  /** Without kinds, for clients that wait for what the server has. */
  #report(kinds: readonly ListKind[]): void {
    for (const lane of [...this.#deferred, this])
      for (const client of lane.#inbox.clients) client.listsChanged(kinds)
  }
}

/** Whether a call with these edits is of the tool that the server knows by this name. */
function isCallOf(call: Call, edits: readonly Edit[], name: string): boolean {
  if (call.row.route.to !== 'name' || call.row.route.list !== 'tools') return false
  const edit = edits.find(({ why }) => why === 'name')
  const own: unknown = edit === undefined ? undefined : parse(Buffer.from(edit.bytes).toString())
  return (own ?? call.frame.params.members.string('name')) === name
}
