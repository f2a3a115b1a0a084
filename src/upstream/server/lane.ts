// A lane: the processes of one server for one set of clients, and the messages of these processes.
//
// The lane finds the client of each message that does not name one. If several clients are possible, the
// proxy refuses or logs the message and never broadcasts it. On stdio a request of a server does not name its
// call, so in a process of several clients one askable call runs at a time. `Worker` replaces a process that
// may still send requests for a call that another client has cancelled.

import type { NotificationFrame, RequestFrame } from '../../jsonrpc/frame.js'
import type { Edit } from '../../jsonrpc/splice.js'
import type { Call, ClientPort } from '../../calls/call.js'
import type { OpenedServer, ServerFacts } from '../../mcp/eras/server-opener.js'
import { type ListItem, listKinds } from '../../mcp/list-items.js'
import type { ListKind, ServerNotificationRow, ServerRequestRow } from '../../mcp/methods.js'
import {
  type ClientCapabilities,
  type ServerCapabilities,
  type TaskCapabilities,
  TASKS,
} from '../../mcp/capabilities.js'
import { methodNotFound, shuttingDown } from '../../mcp/error-codes.js'
import { questionOf, requiredCapabilities } from '../../mcp/input-requests.js'
import { cutNamed } from '../../mcp/member-edits.js'
import { SUBSCRIPTION_ID } from '../../mcp/meta-keys.js'
import { LaneClients } from './lane-clients.js'
import { ServerSubscription } from './listen.js'
import { within } from '../../runtime/deadline.js'
import { Deferred } from '../../runtime/deferred.js'
import type { Timer } from '../../runtime/runtime.js'
import { isAboutCredentials, type UpstreamError } from '../contracts/upstream-error.js'
import { patienceMs } from '../../mcp/client-patience.js'
import type { ServerConnection } from './server-connection.js'
import { ServerLists } from './server-lists.js'
import { sumOf, Worker } from './worker.js'
import { holdsProcess, isOfOne, keepsTasks, type LaneScope } from './sharing.js'
import type { ServerContext } from './context.js'
import type { ServerConfig } from '../contracts/server-config.js'
import type { Before, Lane, ServerGauges, ServerView, UpstreamState } from '../contracts/upstream.js'

/** How often a call starts another process because the previous one ended before it had listed. */
const SUCCESSORS_MAX = 3

/** A server without an answer for this long has failed. */
const LIVED_MS = 30_000

export class ServerLane implements Lane, ServerView {
  readonly #context: ServerContext
  readonly #scope: LaneScope
  readonly #left: () => void
  readonly listed: ReadonlySet<ListKind>
  readonly lists: ServerLists
  readonly clients: LaneClients
  /** The processes: up to a limit, as many as are busy. The first one gets the subscriptions. */
  readonly #workers: Worker[] = []
  readonly #workersMax: number
  /** The open connections, including those that others have replaced. */
  readonly #open = new Set<ServerConnection>()
  isClosed = false
  /** The calls that wait for lists of the server that are still to be read. */
  #callers: readonly Call[] = []
  /** The lane whose lists the client sees until it uses this lane. */
  #standIn: ServerLane | undefined
  /** The lanes that show the lists of this one. */
  readonly #deferred = new Set<ServerLane>()
  /** Set while the lane of a principal has no client. */
  #ending: Timer | undefined
  startedAt: number | undefined
  isPending: boolean = false
  isStarting: boolean = false
  readonly #delaySkipped = new Deferred<void>()
  #isUnreachable = false

  /** `left` is called when the lane has lost its one client, or the last client of its principal. */
  constructor(context: ServerContext, scope: LaneScope, left: () => void) {
    this.#context = context
    this.#scope = scope
    this.#left = left
    this.lists = new ServerLists(context, scope, (kinds) => this.#report(kinds))
    this.listed = this.lists.listed
    this.clients = new LaneClients(context)
    this.#workersMax = workersMax(context, scope)
    // With kept lists, the first answers come before the start of a process.
    const isLater = !context.hasAdopted() && this.lists.isShowingKept
    if (!scope.startsOnCall && !context.config.lazy) this.#begin(isLater)
  }

  get config(): ServerConfig {
    return this.#context.config
  }

  get isRetired(): boolean {
    return this.#context.retiredBecause !== undefined
  }

  get view(): ServerView {
    return this.#standIn ?? this
  }

  get state(): UpstreamState {
    if (this.lists.blocked !== undefined) return 'error'
    const state = this.startedAt === undefined ? 'disconnected' : this.#workersState
    // A server is connected once its tools and prompts have been listed.
    if (state !== 'connected' || this.lists.hasNames) return state
    return this.lists.failure === undefined ? 'starting' : 'error'
  }

  get #workersState(): UpstreamState {
    // The first process is created a moment after its lane.
    if (this.#workers.length === 0) return this.isClosed ? 'disconnected' : 'starting'
    const states = this.#workers.map((worker) => worker.state)
    if (states.includes('ready')) return 'connected'
    if (states.includes('starting')) return 'starting'
    const isAtRest = states.includes('stopped')
    if (isAtRest && this.lists.server !== undefined) return 'connected'
    return isAtRest || states.includes('closed') ? 'disconnected' : 'error'
  }

  get failure(): ServerView['failure'] {
    return this.lists.blocked ?? this.#workersFailure ?? this.lists.failure
  }

  get facts(): ServerFacts | undefined {
    return this.lists.facts
  }

  get before(): Before {
    return this.lists.before
  }

  get wasKept(): boolean {
    return this.lists.wasKept
  }

  items(kind: ListKind): readonly ListItem[] {
    return this.lists.shown(kind)
  }

  isComing(kind: ListKind): boolean {
    return this.isStarting ? !this.#isUnreachable : this.lists.reading(kind) !== undefined
  }

  isShown(kind: ListKind): boolean {
    return this.lists.listed.has(kind) || this.lists.isKept(kind)
  }

  listedAt(kind: ListKind): number | undefined {
    return this.lists.listedAt(kind)
  }

  want(kinds: readonly ListKind[], how: 'list' | 'call'): void {
    this.lists.renew(kinds)
    if (!kinds.every((kind) => this.lists.isKept(kind))) this.#begin()
    const isThere = (kind: ListKind): boolean =>
      how === 'list' ? this.isShown(kind) : this.lists.listed.has(kind)
    if (!kinds.every(isThere)) this.skipDelay()
  }

  /** Shows another lane's lists until the first call, because many clients only list. */
  defer(standIn: ServerLane): void {
    this.#standIn = standIn
    standIn.#deferred.add(this)
  }

  /** Shows the client the lists of the process for itself, or kept lists until that process has started. */
  #endDeferral(): void {
    const standIn = this.#standIn
    if (standIn === undefined) return
    this.#standIn = undefined
    standIn.#deferred.delete(this)
    this.lists.showKept()
    // A call that waited for the lists of the other lane waits for these from now on.
    this.#begin()
    const differing = listKinds.filter((kind) => standIn.items(kind) !== this.items(kind))
    for (const client of this.clients) client.listsChanged(differing)
  }

  #use(): void {
    this.#endDeferral()
    this.#begin()
    this.skipDelay()
  }

  wantFor(call: Call): void {
    this.#endDeferral()
    if (this.lists.hasNames) return
    if (this.failure?.reason === 'login-required') this.#context.logins?.()?.ask()
    // Another attempt with the same credentials is useless, and may lock them out.
    const isRefused = this.#workersFailure?.reason === 'unauthorized' && this.state !== 'starting'
    this.#callers = [...this.#callers.filter(({ isSettled }) => !isSettled), call]
    this.skipDelay()
    this.#begin()
    if (!this.isPending && !isRefused) this.#follow(this.#startFirst())
  }

  get isUsed(): boolean {
    return this.clients.size > 0
  }

  get isShared(): boolean {
    return !isOfOne(this.#scope.sharing)
  }

  get keepsTasks(): boolean {
    return keepsTasks(this.#scope.sharing)
  }

  get load(): ServerGauges {
    return sumOf(this.#workers.map(({ load }) => load))
  }

  get pids(): number[] {
    return this.#connections.flatMap((connection) => connection.dialed.pid ?? [])
  }

  renew(why: string): void {
    for (const connection of this.#connections) connection.restart(why)
  }

  join(client: ClientPort): this {
    this.clients.add(client)
    if (this.clients.size > 1) this.#readAll(true)
    return this
  }

  call(call: Call, edits: readonly Edit[]): void {
    const own = this.#context.logins?.()?.tool
    const isOwn = own !== undefined && call.item === own.item.key && call.frame.method === 'tools/call'
    // A server may have a tool of that name itself.
    if (isOwn && this.view.items('tools').at(-1) === own.item) {
      call.deadline.times = this.#context.times
      return own.call(call, edits)
    }
    const { blocked } = this.lists
    if (blocked?.body !== undefined) return call.fail(blocked.body)
    const { subscribes } = call.row
    this.#use()
    const sent =
      subscribes === undefined ? call : this.clients.passing(call, subscribes, () => this.#firstConnection)
    if (sent === undefined) return
    this.#workerFor(sent).call(sent, edits)
  }

  setLogLevel(client: ClientPort, level: string): void {
    this.clients.setLevel(client, level)
    this.#sendLevel()
  }

  rootsChanged(_client: ClientPort, frame: NotificationFrame): void {
    const { declared, sharing } = this.#scope
    if (sharing !== 'own' || !declared.names.has('roots')) return
    for (const connection of this.#connections) connection.pass(frame, [])
  }

  setReading(client: ClientPort, on: boolean): void {
    // One slow client among several does not pause the others.
    if (on || this.clients.only === client) this.#readAll(on)
  }

  follow(client: ClientPort, uri: string): void {
    if (this.lists.blocked !== undefined) return
    this.#use()
    this.clients.follow(client, uri, this.#firstConnection)
  }

  takeSubscriptions(client: ClientPort): string[] {
    return this.clients.resources.takeAll(client)
  }

  release(client: ClientPort): Call[] {
    return this.#workers.flatMap((worker) => worker.release(client))
  }

  leave(client: ClientPort): Promise<void> | undefined {
    const { level } = this.clients
    const unfollowed = this.clients.remove(client)
    this.#readAll(true)
    for (const connection of this.#connections) connection.tasks.onClientLeft(client)
    if (isOfOne(this.#scope.sharing)) {
      this.#left()
      return this.close()
    }
    this.clients.unsubscribe(this.#firstConnection, unfollowed)
    if (this.clients.level !== level) this.#sendLevel()
    if (this.#scope.principal !== undefined && this.clients.size === 0) this.#endLater()
    return undefined
  }

  /** Delays the end, because many clients leave after each request and return soon. */
  #endLater(): void {
    const { runtime, limits } = this.#context
    this.#ending?.cancel()
    this.#ending = runtime.setTimer(limits.clientProcessIdleMs, () => {
      if (this.isClosed || this.clients.size > 0) return
      this.#left()
      void this.close()
    })
  }

  async close(): Promise<void> {
    this.#ending?.cancel()
    this.isClosed = true
    if (this.#standIn !== undefined) this.#standIn.#deferred.delete(this)
    this.lists.endKept()
    this.lists.close()
    this.skipDelay()
    await Promise.all(this.#workers.map((worker) => worker.close()))
  }

  // Messages of the servers:

  /** Only the first process gets the subscriptions: a second one would report the same update again. */
  opened(connection: ServerConnection, server: OpenedServer, isFirst: boolean): void {
    const { facts } = server
    if (this.#open.size === 0) this.clients.renew()
    this.#open.add(connection)
    connection.tasks.capabilities = askableOfTasks(facts.capabilities)
    if (facts.capabilities.logging) this.clients.sendLevel(connection)
    if (isFirst) {
      if (connection.isStateless) this.#listen(connection, facts)
      this.clients.resubscribe(connection)
    }
    this.lists.opened(connection, server, isFirst)
    const { memory, runtime } = this.#context
    memory.connectedAtMs = runtime.wallNow()
  }

  /** A server without sessions sends notifications only on the stream of `subscriptions/listen`. */
  #listen(connection: ServerConnection, { capabilities }: ServerFacts): void {
    connection.listening = new ServerSubscription(this.#context, connection, capabilities, this)
    // The connection may have ended during the handshake.
    if (connection.isOpen) connection.listening.renew()
    else connection.listening.close()
  }

  /** Includes replaced connections, whose last answers must not wait for ever. */
  #readAll(on: boolean): void {
    for (const connection of this.#open) connection.read(on)
  }

  /**
   * Whether a client needs the connection. An open connection to a remote server may cost money.
   */
  get isNeeded(): boolean {
    const { clients } = this
    if (this.#scope.startsOnCall) return this.isAtWork || [...clients].some(({ listens }) => listens)
    const isAttended = this.#context.isRemote && clients.size > 0
    return clients.hasFollowers || isAttended || this.isAtWork
  }

  get isCalled(): boolean {
    return this.#callers.some(({ isSettled }) => !isSettled)
  }

  /** Whether lists are being read, a server waits for the answer of a client, or a task runs. */
  get isAtWork(): boolean {
    const hasTasks = [...this.#open].some((connection) => connection.tasks.hasRunning)
    return this.lists.isBusy || this.#isOwed || hasTasks
  }

  get #isOwed(): boolean {
    const clients = [...this.clients]
    return [...this.#open].some((connection) =>
      clients.some((client) => client.questions.isAwaitedBy(connection)),
    )
  }

  onRequest(
    frame: RequestFrame,
    row: ServerRequestRow,
    connection: ServerConnection,
    during: Call | undefined,
  ): void {
    const { sharing } = this.#scope
    const { about, tasks } = connection
    const running = sharing === 'plain' ? undefined : (tasks.waitingFor(frame) ?? about.askable)
    const call = during ?? running ?? connection.waitingCall
    // A client with its own lane can be asked at any time.
    const client = sharing === 'own' ? this.clients.only : call?.client
    const isDeclared = this.#isDeclared(row, (call?.context ?? client?.profile)?.capabilities)
    const caller = call ?? about.oneAskable
    if (!isDeclared && caller !== undefined && !this.#isDeclared(row, caller.context.capabilities))
      caller.noteMissing(requiredCapabilities(questionOf(frame)))
    // A server with several clients does not know the capabilities of each client.
    const isDeclaredToServer = sharing === 'own' || this.#isDeclared(row, this.#scope.declared)
    const mayCome = sharing === 'stateless' && isDeclaredToServer && client === undefined
    if (mayCome && connection.firstQuestions?.defer(frame) === true) return
    if (!isDeclared || !isDeclaredToServer || client === undefined) return this.#refuse(frame, connection)
    const onEnd = connection.pause(client, call)
    // The proxy does not declare that clients can answer with a task.
    const edits = cutNamed(frame.params.members, ['task'], 'task')
    if (client.questions.ask({ frame, asker: connection, during: call, onEnd, edits })) return
    onEnd()
    this.#refuse(frame, connection)
  }

  #isDeclared({ capability }: ServerRequestRow, capabilities: ClientCapabilities | undefined): boolean {
    return capability !== undefined && capabilities?.names.has(capability) === true
  }

  #refuse({ id, method }: RequestFrame, connection: ServerConnection): void {
    connection.onRefusal(id, methodNotFound(method))
    this.#context.tell('debug', `${method} was refused: no client to ask`)
  }

  onNotification(
    frame: NotificationFrame,
    row: ServerNotificationRow | undefined,
    connection: ServerConnection,
    during: Call | undefined,
  ): void {
    switch (row?.does) {
      case 'list-changed':
        return this.lists.changed(connection, row.lists)
      case 'updated':
        return this.#updated(frame, connection)
      case 'cancel':
        for (const client of this.clients) client.questions.withdraw(frame, connection)
        return
      case 'task':
        if (connection.isStateless) return this.#taskChanged(frame, connection)
        // With one client and one server, a task may be older than this session.
        if (connection.tasks.onStatus(frame)) return
        if (this.#scope.opening !== undefined) return this.#toOnlyClient(frame, row, during)
        return this.#context.tell('debug', `${frame.method} is about a task that no client has here`)
      case 'log':
        return this.#toOnlyClient(frame, row, during ?? this.#logging(connection))
      case 'progress':
      case 'owner':
      case undefined:
        return this.#toOnlyClient(frame, row, during)
    }
  }

  /**
   * The call of a log message that names none, if only one call is possible.
   *
   * MCP 2025-06-18, Transports: messages on the response to a request should relate to the request, and those
   * on the standalone stream should not. So over HTTP the server itself has chosen.
   */
  #logging({ about, isStateless }: ServerConnection): Call | undefined {
    const { only } = this.clients
    // A client without a session gets no message that belongs to no call.
    if (isStateless || only?.profile.revision.era === 'stateless') return about.logging
    const call = this.#context.questionsNameTheirCall ? undefined : about.only
    return call?.client === only ? call : undefined
  }

  #updated(frame: NotificationFrame, connection: ServerConnection): void {
    const uri = frame.params.members.string('uri')
    if (uri === undefined) return
    // The subscription is the proxy's request, so clients do not get its id.
    const edits = connection.isStateless ? cutNamed(frame.params.meta, [SUBSCRIPTION_ID], 'subscription') : []
    for (const client of this.clients.resources.of(uri)) client.tell(frame, edits, undefined)
  }

  #taskChanged(frame: NotificationFrame, connection: ServerConnection): void {
    connection.tasks.onStatus(frame)
    const id = frame.params.members.string('taskId') ?? ''
    for (const client of this.clients.tasks.at(id).keys()) client.tell(frame, [], undefined)
  }

  #toOnlyClient(
    frame: NotificationFrame,
    row: ServerNotificationRow | undefined,
    during: Call | undefined,
  ): void {
    const client = during?.client ?? this.clients.only
    if (client === undefined) this.#context.tell('debug', `${frame.method} belongs to no one client`)
    else if (row?.does === 'log') client.log(frame, during)
    else client.tell(frame, [], during)
  }

  onClosed(connection: ServerConnection): void {
    for (const client of this.clients) client.questions.forget(connection)
    this.#open.delete(connection)
    this.lists.close(connection)
  }

  // The processes:

  get #first(): Worker {
    return this.#workers[0] ?? this.#addWorker()
  }

  get #firstConnection(): ServerConnection | undefined {
    return this.#workers[0]?.connection
  }

  get #connections(): ServerConnection[] {
    return this.#workers.flatMap((worker) => worker.connection ?? [])
  }

  get #workersFailure(): UpstreamError | undefined {
    return this.#workers.find((worker) => worker.failure)?.failure
  }

  /**
   * Only askable calls are spread over several processes. A subscription or a log level applies to the
   * process that got it, so other calls go to the first one.
   */
  #workerFor(call: Call): Worker {
    if (!call.row.isAskable || this.#workersMax < 2) return this.#first
    const free = this.#workers.find((worker) => worker.room > 0)
    if (free !== undefined) return free
    if (this.#workers.length < this.#workersMax) return this.#addWorker()
    return this.#workers.reduce((best, worker) => (worker.room > best.room ? worker : best))
  }

  #addWorker(): Worker {
    const isFirst = this.#workers.length === 0
    const worker = new Worker(this.#context, this.#scope, this, isFirst)
    this.#workers.push(worker)
    if (this.isClosed) void worker.close()
    return worker
  }

  /** With `isLater` the start waits until after the first answers to clients. */
  #begin(isLater: boolean = false): void {
    if (this.startedAt !== undefined) return
    this.startedAt = this.#context.runtime.now()
    const started = this.#launch(isLater)
    this.#follow(started)
    this.isStarting = true
    void started.then(() => {
      this.isStarting = false
      this.#settle()
      this.#report([])
    })
  }

  /** Begins a delayed start now. At the end of the lane, the start fails with the workers. */
  skipDelay(): void {
    this.#delaySkipped.resolve()
  }

  /** Called when the first connection is refused and tried again. No list waits for that. */
  unreachable(): void {
    this.#isUnreachable = true
    this.#report([])
  }

  /** The first attempt. It opens the server again after a login, or after a failed login. */
  async #launch(isLater: boolean): Promise<void> {
    const { runtime, gate } = this.#context
    if (isLater) await gate.putOff(this.#delaySkipped.promise)
    await this.#startFirst()
    const client = this.clients.only?.profile.info?.name
    const endsAt = (this.startedAt ?? 0) + patienceMs(client, false)
    for (let login = this.#login; login !== undefined; login = this.#login) {
      const leftMs = endsAt - runtime.now()
      if (leftMs <= 0 || this.isClosed) return
      const ended = login.then(() => true)
      if ((await within(ended, leftMs, runtime)) === true) await this.#startFirst()
    }
  }

  get #login(): Promise<void> | undefined {
    return this.#workersFailure?.reason === 'login-required' ? this.#context.logins?.()?.underWay : undefined
  }

  /** Resolves when the first process is ready, or its start has failed. */
  async #startFirst(): Promise<void> {
    // `Server` registers the lane before its first process starts.
    await Promise.resolve()
    try {
      await this.#first.ready()
    } catch {
      // The worker has logged the error, and calls get it.
    }
  }

  /** Whether a call waits for the lists of a process that ended early, and another process may list. */
  get #needsSuccessor(): boolean {
    const wasUp = this.lists.server !== undefined && !isAboutCredentials(this.#workersFailure?.reason)
    return wasUp && this.isCalled && !this.lists.hasNames && this.#firstConnection === undefined
  }

  /** Waits for the lists, and reads failed ones once more if a call waits for them. */
  #follow(started: Promise<void>): void {
    this.isPending = true
    const read = async (): Promise<void> => {
      await started
      await this.lists.firstReads
      for (let count = 0; count < SUCCESSORS_MAX && this.#needsSuccessor; count++) {
        await this.#startFirst()
        await this.lists.firstReads
      }
      if (this.isCalled) await this.lists.readMissing()
      this.isPending = false
      this.#callers = []
      this.#report([])
    }
    void read()
  }

  #settle(): void {
    // The opening request has an answer already, unless the server could not be reached.
    this.#scope.opening?.fail(this.#workersFailure?.body ?? shuttingDown())
    // A start that was refused for lack of room is no evidence about the server.
    const failure = this.#workersFailure
    const isUnknown = this.isClosed || failure?.reason === 'overloaded'
    if (this.lists.server !== undefined || isUnknown) return
    const livedMs = this.#context.runtime.now() - (this.startedAt ?? 0)
    // After such a short life, the next start may find a package that this one has installed.
    if (failure?.reason === 'timeout' && livedMs < LIVED_MS) return
    this.lists.startFailed(failure?.message ?? 'it did not start')
  }

  #sendLevel(): void {
    if (this.lists.server?.facts.capabilities.logging !== true) return
    for (const connection of this.#connections) this.clients.sendLevel(connection)
  }

  /** Also called without kinds, for clients that wait for the lists. */
  #report(kinds: readonly ListKind[]): void {
    for (const lane of [...this.#deferred, this])
      for (const client of lane.clients) client.listsChanged(kinds)
  }
}

/** A call that waits for its client keeps its process, so other calls of the client need more processes. */
function workersMax({ processes, questionsNameTheirCall, limits }: ServerContext, scope: LaneScope): number {
  if (scope.sharing === 'own') return 1
  return holdsProcess(scope, questionsNameTheirCall)
    ? Math.max(processes, limits.statelessProcessesMax)
    : processes
}

/** The extension Tasks has no list of tasks, and every task can be cancelled. */
function askableOfTasks({ extensions, tasks }: ServerCapabilities): TaskCapabilities | undefined {
  return tasks ?? (extensions.has(TASKS) ? { list: false, cancel: true } : undefined)
}
