// One process of a lane, or one session with a remote server: its starts, its slots, and the calls it works on.
//
// It is started once however many calls wait for it, and started again after a crash with the delays of the server.
//
// The breaker belongs to the server: after several crashes in a short time, or one before a process that came back has
// stayed up long enough, calls fail immediately. When the hold is over one attempt is made. A process that every client may
// use makes it without a call, since clients wait for the news that the server is back; the process of one client that
// nothing is wanted of stays down until its next call.

import type { Edit } from '../../jsonrpc/splice.js'
import type { Call, ClientPort } from '../../mcp/call.js'
import { CallQueue, QueueRoom } from '../../mcp/call-queue.js'
import { setDeadline, within } from '../../runtime/deadline.js'
import { callTimeout } from '../../mcp/call-failures.js'
import {
  asUpstreamError,
  thatServer,
  isAboutCredentials,
  type UpstreamError as Failure,
} from '../contracts/upstream-error.js'
import type { LogRecord, Timer } from '../../runtime/runtime.js'
import type { FailureReason } from '../../mcp/error-codes.js'
import type { Lease } from './start-gate.js'
import type { Restarts, Start } from './restarts.js'
import type { ServerGauges } from '../contracts/upstream.js'
import type { ServerContext } from './context.js'
import { ServerConnection } from './server-connection.js'
import type { Inbox } from './inbox.js'
import { holdsProcess, type LaneScope } from './sharing.js'
import { Slots } from './slots.js'

/** A call, and what it is to be sent with. */
export interface Forward {
  readonly call: Call
  readonly edits: readonly Edit[]
}

/** The calls, slots and memory of processes. */
export type Load = Omit<ServerGauges, 'restarts'>

/** The load of several processes together. */
export function sumOf(loads: readonly Load[]): Load {
  const memory = loads.flatMap(({ memoryBytes }) => memoryBytes ?? [])
  return {
    inFlight: total(loads.map(({ inFlight }) => inFlight)),
    queued: total(loads.map(({ queued }) => queued)),
    slots: total(loads.map(({ slots }) => slots)),
    memoryBytes: memory.length === 0 ? undefined : total(memory),
  }
}

export function total(counts: readonly number[]): number {
  return counts.reduce((sum, count) => sum + count, 0)
}

/** How often, within the idle time, the worker looks whether its process is still needed. */
const IDLE_CHECKS = 4

/** A start waits for the end of the process before it for one part in so many of a call's time. */
const REST_WAIT_SHARE = 12

/** One attempt to open a connection. */
interface Attempt {
  readonly kind: 'starting'
  /** It may close the breaker: calls that come meanwhile fail. */
  readonly isProbe: boolean
  /** Whether a call waits for it, or for the lists of the server. */
  isCalled: boolean
  /** It waits until another process ends. */
  awaitsPlace: boolean
  made: Promise<ServerConnection>
  /** Set when the attempt opens it. */
  connection: ServerConnection | undefined
}

type State =
  | { readonly kind: 'stopped' | 'closed' }
  | {
      readonly kind: 'ready'
      readonly connection: ServerConnection
      readonly startedAt: number
      readonly readyAt: number
    }
  | Attempt
  /** It starts for a call, and where there is a `timer`, after a delay or a login. */
  | { readonly kind: 'waiting'; readonly timer: Timer | undefined }

/** Takes calls for one process. */
export class Worker {
  readonly #context: ServerContext
  readonly #scope: LaneScope
  readonly #inbox: Inbox
  readonly #onFree: (() => void) | undefined
  readonly #idleTimeoutMs: number | undefined
  readonly #slots: Slots
  readonly #isApart: boolean
  /** Whether a question of the server cannot be told from one for a call that another client has abandoned. */
  readonly #isOfSeveral: boolean
  #askable: Slots
  /** Calls that wait for the process itself, and those that wait for a slot. */
  readonly #arriving: CallQueue<Forward>
  readonly #queued: CallQueue<Forward>
  /** A start is awaited, once for all calls that arrive. */
  #isOpening = false
  #usedAt = 0
  #idle: Timer | undefined
  readonly #isFirst: boolean
  /** Changed by `#to` only. */
  #state: State = { kind: 'stopped' }
  #failure: Failure | undefined
  #hasCrashed = false
  /** Starts in a row that were refused for want of room. */
  #refusals = 0
  #starts = 0
  /** Lets another install begin. */
  #endInstall: () => void = () => {}
  /** Connections that get no more calls, each until it has ended. */
  readonly #leaving = new Map<ServerConnection, Promise<void>>()
  /** The end of a process that was at rest: its successor may need what it still holds, a lock perhaps. */
  #resting: Promise<void> | undefined

  /**
   * The first process gets the subscriptions, and its lists are read. `onFree` is called when an askable call has ended
   * here, since calls may wait for another process.
   */
  constructor(
    context: ServerContext,
    scope: LaneScope,
    inbox: Inbox,
    isFirst: boolean,
    onFree: (() => void) | undefined,
  ) {
    this.#context = context
    this.#scope = scope
    this.#onFree = onFree
    this.#inbox = inbox
    const { concurrency, idleTimeoutMs, limits, questionsNameTheirCall } = context
    const { sharing, startsOnCall } = scope
    this.#isFirst = isFirst
    this.#idleTimeoutMs = startsOnCall ? shortest(idleTimeoutMs, context.processIdleMs) : idleTimeoutMs
    const bytes = new QueueRoom(limits.outgoingBytesMax)
    this.#arriving = new CallQueue(bytes, concurrency + limits.queueMax)
    this.#queued = new CallQueue(bytes)
    this.#slots = new Slots(concurrency, limits.queueMax)
    // During a call of several clients a server may ask something: of such calls one runs at a time, unless the server says
    // which one it asks about. With one slot in all, they wait for it like everybody else.
    this.#isApart =
      concurrency > 1 &&
      ((sharing === 'shared' && !questionsNameTheirCall) || holdsProcess(scope, questionsNameTheirCall))
    this.#askable = this.#isApart ? new Slots(1, limits.queueMax) : this.#slots
    this.#isOfSeveral = !questionsNameTheirCall && (sharing === 'shared' || sharing === 'stateless')
  }

  /** How many more askable calls this process could start immediately; negative when some wait. */
  get room(): number {
    // A server that keeps crashing fails calls immediately, which makes it look free.
    if (this.state === 'broken') return Number.NEGATIVE_INFINITY
    return this.#askable.room - this.#arriving.size
  }

  get load(): Load {
    const all = [...new Set([this.#slots, this.#askable])]
    const { connection } = this
    return {
      inFlight: total(all.map(({ taken }) => taken)),
      queued: this.#arriving.size + total(all.map(({ waiting }) => waiting)),
      slots: connection === undefined ? 0 : this.#context.concurrency,
      memoryBytes: connection?.dialed.memoryBytes,
    }
  }

  get #isIdle(): boolean {
    const { inFlight, queued } = this.load
    return inFlight + queued === 0
  }

  /** Forwards a call as soon as the process is ready and has a slot. */
  call(call: Call, edits: readonly Edit[]): void {
    const { connection } = this
    call.deadline.times = this.#context.times
    if (connection === undefined || connection.firstQuestions !== undefined)
      return this.#awaitConnection(call, edits)
    if (call.settled) return
    if (this.#isInDoubt(call, connection)) {
      const why = 'it may still ask for a call that another client has cancelled'
      this.succeed(connection, why, this.#scope.sharing === 'shared')
      return this.#awaitConnection(call, edits)
    }
    if (connection.dialed.connection.backlogBytes > this.#context.limits.outgoingBytesMax)
      return this.#refuse(call, 'reads too slowly')
    const slots = call.row.askable ? this.#askable : this.#slots
    if (slots.take()) connection.calls.send(call, edits)
    else this.#awaitSlot(call, edits, slots)
  }

  /**
   * Whether the process may ask for an abandoned call of another client, so that it takes no new call that it may ask
   * for.
   */
  #isInDoubt({ row, client }: Call, connection: ServerConnection): boolean {
    return this.#isOfSeveral && row.askable && connection.calls.about.mayConcernOthers(client)
  }

  /** In monotonic milliseconds; undefined while the process is in use, or not there. */
  get #idleSince(): number | undefined {
    const isIdle = this.connection !== undefined && this.#isIdle && !this.#inbox.isAtWork
    return isIdle ? this.#usedAt : undefined
  }

  /** Gives back the calls of a client that have not begun here, in the order in which they came. */
  release(client: ClientPort): Forward[] {
    return [...this.#queued.release(client), ...this.#arriving.release(client)]
  }

  /** Gives back the first askable call that waits for a slot here. */
  takeQueued(): Forward | undefined {
    const first = [...this.#queued].find(({ call }) => call?.row.askable)
    return first && this.#queued.take(first)
  }

  // A connection reports to its worker:

  onCallEnded(call: Call): void {
    const slots = call.row.askable ? this.#askable : this.#slots
    const taken = call.isAboutTask ? slots.taken : slots.free()
    // The idle time is only read while the process is idle.
    if (taken === 0) {
      this.#usedAt = this.#context.runtime.now()
      this.#context.gate.changed()
    }
    if (this.#idleTimeoutMs !== undefined && this.#idle === undefined) this.#watchIdle()
    if (call.row.askable) this.#onFree?.()
  }

  get waitingCall(): Call | undefined {
    for (const { value } of this.#arriving) if (value.call.row.askable) return value.call
    return undefined
  }

  async close(): Promise<void> {
    this.#idle?.cancel()
    const connection = 'connection' in this.#state ? this.#state.connection : undefined
    this.#to({ kind: 'closed' })
    this.#endInstall()
    this.#context.gate.changed()
    if (connection !== undefined) void this.#stop(connection)
    for (const leaving of this.#leaving.keys()) void leaving.stop()
    await Promise.all(this.#leaving.values())
  }

  async #open(): Promise<void> {
    this.#isOpening = true
    let pass = (call: Call, edits: readonly Edit[]): void => this.call(call, edits)
    try {
      const connection = await this.ready(true)
      const { firstQuestions } = connection
      if (this.waitingCall !== undefined) firstQuestions?.askHeld()
      await firstQuestions?.over
    } catch (error) {
      const { body } = asUpstreamError(this.#context.service, error)
      pass = (call) => call.fail(body)
    }
    this.#isOpening = false
    for (const { call, edits } of this.#arriving.takeAll()) pass(call, edits)
  }

  #awaitConnection(call: Call, edits: readonly Edit[]): void {
    if (!this.#arriving.hasRoom(call.bytes)) return this.#refuse(call, 'has too many calls waiting')
    const patience = this.#patience(call)
    this.#arriving.add(call, { call, edits }, () => patience.cancel())
    if (call.row.askable) this.connection?.firstQuestions?.askHeld()
    if (!this.#isOpening) void this.#open()
  }

  #awaitSlot(call: Call, edits: readonly Edit[], slots: Slots): void {
    const start = (): boolean => {
      const next = this.#queued.take(queued)
      return next !== undefined && this.#startQueued(next)
    }
    const leave = this.#queued.hasRoom(call.bytes) ? slots.wait(start) : undefined
    if (leave === undefined) return this.#refuse(call, 'has too many calls waiting')
    const patience = this.#patience(call)
    const queued = this.#queued.add(call, { call, edits }, () => {
      patience.cancel()
      leave()
    })
  }

  /** A call that waits has the same deadline as one that runs, and keeps it when its turn comes. */
  #patience(call: Call): Timer {
    const { gate, runtime, service } = this.#context
    const { deadline } = call
    const wait = (): Timer =>
      setDeadline(runtime, deadline.endsAt - runtime.now(), expire, (to) => deadline.putOff(to))
    const expire = (): void => {
      if (this.awaitsPlace) return call.abandon(gate.refusal(service).body)
      // A server that is stuck ends the calls before this one, which gives this one its turn.
      const isPatient = deadline.times.settableIn !== undefined && deadline.budget === 'timeoutMs'
      if (!isPatient) return call.abandon(callTimeout(service, call, 'no turn'))
      deadline.extend(runtime.now())
      timer = wait()
    }
    let timer = wait()
    return { cancel: () => timer.cancel() }
  }

  /** The connection may have gone while the call waited; what never left waits for the next one. */
  #startQueued({ call, edits }: Forward): boolean {
    const { connection } = this
    const isTaken = connection !== undefined && !this.#isInDoubt(call, connection)
    if (isTaken) connection.calls.send(call, edits)
    else this.call(call, edits)
    return isTaken
  }

  #refuse(call: Call, what: string): void {
    call.fail(thatServer(this.#context.service, 'overloaded', what).body)
  }

  /** The process takes calls from now on, and may rest before it has had one. */
  #opens(isStateless: boolean): void {
    // A server without sessions sends no requests, so its calls need not run one at a time.
    if (this.#isApart && this.#slots.idle && this.#askable.idle)
      this.#askable = isStateless ? this.#slots : new Slots(1, this.#context.limits.queueMax)
    this.#usedAt = this.#context.runtime.now()
    this.#watchIdle()
  }

  /** Another process needs the place of this one, which was idle a moment ago. */
  #leaseLost(connection: ServerConnection): void {
    if (connection !== this.connection) return
    if (this.#isIdle) void this.#restIdle()
    else this.succeed(connection, 'another process needs its place', true)
  }

  #watchIdle(delayMs = this.#idleTimeoutMs): void {
    const { runtime } = this.#context
    const idleTimeoutMs = this.#idleTimeoutMs
    if (idleTimeoutMs === undefined || delayMs === undefined || this.#idle !== undefined) return
    this.#idle = runtime.setTimer(delayMs, () => {
      this.#idle = undefined
      const leftMs = Math.ceil(idleTimeoutMs - (runtime.now() - this.#usedAt))
      const isFree = this.#isIdle
      if (isFree && leftMs > 0) this.#watchIdle(leftMs)
      else if (isFree && !this.#inbox.isNeeded) void this.#restIdle()
      else this.#watchAgain(idleTimeoutMs)
    })
  }

  /** The process is needed now, so its idle time begins anew. */
  #watchAgain(idleTimeoutMs: number): void {
    this.#usedAt = this.#context.runtime.now()
    this.#watchIdle(Math.ceil(idleTimeoutMs / IDLE_CHECKS))
  }

  /** It had nothing to do for long, or others need its place. */
  #restIdle(): Promise<void> {
    const { log, service } = this.#context
    const message = "a client's process is stopped while the client is idle; its next call starts it again"
    if (this.#scope.startsOnCall) log({ level: 'info', service, message })
    return this.rest()
  }

  // The process:

  /**
   * `broken` while the breaker is open and this process is down. A crash does not count once another process of the server
   * has come up, unless this one is being started again: it is as good as `stopped`.
   */
  get state(): State['kind'] | 'broken' {
    const { restart, restarts } = this.#context
    const state = this.#state
    if (state.kind === 'ready' || state.kind === 'closed') return state.kind
    if (restarts.isBroken) return 'broken'
    const isAtRest = state.kind === 'waiting' && state.timer === undefined
    return isAtRest && restart && restarts.isProven ? 'stopped' : state.kind
  }

  /** Whether it waits until another process ends. */
  get awaitsPlace(): boolean {
    return this.#state.kind === 'starting' && this.#state.awaitsPlace
  }

  /** Why the last connection ended or could not be opened. */
  get failure(): Failure | undefined {
    return this.#failure
  }

  /** The connection, when calls can start immediately. */
  get connection(): ServerConnection | undefined {
    return this.#state.kind === 'ready' ? this.#state.connection : undefined
  }

  /** The connection, started if it is not there: for a call, or for lists alone. @throws UpstreamError */
  ready(isCalled: boolean): Promise<ServerConnection> {
    const state = this.#state
    switch (state.kind) {
      case 'ready':
        return Promise.resolve(state.connection)
      case 'starting':
        if (state.isProbe) return Promise.reject(this.#down('unavailable', 'is down'))
        state.isCalled ||= isCalled
        return state.made
      case 'closed':
        return Promise.reject(this.#down('shutting-down', 'is stopped'))
      case 'stopped':
      case 'waiting':
        if (!this.#context.restart && this.#hasCrashed)
          return Promise.reject(this.#down('unavailable', 'is down and not restarted'))
        if (this.#context.restarts.isHeld) {
          // A process that is needed without a call starts when the hold is over, also where this is its first start.
          if (state.kind === 'stopped' && this.#isWantedUncalled) this.#startIfWanted()
          return Promise.reject(this.#down('unavailable', 'is down'))
        }
        return this.#start(isCalled)
    }
  }

  /** The connection has ended by itself. */
  onConnectionEnded(connection: ServerConnection): void {
    const state = this.#state
    if (state.kind !== 'ready' || state.connection !== connection) return
    this.#failure = connection.failure
    if (connection.isSpent) return this.#renew(connection)
    if (connection.failure.reason === 'login-required') return this.#awaitLogin(connection.failure)
    this.#log('error', connection.failure.message)
    this.#context.restarts.wasUp(state.readyAt)
    this.#crashed(this.#context.restarts.crashed(state.startedAt, connection.failure))
  }

  /** Stops the connection until a call comes; `why` explains the error of its calls. */
  async rest(why?: string): Promise<void> {
    const state = this.#state
    if (state.kind !== 'ready') return
    const { connection, readyAt } = state
    this.#to({ kind: 'stopped' })
    this.#context.restarts.wasUp(readyAt)
    const stopped = this.#stop(connection, why)
    if (connection.dialed.pid !== undefined) this.#startBehind(stopped)
    connection.calls.requeueUnsent()
    await stopped
  }

  /** Ends the connection and starts it anew, though it has not crashed; one that has a successor already is ending. */
  async restart(connection: ServerConnection, why: string): Promise<void> {
    if (this.connection !== connection) return
    this.#log('warn', `restarting: ${why}`)
    await this.rest(why)
    if (this.#state.kind === 'stopped') this.#startIfWanted()
  }

  /**
   * Ends the connection when its calls have ended; later calls get another one.
   *
   * A server of which one process runs at a time may hold a lock, so its next process waits for the end of this one.
   */
  succeed(connection: ServerConnection, why: string, isAlone: boolean): void {
    const state = this.#state
    if (state.kind !== 'ready' || state.connection !== connection) return
    this.#log('debug', `its next call gets another process: ${why}`)
    this.#to({ kind: 'stopped' })
    this.#context.restarts.wasUp(state.readyAt)
    const left = this.#leave(
      connection,
      connection.calls.idle().then(() => connection.stop()),
    )
    if (isAlone) this.#startBehind(left)
    this.#startIfWanted()
  }

  #startBehind(stopped: Promise<void>): void {
    const resting = stopped.then(() => {
      if (this.#resting === resting) this.#resting = undefined
    })
    this.#resting = resting
  }

  #stop(connection: ServerConnection, why?: string): Promise<void> {
    return this.#leave(connection, connection.stop(why))
  }

  #leave(connection: ServerConnection, ended: Promise<void>): Promise<void> {
    const left = ended.finally(() => void this.#leaving.delete(connection))
    this.#leaving.set(connection, left)
    return left
  }

  /**
   * The next connection begins immediately if it is needed, and earlier crashes are forgiven: the server has answered
   * calls.
   */
  #renew(connection: ServerConnection): void {
    this.#log('warn', `${connection.failure.message}; opening another one`)
    this.#context.restarts.forgive()
    this.#to({ kind: 'stopped' })
    this.#startIfWanted()
  }

  /** While the server is left alone, the start waits for the end of that. */
  #startIfWanted(): void {
    const { restarts } = this.#context
    if (!this.#isWanted) return
    if (restarts.isHeld) this.#wait(restarts.waitMs)
    else this.#start(false).catch(() => {})
  }

  #start(isCalled: boolean): Promise<ServerConnection> {
    const attempt: Attempt = {
      kind: 'starting',
      isProbe: this.#context.restarts.isBroken,
      isCalled,
      awaitsPlace: false,
      connection: undefined,
      made: new Promise(() => {}),
    }
    this.#to(attempt)
    attempt.made = this.#attempt(attempt)
    return attempt.made
  }

  async #attempt(attempt: Attempt): Promise<ServerConnection> {
    const { restarts, runtime, times } = this.#context
    let start: Start | undefined
    try {
      if (this.#resting !== undefined) await within(this.#resting, times.timeoutMs / REST_WAIT_SHARE, runtime)
      const turn = this.#turn()
      if (turn !== undefined) await turn
      // Nothing is awaited between the last look and the beginning, so that one start at a time tries the server.
      for (let { trial } = restarts; trial !== undefined; trial = restarts.trial)
        await this.#tried(attempt, trial)
      // The breaker may have opened while this start waited.
      if (restarts.isHeld && !attempt.isProbe) throw this.#down('unavailable', 'is down')
      start = restarts.begin()
      // A server that has ended on a question is started once more, and not asked.
      const connection = (await this.#opened(attempt)) ?? (await this.#opened(attempt))
      this.#expect(attempt)
      if (connection === undefined) throw this.#down('closed', 'ends whenever it is started')
      if (!connection.isOpen) throw connection.failure
      this.#to({ kind: 'ready', connection, startedAt: start.startedAt, readyAt: runtime.now() })
      start.succeeded()
      this.#failure = undefined
      this.#refusals = 0
      return connection
    } catch (error) {
      this.#endInstall()
      if (attempt.connection !== undefined) void this.#stop(attempt.connection)
      const failure = asUpstreamError(this.#context.service, error)
      this.#ended(attempt, start, failure)
      throw failure
    }
  }

  /** Waits for the start that tries the server. @throws UpstreamError what that has failed with */
  async #tried(attempt: Attempt, trial: NonNullable<Restarts['trial']>): Promise<void> {
    const failure = await trial
    this.#expect(attempt)
    if (failure !== undefined) throw failure
  }

  /**
   * Undefined when the server has ended on the question which revisions it speaks; then it is gone, with what it
   * held.
   */
  async #opened(attempt: Attempt): Promise<ServerConnection | undefined> {
    this.#expect(attempt)
    attempt.awaitsPlace = true
    const lease = await this.#place(attempt).finally(() => {
      attempt.awaitsPlace = false
    })
    if (this.#state !== attempt) lease?.release()
    this.#expect(attempt)
    const { connection, ready } = this.#dial(lease)
    attempt.connection = connection
    try {
      await ready
      return connection
    } catch (error) {
      if (!connection.endedOnProbe) throw error
      const how = `${connection.failure.message} when it was asked what it speaks`
      this.#log('debug', `${how}; starting it anew without that`)
      await this.#stop(connection)
      return undefined
    }
  }

  /** @throws UpstreamError when it was closed meanwhile */
  #expect(attempt: Attempt): void {
    if (this.#state !== attempt) throw this.#down('shutting-down', 'is stopped')
  }

  /** The attempt has failed: by itself, with the start of another process, or since there was no room. */
  #ended(attempt: Attempt, start: Start | undefined, failure: Failure): void {
    const isOver = this.#state !== attempt
    const isTried = !isOver && start !== undefined && failure.reason !== 'overloaded'
    const opens = start?.failed(isTried ? failure : undefined) === true
    if (isOver) return
    this.#failure = failure
    if (failure.reason === 'login-required') return this.#awaitLogin(failure)
    if (isTried || failure.reason === 'overloaded') this.#log('error', failure.message)
    if (failure.reason === 'overloaded') this.#refused()
    else this.#crashed(opens)
  }

  /** This process has crashed, or the one whose start tried the server for all. */
  #crashed(opens: boolean): void {
    const { limits, restart, restarts } = this.#context
    this.#hasCrashed = true
    if (opens) {
      const seconds = Math.round(limits.restart.holdMs / 1000)
      this.#log('error', `it keeps crashing: left alone for ${seconds} s`)
    }
    this.#wait(restart ? restarts.waitMs : undefined)
  }

  /** A person has to log in: the server has not crashed, and is tried again when there is a login. */
  #awaitLogin({ message }: Failure): void {
    const { logins, restarts } = this.#context
    if (!restarts.isLoginLogged) this.#log('warn', message)
    restarts.isLoginLogged = true
    if (this.#hasCalls) logins?.ask()
    if (logins?.tool !== undefined) this.#inbox.lists.showOwnTool(logins.tool.item)
    // Also the process of one client, which sees nothing of the server until then.
    this.#to({ kind: 'waiting', timer: logins?.onChange(() => this.#retry()) })
  }

  /** There is no room for another process: the server has not failed, and is tried again less and less often. */
  #refused(): void {
    const { limits, restartDelayMs } = this.#context
    this.#wait(Math.min(restartDelayMs * 2 ** this.#refusals++, limits.restart.delayMsMax))
  }

  #wait(delayMs: number | undefined): void {
    const isTimed = delayMs !== undefined && this.#isWanted
    const timer = isTimed ? this.#context.runtime.setTimer(delayMs, () => this.#retry()) : undefined
    this.#to({ kind: 'waiting', timer })
  }

  /** The delay is over; the crash of another process may have begun a longer one. */
  #retry(): void {
    const { restarts } = this.#context
    if (restarts.waitMs > 0) this.#wait(restarts.waitMs)
    else this.#start(false).catch(() => {})
  }

  /** Whether the process is needed now. */
  get #isWanted(): boolean {
    return this.#isWantedUncalled || this.#hasCalls
  }

  /** Whether the process is needed without a call. */
  get #isWantedUncalled(): boolean {
    return !this.#scope.startsOnCall || this.#inbox.clients.areFollowing
  }

  get #hasCalls(): boolean {
    return this.load.queued > 0
  }

  /** Resolves when the process may start; undefined when it may now. */
  #turn(): Promise<void> | undefined {
    const { dialer, gate, installs, kind, keptLists } = this.#context
    const inTurn = (): Promise<void> | undefined => {
      if (kind !== 'stdio' || dialer.hasAdopted) return undefined
      if (installs !== true || keptLists.kept?.description !== undefined) return gate.take()
      // One that did not answer the last time would hold back the others.
      const isLast = keptLists.kept?.isGivenUp === true
      return gate.install(isLast).then((end) => {
        this.#endInstall = end
        if (this.#inbox.isClosed) end()
        return gate.take()
      })
    }
    const eraKnown = this.#scope.eraKnown?.()
    return eraKnown === undefined ? inTurn() : eraKnown.then(inTurn)
  }

  /** The place of the process; undefined for an adopted one, and for a session. @throws UpstreamError when there is none */
  async #place({ isCalled }: Attempt): Promise<Lease | undefined> {
    const { dialer, gate, keptLists, kind, service: server } = this.#context
    if (dialer.hasAdopted || kind === 'http' || kind === 'sse') return undefined
    // A call by a kept list waits until the list was read, which needs the process.
    const isAwaited = isCalled && keptLists.facts !== undefined
    const mayWait = (): boolean => (isAwaited || this.#hasCalls) && this.#state.kind !== 'closed'
    const isShared = !this.#scope.startsOnCall
    const idleSince = (): number | undefined => this.#idleSince
    return gate.admit({ server, isCalled: () => isCalled || mayWait(), mayWait, isShared, idleSince })
  }

  /** A connection that is being opened; `ready` rejects with UpstreamError. */
  #dial(lease: Lease | undefined): { readonly connection: ServerConnection; readonly ready: Promise<void> } {
    const { dialer, gate } = this.#context
    const { client, declared, opening } = this.#scope
    const { dialed, report } = dialer.take(lease)
    const connection = new ServerConnection(dialed, this.#context, this.#inbox, this)
    void lease?.lost.then(() => this.#leaseLost(connection))
    const ready = connection.start(declared, opening).then((server) => {
      dialer.connected()
      this.#opens(connection.isStateless)
      this.#inbox.opened(connection, server, this.#isFirst)
      const { lists } = this.#inbox
      void lists.opening.then(() => {
        report.ready(server, lists.items('tools').length)
        gate.changed()
      })
    })
    void ready.catch((error: unknown) => report.failed(error)).then(() => this.#endInstall())
    report.usedBy(connection, client, this.#starts++, () => this.#inbox.isClosed)
    return { connection, ready }
  }

  #to(state: State): void {
    if ('timer' in this.#state) this.#state.timer?.cancel()
    this.#state = state
  }

  #down(reason: FailureReason, what: string): Failure {
    const failure = this.#failure ?? this.#context.restarts.failure
    if (failure !== undefined && isAboutCredentials(failure.reason)) return failure
    const why = failure === undefined ? '' : `: ${failure.message}`
    return thatServer(this.#context.service, reason, `${what}${why}`)
  }

  #log(level: LogRecord['level'], message: string): void {
    this.#context.log({ level, service: this.#context.service, message })
  }
}

/** Of two times, either of which may be for ever. */
function shortest(one: number | undefined, other: number | undefined): number | undefined {
  return one === undefined || other === undefined ? (one ?? other) : Math.min(one, other)
}
