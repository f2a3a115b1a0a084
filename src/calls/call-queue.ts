// A queue of calls, which wait for a process, for a slot, or for the names of servers.
//
// A call waits in one queue at a time. A cancelled call leaves its queue.

import type { NotificationFrame } from '../jsonrpc/frame.js'
import type { Clock } from '../runtime/deadline.js'
import type { Call, CallHolder } from './call.js'
import { Deadlines } from './call-deadline.js'

interface Waiting<T> {
  readonly value: T
  readonly bytes: number
  readonly onExpire: (() => void) | undefined
}

/** Calls that wait for one thing, in the order in which they came to the proxy. */
export class CallQueue<T> implements CallHolder {
  readonly #deadlines: Deadlines
  readonly #bytesMax: number
  #bytes = 0
  /** One that comes back from elsewhere has its place before those that came to the proxy after it. */
  readonly #waiting = new Map<Call, Waiting<T>>()
  /** No call that was added came later. */
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

  /** Whether a call of so many bytes may wait; a single one has no limit. */
  hasRoom(bytes: number): boolean {
    return this.#bytes === 0 || this.#bytes + bytes <= this.#bytesMax
  }

  *[Symbol.iterator](): IterableIterator<[call: Call, value: T]> {
    for (const [call, { value }] of this.#waiting) yield [call, value]
  }

  /**
   * Adds a call. `onExpire` is called when its deadline is over, and again where that has moved the deadline; without it
   * the call has no deadline here.
   */
  add(call: Call, value: T, onExpire?: () => void): void {
    call.keep()
    const { bytes } = call
    const later = this.#laterThan(call)
    for (const [each] of later) this.#waiting.delete(each)
    this.#waiting.set(call, { value, bytes, onExpire })
    for (const [each, other] of later) this.#waiting.set(each, other)
    this.#bytes += bytes
    call.holder = this
    if (onExpire !== undefined) this.#deadlines.watch(call)
  }

  /** The turn of a call has come: gives what waited, unless it waits no more. */
  take(call: Call): T | undefined {
    const waiting = this.#waiting.get(call)
    if (waiting === undefined) return undefined
    this.#waiting.delete(call)
    this.#bytes -= waiting.bytes
    if (this.#waiting.size === 0) this.#deadlines.stop()
    return call.settled ? undefined : waiting.value
  }

  takeAll(isWanted: (call: Call) => boolean = () => true): T[] {
    const wanted = [...this.#waiting.keys()].filter(isWanted)
    return wanted.flatMap((call) => this.take(call) ?? [])
  }

  cancel(_frame: NotificationFrame | undefined, call: Call): void {
    this.take(call)
  }

  /** Nearly every call is added last, which is known without a look at the others. */
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
