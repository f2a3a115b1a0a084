// One process of a lane: its supervisor, its slots, and the calls it works on.

import type { Edit } from '../../jsonrpc/splice.js'
import type { Call, ClientPort } from '../../mcp/call.js'
import type { CallTimes } from '../../mcp/call-deadline.js'
import { CallQueue, QueueRoom } from '../../mcp/call-queue.js'
import { setDeadline } from '../../runtime/deadline.js'
import { callTimeout } from './call-timeout.js'
import { type UpstreamError, asUpstreamError, thatServer } from '../contracts/errors.js'
import type { Runtime, Timer } from '../../runtime/runtime.js'
import type { Link } from './link.js'
import type { IdleProcess } from './process-room.js'
import { Slots } from './slots.js'
import type { Supervisor } from './supervisor.js'

export interface MemberOptions {
  readonly runtime: Runtime
  readonly concurrency: number
  readonly queueMax: number
  readonly outgoingBytesMax: number
  readonly idleTimeoutMs: number | undefined
  /** From a call to its answer, waiting included; of calls whose tool has none of its own. */
  readonly times: CallTimes
  /** Whether nobody waits for what the server says by itself. */
  mayRest(): boolean
  /** Whether it is at something else than calls. */
  isAtWork(): boolean
  /** It had nothing to do for so long that it is stopped. */
  rested(): void
  /** Names this process as one that makes room for others, where it is; gives what takes that back. */
  offer(process: IdleProcess): (() => void) | undefined
  /** Calls during which the server may ask something run one at a time. */
  readonly oneAskable: boolean
}

/** A call, and what it is to be sent with. */
interface Forward {
  readonly call: Call
  readonly edits: readonly Edit[]
}

/** How often, in the time after which it is stopped, somebody looks whether a process is still needed. */
const IDLE_CHECKS = 4

/** Takes calls for one process. */
export class ServerInstance implements IdleProcess {
  readonly supervisor: Supervisor
  readonly #options: MemberOptions
  readonly #slots: Slots
  readonly #askable: Slots
  /** Calls that wait for the process itself, and those that wait for a slot. */
  readonly #arriving: CallQueue<Forward>
  readonly #queued: CallQueue<Forward>
  /** Somebody waits for the process, once for all that arrive. */
  #isOpening = false
  readonly #withdraw: (() => void) | undefined
  #usedAt = 0
  #idle: Timer | undefined

  constructor(supervisor: Supervisor, options: MemberOptions) {
    this.supervisor = supervisor
    this.#options = options
    const room = new QueueRoom(options.outgoingBytesMax)
    this.#arriving = new CallQueue(room, options.concurrency + options.queueMax)
    this.#queued = new CallQueue(room)
    this.#slots = new Slots(options.concurrency, options.queueMax)
    this.#withdraw = options.offer(this)
    // With one slot in all, whoever can be asked waits for it like everybody else.
    const isApart = options.oneAskable && options.concurrency > 1
    this.#askable = isApart ? new Slots(1, options.queueMax) : this.#slots
  }

  /** How many more askable calls this process could start at once; negative when some wait. */
  get room(): number {
    // One that keeps crashing fails calls at once, which makes it look free.
    if (this.supervisor.state === 'broken') return Number.NEGATIVE_INFINITY
    return this.#askable.room - this.#arriving.size
  }

  /** Whether no call runs or waits here. */
  get idle(): boolean {
    return this.#slots.idle && this.#askable.idle && this.#arriving.size === 0
  }

  /** Forwards a call as soon as the process is there and has a slot. */
  call(call: Call, edits: readonly Edit[]): void {
    const link = this.supervisor.link
    call.deadline.times = call.times ?? this.#options.times
    if (link !== undefined) return this.#enqueue(call, edits, link)
    if (!this.#arriving.hasRoom(call.bytes)) return call.fail(this.#overloaded('has too many calls waiting'))
    const patience = this.#patience(call)
    this.#arriving.add(call, { call, edits }, () => patience.cancel())
    if (!this.#isOpening) void this.#open()
  }

  get idleSince(): number | undefined {
    const isIdle = this.supervisor.link !== undefined && this.idle && !this.#options.isAtWork()
    return isIdle ? this.#usedAt : undefined
  }

  yield(): Promise<void> {
    this.#options.rested()
    return this.supervisor.rest()
  }

  /** Gives back the calls of a client that have not begun here, in the order in which they came. */
  release(client: ClientPort): Call[] {
    const released = [...this.#queued.release(client), ...this.#arriving.release(client)]
    return released.map(({ call }) => call)
  }

  /** A call has ended: its slot is free. */
  ended(call: Call): void {
    this.#slotsOf(call).free()
    this.opened()
  }

  /** Gives a call to the next link. */
  again(call: Call, edits: readonly Edit[], link: Link): void {
    this.supervisor.lost(link)
    this.call(call, edits)
  }

  /** The process is free from now on, and may rest before it has had a call. */
  opened(): void {
    this.#usedAt = this.#options.runtime.now()
    this.#watchIdle()
  }

  async close(): Promise<void> {
    this.#idle?.cancel()
    this.#withdraw?.()
    await this.supervisor.close()
  }

  async #open(): Promise<void> {
    this.#isOpening = true
    let pass = (call: Call, edits: readonly Edit[]): void => this.call(call, edits)
    try {
      await this.supervisor.ready()
    } catch (error) {
      const { body } = asUpstreamError(this.supervisor.service, error)
      pass = (call) => call.fail(body)
    }
    this.#isOpening = false
    for (const { call, edits } of this.#arriving.takeAll()) pass(call, edits)
  }

  #enqueue(call: Call, edits: readonly Edit[], link: Link): void {
    if (call.settled) return
    if (link.dialed.connection.backlogBytes > this.#options.outgoingBytesMax)
      return call.fail(this.#overloaded('reads too slowly'))
    const slots = this.#slotsOf(call)
    if (!slots.available) return this.#wait(call, edits, slots)
    slots.take()
    this.#send(call, edits, link)
  }

  #wait(call: Call, edits: readonly Edit[], slots: Slots): void {
    const start = (): boolean => {
      const next = this.#queued.take(queued)
      return next !== undefined && this.#start(next.call, next.edits)
    }
    const leave = this.#queued.hasRoom(call.bytes) ? slots.wait(start) : undefined
    if (leave === undefined) return call.fail(this.#overloaded('has too many calls waiting'))
    const patience = this.#patience(call)
    const queued = this.#queued.add(call, { call, edits }, () => {
      patience.cancel()
      leave()
    })
  }

  /** A call that waits has the same deadline as one that runs, and keeps it when its turn comes. */
  #patience(call: Call): Timer {
    const { runtime } = this.#options
    const { deadline } = call
    const expire = (): void => call.abandon(callTimeout(this.supervisor.service, call, 'no turn'))
    return setDeadline(runtime, deadline.endsAt - runtime.now(), expire, (to) => deadline.putOff(to))
  }

  /** The link may have gone while the call waited; what never left waits for the next one. */
  #start(call: Call, edits: readonly Edit[]): boolean {
    const { link } = this.supervisor
    if (link === undefined) this.call(call, edits)
    else this.#send(call, edits, link)
    return link !== undefined
  }

  #send(call: Call, edits: readonly Edit[], link: Link): void {
    link.inflight.call(call, edits)
  }

  #slotsOf(call: Call): Slots {
    return call.row.askable ? this.#askable : this.#slots
  }

  #overloaded(what: string): UpstreamError['body'] {
    return thatServer(this.supervisor.service, 'overloaded', what).body
  }

  #watchIdle(delayMs = this.#options.idleTimeoutMs): void {
    const { idleTimeoutMs, runtime } = this.#options
    if (idleTimeoutMs === undefined || delayMs === undefined || this.#idle !== undefined) return
    this.#idle = runtime.setTimer(delayMs, () => {
      this.#idle = undefined
      const leftMs = Math.ceil(idleTimeoutMs - (runtime.now() - this.#usedAt))
      const isFree = this.#slots.taken === 0 && this.#askable.taken === 0
      if (isFree && leftMs > 0) this.#watchIdle(leftMs)
      else if (isFree && this.#options.mayRest()) this.#rest()
      else this.#watchAgain(idleTimeoutMs)
    })
  }

  /** Somebody needs it now, and its time runs from then. */
  #watchAgain(idleTimeoutMs: number): void {
    this.#usedAt = this.#options.runtime.now()
    this.#watchIdle(Math.ceil(idleTimeoutMs / IDLE_CHECKS))
  }

  #rest(): void {
    this.#options.rested()
    void this.supervisor.rest()
  }
}
