// A queue of calls that wait for a process, for a slot, or for the names of servers.
//
// A call waits in one queue at a time. A cancelled call leaves its queue.

import type { NotificationFrame } from '../jsonrpc/frame.js'
import type { Clock } from '../runtime/deadline.js'
import type { Call, CallHolder } from './call.js'
import { Deadlines } from './call-deadline.js'

interface Waiting<T> {
  readonly value: T
  readonly onExpire: (() => void) | undefined
}

/** Calls that wait for one thing, in the order of their arrival at the proxy. */
export class CallQueue<T> implements CallHolder {
  readonly #deadlines: Deadlines
  readonly #bytesMax: number
  #bytes = 0
  /** A call that returns to a queue has its place before the calls that arrived after it. */
  readonly #waiting = new Map<Call, Waiting<T>>()
  /** The latest arrival of all calls that were added. */
  #latestAt = -Infinity

  constructor(clock: Clock, bytesMax: number) {
    const timed = (): Call[] =>
      [...this.#waiting].flatMap(([call, { onExpire }]) => (onExpire === undefined ? [] : [call]))
    this.#deadlines = new Deadlines(clock, timed, (call) => this.#waiting.get(call)?.onExpire?.())
    this.#bytesMax = bytesMax
  }

  get size(): number {
    return this.#waiting.size
  }

  /** Whether a call of this many bytes may wait. An empty queue accepts a call of any size. */
  hasRoom(bytes: number): boolean {
    return this.#bytes === 0 || this.#bytes + bytes <= this.#bytesMax
  }

  *[Symbol.iterator](): IterableIterator<[call: Call, value: T]> {
    for (const [call, { value }] of this.#waiting) yield [call, value]
  }

  /**
   * Adds a call. `onExpire` is called when the deadline is over, and again if `onExpire` has moved the
   * deadline. Without `onExpire` the call has no deadline here.
   */
  add(call: Call, value: T, onExpire?: () => void): void {
    call.keep()
    const later = this.#laterThan(call)
    for (const [each] of later) this.#waiting.delete(each)
    this.#waiting.set(call, { value, onExpire })
    for (const [each, other] of later) this.#waiting.set(each, other)
    this.#bytes += call.bytes
    call.holder = this
    if (onExpire !== undefined) this.#deadlines.watch(call)
  }

  /** Removes a call and returns its value; undefined if the call does not wait here, or is settled. */
  take(call: Call): T | undefined {
    const waiting = this.#waiting.get(call)
    if (waiting === undefined) return undefined
    this.#waiting.delete(call)
    this.#bytes -= call.bytes
    if (this.#waiting.size === 0) this.#deadlines.stop()
    return call.isSettled ? undefined : waiting.value
  }

  takeAll(isWanted: (call: Call) => boolean = () => true): T[] {
    const wanted = [...this.#waiting.keys()].filter(isWanted)
    return wanted.flatMap((call) => this.take(call) ?? [])
  }

  cancel(_frame: NotificationFrame | undefined, call: Call): void {
    this.take(call)
  }

  /** Nearly every call arrived last, so that the others are rarely compared. */
  #laterThan(call: Call): [Call, Waiting<T>][] {
    const { arrivedAt } = call.deadline
    const isLast = arrivedAt > this.#latestAt
    if (isLast) this.#latestAt = arrivedAt
    return isLast ? [] : [...this.#waiting].filter(([other]) => isBefore(call, other))
  }
}

function isBefore(call: Call, other: Call): boolean {
  const aheadMs = other.deadline.arrivedAt - call.deadline.arrivedAt
  return aheadMs > 0 || (aheadMs === 0 && call.client === other.client && call.serial < other.serial)
}
