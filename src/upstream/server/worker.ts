// One process of a lane: its supervisor, its slots, and the calls it works on.

import type { Edit } from '../../jsonrpc/splice.js'
import type { Call, ClientPort } from '../../mcp/call.js'
import { CallQueue, QueueRoom } from '../../mcp/call-queue.js'
import { setDeadline } from '../../runtime/deadline.js'
import { callTimeout } from '../../mcp/call-failures.js'
import { asUpstreamError, thatServer } from '../contracts/errors.js'
import type { Timer } from '../../runtime/runtime.js'
import type { ServerGauges } from '../contracts/upstream.js'
import type { ServerContext } from './context.js'
import type { ServerConnection } from './connection.js'
import type { Inbox } from './inbox.js'
import { holdsProcess, type LaneScope } from './sharing.js'
import { Slots } from './slots.js'
import { Starter } from './starter.js'
import { Supervisor } from './supervisor.js'

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

/** Takes calls for one process. */
export class Worker {
  readonly supervisor: Supervisor
  readonly #context: ServerContext
  readonly #scope: LaneScope
  readonly #inbox: Inbox
  readonly #starter: Starter
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
    const { concurrency, idleTimeoutMs, limits, namesCalls } = context
    const { sharing, startsOnCall } = scope
    this.#starter = new Starter(context, scope, inbox, this, isFirst)
    this.supervisor = new Supervisor(context, this.#starter)
    this.#idleTimeoutMs = startsOnCall ? shortest(idleTimeoutMs, context.processIdleMs) : idleTimeoutMs
    const bytes = new QueueRoom(limits.outgoingBytesMax)
    this.#arriving = new CallQueue(bytes, concurrency + limits.queueMax)
    this.#queued = new CallQueue(bytes)
    this.#slots = new Slots(concurrency, limits.queueMax)
    // During a call of several clients a server may ask something: of such calls one runs at a time, unless the server says
    // which one it asks about. With one slot in all, they wait for it like everybody else.
    this.#isApart =
      concurrency > 1 && ((sharing === 'shared' && !namesCalls) || holdsProcess(scope, namesCalls))
    this.#askable = this.#isApart ? new Slots(1, limits.queueMax) : this.#slots
    this.#isOfSeveral = !namesCalls && (sharing === 'shared' || sharing === 'guest')
  }

  /** How many more askable calls this process could start immediately; negative when some wait. */
  get room(): number {
    // A server that keeps crashing fails calls immediately, which makes it look free.
    if (this.supervisor.state === 'broken') return Number.NEGATIVE_INFINITY
    return this.#askable.room - this.#arriving.size
  }

  get load(): Load {
    const all = [...new Set([this.#slots, this.#askable])]
    const { connection } = this.supervisor
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
    const { connection } = this.supervisor
    call.deadline.times = this.#context.times
    if (connection === undefined || connection.firstQuestions !== undefined)
      return this.#awaitConnection(call, edits)
    if (call.settled) return
    if (this.#isInDoubt(call, connection)) {
      const why = 'it may still ask for a call that another client has cancelled'
      this.supervisor.succeed(connection, why, this.#scope.sharing === 'shared')
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
    return this.#isOfSeveral && row.askable && connection.calls.about.mayAskOthers(client)
  }

  /** In monotonic milliseconds; undefined while the process is in use, or not there. */
  get idleSince(): number | undefined {
    const isIdle = this.supervisor.connection !== undefined && this.#isIdle && !this.#inbox.isAtWork
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
    if (taken === 0) this.#usedAt = this.#context.runtime.now()
    if (this.#idleTimeoutMs !== undefined && this.#idle === undefined) this.#watchIdle()
    if (call.row.askable) this.#onFree?.()
  }

  get waitingCall(): Call | undefined {
    for (const { value } of this.#arriving) if (value.call.row.askable) return value.call
    return undefined
  }

  async close(): Promise<void> {
    this.#idle?.cancel()
    this.#starter.close()
    await this.supervisor.close()
  }

  async #open(): Promise<void> {
    this.#isOpening = true
    let pass = (call: Call, edits: readonly Edit[]): void => this.call(call, edits)
    try {
      const connection = await this.supervisor.ready()
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
    if (call.row.askable) this.supervisor.connection?.firstQuestions?.askHeld()
    if (!this.#isOpening) void this.#open()
  }

  #awaitSlot(call: Call, edits: readonly Edit[], slots: Slots): void {
    const start = (): boolean => {
      const next = this.#queued.take(queued)
      return next !== undefined && this.#start(next.call, next.edits)
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
    const { runtime, service } = this.#context
    const { deadline } = call
    const wait = (): Timer =>
      setDeadline(runtime, deadline.endsAt - runtime.now(), expire, (to) => deadline.putOff(to))
    const expire = (): void => {
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
  #start(call: Call, edits: readonly Edit[]): boolean {
    const { connection } = this.supervisor
    const isTaken = connection !== undefined && !this.#isInDoubt(call, connection)
    if (isTaken) connection.calls.send(call, edits)
    else this.call(call, edits)
    return isTaken
  }

  #refuse(call: Call, what: string): void {
    call.fail(thatServer(this.#context.service, 'overloaded', what).body)
  }

  /** The process takes calls from now on, and may rest before it has had one. */
  onOpened(isTyped: boolean): void {
    // A server without sessions sends no requests, so its calls need not run one at a time.
    if (this.#isApart && this.#slots.idle && this.#askable.idle)
      this.#askable = isTyped ? this.#slots : new Slots(1, this.#context.limits.queueMax)
    this.#usedAt = this.#context.runtime.now()
    this.#watchIdle()
  }

  /** Another process needs the place of this one, which was idle a moment ago. */
  onLeaseLost(connection: ServerConnection): void {
    if (connection !== this.supervisor.connection) return
    if (this.#isIdle) void this.#rest()
    else this.supervisor.succeed(connection, 'another process needs its place', true)
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
      else if (isFree && !this.#inbox.isNeeded) void this.#rest()
      else this.#watchAgain(idleTimeoutMs)
    })
  }

  /** The process is needed now, so its idle time begins anew. */
  #watchAgain(idleTimeoutMs: number): void {
    this.#usedAt = this.#context.runtime.now()
    this.#watchIdle(Math.ceil(idleTimeoutMs / IDLE_CHECKS))
  }

  /** It had nothing to do for long, or others need its place. */
  #rest(): Promise<void> {
    const { log, service } = this.#context
    const message = "a client's process is stopped while the client is idle; its next call starts it again"
    if (this.#scope.startsOnCall) log({ level: 'info', service, message })
    return this.supervisor.rest()
  }
}

/** Of two times, either of which may be for ever. */
function shortest(one: number | undefined, other: number | undefined): number | undefined {
  return one === undefined || other === undefined ? (one ?? other) : Math.min(one, other)
}
