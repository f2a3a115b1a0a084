// One process of a lane, or one session with a remote server: its starts, its slots, and its calls.
//
// Calls begin in the order in which they arrive. A call that finds a free slot and no waiting call begins in
// the turn in which it was read. The other calls wait in one queue for the process or for a slot, and a
// p-queue gives them turns.
//
// After a crash, a process of several clients starts again without a call, because clients wait for
// notifications from the server. The process of one client starts again with its next call. `Restarts`
// decides when.

import PQueue from 'p-queue'
import type { Edit } from '../../jsonrpc/splice.js'
import type { Call, ClientPort } from '../../calls/call.js'
import { CallQueue } from '../../calls/call-queue.js'
import { within } from '../../runtime/deadline.js'
import { callTimeout } from '../../calls/call-deadline.js'
import {
  asUpstreamError,
  thatServer,
  isAboutCredentials,
  UpstreamError,
} from '../contracts/upstream-error.js'
import type { Timer } from '../../runtime/runtime.js'
import type { FailureReason } from '../../mcp/error-codes.js'
import type { Lease } from './start-gate.js'
import type { ServerGauges } from '../contracts/upstream.js'
import type { ServerContext } from './context.js'
import { ServerConnection } from './server-connection.js'
import type { ServerLane } from './lane.js'
import { ProcessReport } from './reports.js'
import { holdsProcess, type LaneScope } from './sharing.js'

export interface Forward {
  readonly call: Call
  readonly edits: readonly Edit[]
}

export function sumOf(loads: readonly ServerGauges[]): ServerGauges {
  const sum = { inFlight: 0, queued: 0, slots: 0, restarts: 0 }
  let memory: number | undefined
  for (const { inFlight, queued, slots, restarts, memoryBytes } of loads) {
    sum.inFlight += inFlight
    sum.queued += queued
    sum.slots += slots
    sum.restarts += restarts
    if (memoryBytes !== undefined) memory = (memory ?? 0) + memoryBytes
  }
  return { ...sum, memoryBytes: memory }
}

/** The part of a call's time, one in so many, that a start waits for the end of the previous process. */
const PREDECESSOR_SHARE = 12

interface Slots {
  readonly max: number
  taken: number
}

interface Attempt {
  readonly kind: 'starting'
  /** Undefined until the process has a place. */
  lease: Lease | undefined
  made: Promise<ServerConnection>
  connection: ServerConnection | undefined
}

interface Ready {
  readonly kind: 'ready'
  readonly connection: ServerConnection
  readonly startedAt: number
  readonly readyAt: number
}

type State =
  | { readonly kind: 'stopped' | 'closed' }
  | Ready
  | Attempt
  /** The process starts for the next call. With a `timer` it also starts after a delay or a login. */
  | { readonly kind: 'waiting'; readonly timer: Timer | undefined }

export class Worker {
  readonly #context: ServerContext
  readonly #scope: LaneScope
  readonly #lane: ServerLane
  readonly #isFirst: boolean
  readonly #idleTimeoutMs: number | undefined
  readonly #slots: Slots
  /** The slot of calls during which the server may send requests, if `#isApart`. */
  readonly #askable: Slots = { max: 1, taken: 0 }
  readonly #canBeApart: boolean
  #isApart: boolean
  /** Whether a request of the server may be about a call that another client has abandoned. */
  readonly #isOfSeveral: boolean
  readonly #waiting: CallQueue<Forward>
  readonly #turns = new PQueue({ concurrency: 1 })
  #usedAt = 0
  #idle: Timer | undefined
  /** Changed by `#to` only. */
  #state: State = { kind: 'stopped' }
  #failure: UpstreamError | undefined
  #hasCrashed = false
  #starts = 0
  /** Connections that get no more calls, with promises that resolve when they have ended. */
  readonly #leaving = new Map<ServerConnection, Promise<void>>()
  /** The end of the previous process, which may still hold something that the next needs, such as a lock. */
  #predecessor: Promise<void> = Promise.resolve()

  /** `isFirst`: the proxy reads the lists of the first process, and subscribes there. */
  constructor(context: ServerContext, scope: LaneScope, lane: ServerLane, isFirst: boolean) {
    this.#context = context
    this.#scope = scope
    this.#lane = lane
    this.#isFirst = isFirst
    const { concurrency, idleTimeoutMs, limits, questionsNameTheirCall } = context
    const { sharing, startsOnCall } = scope
    const ownIdleMs = Math.min(idleTimeoutMs ?? Infinity, limits.clientProcessIdleMs)
    this.#idleTimeoutMs = startsOnCall ? ownIdleMs : idleTimeoutMs
    this.#waiting = new CallQueue(context.runtime, limits.outgoingBytesMax)
    this.#slots = { max: concurrency, taken: 0 }
    // A server may send requests during a call of several clients. Such calls run one at a time, unless a
    // request names its call.
    this.#canBeApart =
      concurrency > 1 &&
      ((sharing === 'shared' && !questionsNameTheirCall) || holdsProcess(scope, questionsNameTheirCall))
    this.#isApart = this.#canBeApart
    this.#isOfSeveral = !questionsNameTheirCall && (sharing === 'shared' || sharing === 'stateless')
  }

  /** How many more askable calls can start immediately; negative if calls wait. */
  get room(): number {
    // A server that keeps crashing looks free, because its calls fail immediately.
    if (this.state === 'broken') return Number.NEGATIVE_INFINITY
    const { max, taken } = this.#isApart ? this.#askable : this.#slots
    return max - taken - this.#waiting.size
  }

  get load(): ServerGauges {
    const { connection } = this
    return {
      inFlight: this.#slots.taken + this.#askable.taken,
      queued: this.#waiting.size,
      slots: connection === undefined ? 0 : this.#context.concurrency,
      restarts: 0,
      memoryBytes: connection?.dialed.memoryBytes,
    }
  }

  get #isIdle(): boolean {
    return this.#slots.taken + this.#askable.taken + this.#waiting.size === 0
  }

  // Calls:

  call(call: Call, edits: readonly Edit[]): void {
    const { limits, times } = this.#context
    call.deadline.times = times
    if (call.isSettled) return
    const { connection } = this
    if (connection !== undefined && connection.dialed.connection.backlogBytes > limits.outgoingBytesMax)
      return this.#refuse(call, 'reads too slowly')
    const free = this.#waiting.size === 0 ? this.#connectionFor(call) : undefined
    if (free !== undefined) return this.#begin(free, { call, edits })
    if (!this.#hasRoom(call)) return this.#refuse(call, 'has too many calls waiting')
    this.#waiting.add(call, { call, edits }, () => this.#expired(call))
    if (call.row.isAskable) this.connection?.firstQuestions?.askHeld()
    this.takeTurn()
  }

  #connectionFor(call: Call): ServerConnection | undefined {
    const { connection } = this
    if (connection?.hasChannel !== true || connection.firstQuestions !== undefined) return undefined
    if (this.#isOfSeveral && call.row.isAskable && connection.about.mayConcernOthers(call.client)) {
      this.succeed(connection, 'it may still ask for a call that another client has cancelled')
      return undefined
    }
    const { max, taken } = this.#slotsOf(call)
    return taken < max ? connection : undefined
  }

  #begin(connection: ServerConnection, { call, edits }: Forward): void {
    this.#slotsOf(call).taken++
    // A request about a task takes no slot, but after the queue a new process handles it like any other call.
    call.isAboutTask = false
    connection.call(call, edits)
  }

  #slotsOf({ row }: Call): Slots {
    return this.#isApart && row.isAskable ? this.#askable : this.#slots
  }

  /** A limited number of calls may wait, in addition to the calls that find a slot. */
  #hasRoom(call: Call): boolean {
    const { max, taken } = this.#slotsOf(call)
    const waitingMax = this.#context.limits.queueMax + max - taken
    return this.#waiting.size < waitingMax && this.#waiting.hasRoom(call.bytes)
  }

  takeTurn(): void {
    if (this.#waiting.size > 0 && this.#turns.size === 0) void this.#turns.add(this.#turn)
  }

  /** Begins the calls that find a slot; starts a missing process for them. */
  readonly #turn = (): void => {
    for (const [call] of this.#waiting) {
      if (!this.#hasSlot) break
      const free = this.#connectionFor(call)
      const next = free && this.#waiting.take(call)
      if (free !== undefined && next !== undefined) this.#begin(free, next)
    }
    if (this.#waiting.size === 0) return
    const begun = this.#wanted()
    if (begun instanceof UpstreamError) this.#failWaiting(begun)
  }

  get #hasSlot(): boolean {
    const { max, taken } = this.#slots
    return this.#state.kind === 'ready' && (taken < max || (this.#isApart && this.#askable.taken === 0))
  }

  #failWaiting({ body }: UpstreamError): void {
    for (const { call } of this.#waiting.takeAll()) call.fail(body)
  }

  /** A waiting call has the same deadline as a running one, and keeps it when its turn comes. */
  #expired(call: Call): void {
    const { gate, runtime, service } = this.#context
    const { deadline } = call
    if (this.#awaitsPlace) return call.abandon(gate.refusal(service).body)
    // If the server is stuck, the calls before this one end, and this one gets its turn.
    const isPatient = deadline.times.settableIn !== undefined && deadline.budget === 'timeoutMs'
    if (isPatient) deadline.extend(runtime.now())
    else call.abandon(callTimeout(service, call, 'no turn'))
  }

  #refuse(call: Call, what: string): void {
    call.fail(thatServer(this.#context.service, 'overloaded', what).body)
  }

  /** Removes and returns the calls of a client that have not begun, in the order in which they arrived. */
  release(client: ClientPort): Call[] {
    return this.#waiting.takeAll((call) => call.client === client).map(({ call }) => call)
  }

  get waitingCall(): Call | undefined {
    for (const [call] of this.#waiting) if (call.row.isAskable) return call
    return undefined
  }

  onCallEnded(call: Call): void {
    const slots = this.#slotsOf(call)
    if (!call.isAboutTask) slots.taken--
    if (slots.taken === 0) {
      this.#usedAt = this.#context.runtime.now()
      this.#context.gate.changed()
    }
    this.#watchIdle()
    this.takeTurn()
  }

  async close(): Promise<void> {
    this.#idle?.cancel()
    const connection = 'connection' in this.#state ? this.#state.connection : undefined
    this.#to({ kind: 'closed' })
    this.#failWaiting(this.#down('shutting-down', 'is stopped'))
    this.#context.gate.changed()
    if (connection !== undefined) void this.#stop(connection)
    for (const leaving of this.#leaving.keys()) void leaving.stop()
    await Promise.all(this.#leaving.values())
  }

  // Idle processes:

  /** In monotonic milliseconds; undefined while the process is missing or in use. */
  get #idleSince(): number | undefined {
    const isIdle = this.connection !== undefined && this.#isIdle && !this.#lane.isAtWork
    return isIdle ? this.#usedAt : undefined
  }

  /** Ends this process, which was idle a moment ago, because another process needs its place. */
  async #leave({ connection }: Attempt): Promise<void> {
    if (connection === undefined) return
    if (this.#isIdle) void this.#restIdle()
    else this.succeed(connection, 'another process needs its place')
    await connection.finished.promise
  }

  #watchIdle(): void {
    const { runtime } = this.#context
    const idleTimeoutMs = this.#idleTimeoutMs
    if (idleTimeoutMs === undefined || this.#idle !== undefined) return
    const leftMs = (): number => Math.ceil(idleTimeoutMs - (runtime.now() - this.#usedAt))
    this.#idle = runtime.setTimer(leftMs(), () => {
      this.#idle = undefined
      if (leftMs() <= 0) {
        if (this.#isIdle && !this.#lane.isNeeded) return void this.#restIdle()
        this.#usedAt = runtime.now()
      }
      this.#watchIdle()
    })
  }

  #restIdle(): Promise<void> {
    const message = "a client's process is stopped while the client is idle; its next call starts it again"
    if (this.#scope.startsOnCall) this.#context.tell('info', message)
    return this.suspend()
  }

  // The process:

  /**
   * `broken` while the breaker is open and this process is down. Once another process of the server has come
   * up, a crash counts as `stopped`, unless this process is starting again.
   */
  get state(): State['kind'] | 'broken' {
    const { restart, restarts } = this.#context
    const state = this.#state
    if (state.kind === 'ready' || state.kind === 'closed') return state.kind
    if (restarts.isBroken) return 'broken'
    const isAtRest = state.kind === 'waiting' && state.timer === undefined
    return isAtRest && restart && restarts.isProven ? 'stopped' : state.kind
  }

  get #awaitsPlace(): boolean {
    const state = this.#state
    if (state.kind !== 'starting' || !this.#context.gate.isFull) return false
    return state.lease === undefined && state.connection === undefined
  }

  /** Why the last connection ended or could not be opened, or that there is no place for the next one. */
  get failure(): UpstreamError | undefined {
    const { gate, service } = this.#context
    return this.#awaitsPlace ? gate.refusal(service) : this.#failure
  }

  get connection(): ServerConnection | undefined {
    return this.#state.kind === 'ready' ? this.#state.connection : undefined
  }

  /** Returns the connection, and opens it first if necessary. @throws UpstreamError */
  async ready(): Promise<ServerConnection> {
    const begun = this.#wanted()
    if (begun instanceof UpstreamError) throw begun
    return await begun
  }

  /** Returns the connection, or its start, or the error that forbids a start. */
  #wanted(): ServerConnection | Promise<ServerConnection> | UpstreamError {
    const state = this.#state
    switch (state.kind) {
      case 'ready':
        return state.connection
      case 'starting':
        return this.#context.restarts.isBroken ? this.#down('unavailable', 'is down') : state.made
      case 'closed':
        return this.#down('shutting-down', 'is stopped')
      case 'stopped':
      case 'waiting':
        if (!this.#context.restart && this.#hasCrashed)
          return this.#down('unavailable', 'is down and not restarted')
        if (!this.#context.restarts.isHeld) return this.#start()
        // A process that clients need without a call starts after the hold, even for the first time.
        if (state.kind === 'stopped' && this.#isWantedUncalled) this.#startIfWanted()
        return this.#down('unavailable', 'is down')
    }
  }

  onConnectionEnded(connection: ServerConnection): void {
    const state = this.#state
    if (state.kind !== 'ready' || state.connection !== connection) return
    const { restarts } = this.#context
    this.#failure = connection.failure
    if (connection.isSpent) {
      // The server has answered calls, so earlier crashes are forgiven.
      this.#context.tell('warn', `${connection.failure.message}; opening another one`)
      restarts.forgive()
      this.#to({ kind: 'stopped' })
      this.#startIfWanted()
    } else if (connection.failure.reason === 'login-required') this.#awaitLogin(connection.failure)
    else {
      this.#context.tell('error', connection.failure.message)
      restarts.wasUp(state.readyAt)
      this.#crashed(restarts.crashed(state.startedAt, connection.failure))
    }
    this.takeTurn()
  }

  /** Stops the process until a call needs it; `why` explains the error of its calls. */
  async suspend(why?: string): Promise<void> {
    const state = this.#state
    if (state.kind !== 'ready') return
    const { connection } = state
    await this.#vacate(state, () => connection.stop(why))
  }

  /** Ends a connection that has not crashed and opens another. Ignores a connection with a successor. */
  async restart(connection: ServerConnection, why: string): Promise<void> {
    if (this.connection !== connection) return
    this.#context.tell('warn', `restarting: ${why}`)
    await this.suspend(why)
    if (this.#state.kind === 'stopped') this.#startIfWanted()
  }

  /** Ends the connection after its calls. Later calls get another connection. */
  succeed(connection: ServerConnection, why: string): void {
    const state = this.#state
    if (state.kind !== 'ready' || state.connection !== connection) return
    this.#context.tell('debug', `its next call gets another process: ${why}`)
    void this.#vacate(state, () => connection.idle().then(() => connection.stop()))
    this.#startIfWanted()
  }

  #vacate({ connection, readyAt }: Ready, end: () => Promise<void>): Promise<void> {
    this.#to({ kind: 'stopped' })
    this.#context.restarts.wasUp(readyAt)
    const left = this.#ending(connection, end())
    if (connection.dialed.pid !== undefined) this.#predecessor = left
    return left
  }

  #stop(connection: ServerConnection): Promise<void> {
    return this.#ending(connection, connection.stop())
  }

  #ending(connection: ServerConnection, ended: Promise<void>): Promise<void> {
    const left = ended.finally(() => void this.#leaving.delete(connection))
    this.#leaving.set(connection, left)
    return left
  }

  #startIfWanted(): void {
    const { restarts } = this.#context
    if (!this.#isWanted) return
    if (restarts.isHeld) this.#wait(restarts.waitMs)
    else void this.#start()
  }

  /** The caller may ignore the result, because waiting calls get the error of the start. */
  #start(): Promise<ServerConnection> {
    const made = new Promise<never>(() => {})
    const attempt: Attempt = { kind: 'starting', lease: undefined, connection: undefined, made }
    this.#to(attempt)
    attempt.made = this.#attempt(attempt)
    attempt.made.catch(() => {})
    return attempt.made
  }

  async #attempt(attempt: Attempt): Promise<ServerConnection> {
    const { restarts, runtime, times } = this.#context
    let startedAt: number | undefined
    try {
      await within(this.#predecessor, times.timeoutMs / PREDECESSOR_SHARE, runtime)
      await this.#admitted(attempt)
      for (let { trial } = restarts; trial !== undefined; trial = restarts.trial) {
        attempt.lease?.release()
        await trial
        await this.#admitted(attempt)
      }
      // The breaker may have opened while this start waited.
      if (restarts.isHeld) throw this.#down('unavailable', 'is down')
      startedAt = restarts.begin()
      // A server that has ended on `server/discover` is started once more, without the question.
      let connection = await this.#opened(attempt)
      if (connection === undefined) {
        await this.#admitted(attempt)
        connection = await this.#opened(attempt)
      }
      this.#expect(attempt)
      if (connection === undefined) throw this.#down('closed', 'ends after every start')
      if (!connection.isOpen) throw connection.failure
      this.#to({ kind: 'ready', connection, startedAt, readyAt: runtime.now() })
      restarts.succeeded(startedAt)
      this.#failure = undefined
      if (this.waitingCall !== undefined) connection.firstQuestions?.askHeld()
      this.takeTurn()
      return connection
    } catch (error) {
      if (attempt.connection !== undefined) void this.#stop(attempt.connection)
      else attempt.lease?.release()
      const failure = asUpstreamError(this.#context.service, error)
      this.#ended(attempt, startedAt, failure)
      throw failure
    }
  }

  /** Gets a place, which only a new process needs. @throws UpstreamError if there is none */
  async #admitted(attempt: Attempt): Promise<void> {
    const { gate, hasAdopted, memory, installs, isRemote, service: server } = this.#context
    attempt.lease = undefined
    this.#expect(attempt)
    if (hasAdopted() || isRemote) return
    attempt.lease = await gate.enter({
      server,
      installs: installs === true && memory.kept?.description === undefined,
      isWanted: () => this.#state === attempt,
      isCalled: () => this.#state === attempt && (this.#hasCalls || this.#lane.isCalled),
      isShared: !this.#scope.startsOnCall,
      idleSince: () => (attempt.connection === this.connection ? this.#idleSince : undefined),
      vacate: () => this.#leave(attempt),
    })
    this.#expect(attempt)
  }

  async #opened(attempt: Attempt): Promise<ServerConnection | undefined> {
    const { lease } = attempt
    const dialed = await this.#context.connect()
    void dialed.ended?.then(() => lease?.release())
    const connection = new ServerConnection(dialed, this.#context, this.#lane, this)
    attempt.connection = connection
    this.#expect(attempt)
    try {
      await this.#open(connection, lease)
      return connection
    } catch (error) {
      if (!connection.endedOnProbe) throw error
      const how = `${connection.failure.message} when it was asked for its protocol version`
      this.#context.tell('debug', `${how}; starting it again without that request`)
      await this.#stop(connection)
      attempt.connection = undefined
      this.#expect(attempt)
      return undefined
    }
  }

  /** @throws UpstreamError if the worker has left this attempt */
  #expect(attempt: Attempt): void {
    if (this.#state !== attempt) throw this.#down('shutting-down', 'is stopped')
  }

  #ended(attempt: Attempt, startedAt: number | undefined, failure: UpstreamError): void {
    const { limits, restarts } = this.#context
    const isOver = this.#state !== attempt
    const isTried = !isOver && startedAt !== undefined && failure.reason !== 'overloaded'
    const opens = startedAt !== undefined && restarts.failed(startedAt, isTried ? failure : undefined)
    if (isOver) return
    this.#failure = failure.reason === 'unavailable' ? (restarts.failure ?? failure) : failure
    if (failure.reason === 'login-required') this.#awaitLogin(failure)
    else {
      if (isTried || failure.reason === 'overloaded') this.#context.tell('error', failure.message)
      // Without room for another process, the server has not failed.
      if (failure.reason === 'overloaded') this.#wait(limits.restart.delayMsMax)
      else this.#crashed(opens)
    }
    this.#failWaiting(failure)
  }

  /** Handles a crash of this process, or of the process whose start tried the server for all. */
  #crashed(opens: boolean): void {
    const { limits, restart, restarts } = this.#context
    this.#hasCrashed = true
    if (opens) {
      const seconds = Math.round(limits.restart.holdMs / 1000)
      this.#context.tell('error', `it keeps crashing: no start for ${seconds} s`)
    }
    this.#wait(restart ? restarts.waitMs : undefined)
  }

  /** Waits for a login of a person. The server has not crashed, and the login starts it again. */
  #awaitLogin({ message }: UpstreamError): void {
    const logins = this.#context.logins?.()
    if (!this.#context.restarts.isLoginLogged) this.#context.tell('warn', message)
    this.#context.restarts.isLoginLogged = true
    if (this.#hasCalls) logins?.ask()
    this.#lane.lists.showLoginTool()
    // This includes the process of one client, which sees nothing of the server before the login.
    this.#to({ kind: 'waiting', timer: logins?.onChange(() => this.#retry()) })
  }

  #wait(delayMs: number | undefined): void {
    const isTimed = delayMs !== undefined && this.#isWanted
    const timer = isTimed ? this.#context.runtime.setTimer(delayMs, () => this.#retry()) : undefined
    this.#to({ kind: 'waiting', timer })
  }

  #retry(): void {
    const { restarts } = this.#context
    // A crash of another process may have extended the delay.
    if (restarts.waitMs > 0) this.#wait(restarts.waitMs)
    else void this.#start()
  }

  get #isWanted(): boolean {
    return this.#isWantedUncalled || this.#hasCalls
  }

  get #isWantedUncalled(): boolean {
    return !this.#scope.startsOnCall || this.#lane.clients.hasFollowers
  }

  get #hasCalls(): boolean {
    return this.#waiting.size > 0
  }

  /** @throws UpstreamError */
  async #open(connection: ServerConnection, lease: Lease | undefined): Promise<void> {
    const { client, declared, opening } = this.#scope
    const { lists } = this.#lane
    const about = { client, restarts: this.#starts++, hasClientLeft: () => this.#lane.isClosed }
    const report = new ProcessReport(this.#context, connection, about)
    try {
      const server = await connection.start(declared, opening)
      this.#connected(connection.isStateless)
      this.#lane.opened(connection, server, this.#isFirst)
      void lists.firstReads.then(() => {
        report.ready(server, lists)
        this.#context.gate.changed()
      })
    } catch (error) {
      report.failed(error)
      throw error
    } finally {
      lease?.installed()
    }
  }

  /** Calls to a server without sessions need not run one at a time, because it sends no requests. */
  #connected(isStateless: boolean): void {
    if (this.#slots.taken + this.#askable.taken === 0) this.#isApart = this.#canBeApart && !isStateless
    this.#usedAt = this.#context.runtime.now()
    this.#watchIdle()
  }

  #to(state: State): void {
    if ('timer' in this.#state) this.#state.timer?.cancel()
    this.#state = state
  }

  #down(reason: FailureReason, what: string): UpstreamError {
    const failure = this.#failure ?? this.#context.restarts.failure
    if (failure !== undefined && isAboutCredentials(failure.reason)) return failure
    const why = failure === undefined ? '' : `: ${failure.message}`
    return thatServer(this.#context.service, reason, `${what}${why}`)
  }
}
