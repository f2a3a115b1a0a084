// A queue of calls, which wait for a process, for a slot, or for the names of servers.
//
// A call waits in one queue at a time. A cancelled call leaves its queue.

import { type Clock, setDeadline } from '../runtime/deadline.js'
import type { Call, CallHolder } from './call.js'

/** One call in a queue, until its turn has come or it has ended. */
interface Queued<T> extends CallHolder {
  readonly call: Call
  readonly value: T
  readonly bytes: number
  readonly onEnd: (() => void) | undefined
  /** Of its deadline. */
  timer: { cancel(): void } | undefined
}

/** Calls that wait for one thing, in the order in which they came to the proxy. */
export class CallQueue<T> {
  readonly #clock: Clock
  readonly #bytesMax: number
  #bytes = 0
  /** One that comes back from elsewhere has its place before those that came to the proxy after it. */
  readonly #waiting = new Set<Queued<T>>()
  /** No call that was added came later. */
  #latestAt = -Infinity

  constructor(clock: Clock, bytesMax: number) {
    this.#clock = clock
    this.#bytesMax = bytesMax
  }

  get size(): number {
    return this.#waiting.size
  }

  /** Whether a call of so many bytes may wait; a single one has no limit. */
  hasRoom(bytes: number): boolean {
    return this.#bytes === 0 || this.#bytes + bytes <= this.#bytesMax
  }

  *[Symbol.iterator](): IterableIterator<Queued<T>> {
    yield* this.#waiting
  }

  /**
   * Adds a call. `onExpire` is called when its deadline is over, and again where that has moved the deadline; without it
   * the call has no deadline here. `onEnd` is called once, when its wait is over for any reason.
   */
  add(call: Call, value: T, onExpire?: () => void, onEnd?: () => void): void {
    call.keep()
    const { bytes } = call
    const queued: Queued<T> = {
      call,
      value,
      bytes,
      onEnd,
      timer: undefined,
      cancel: () => {
        this.take(queued)
      },
    }
    const later = this.#laterThan(call)
    for (const each of later) this.#waiting.delete(each)
    this.#waiting.add(queued)
    for (const each of later) this.#waiting.add(each)
    this.#bytes += bytes
    call.holder = queued
    if (onExpire !== undefined) this.#watch(queued, onExpire)
  }

  /** The turn has come: gives what waited, unless it waits no more. */
  take(queued: Queued<T>): T | undefined {
    if (!this.#waiting.delete(queued)) return undefined
    this.#bytes -= queued.bytes
    queued.timer?.cancel()
    queued.onEnd?.()
    return queued.call.settled ? undefined : queued.value
  }

  /** Takes what is of these calls. */
  takeAll(isWanted: (call: Call) => boolean = () => true): T[] {
    const wanted = [...this.#waiting].filter(({ call }) => isWanted(call))
    return wanted.flatMap((queued) => this.take(queued) ?? [])
  }

  #watch(queued: Queued<T>, onExpire: () => void): void {
    const { deadline } = queued.call
    const expire = (): void => {
      onExpire()
      if (this.#waiting.has(queued)) this.#watch(queued, onExpire)
    }
    const leftMs = deadline.endsAt - this.#clock.now()
    queued.timer = setDeadline(this.#clock, leftMs, expire, (to) => deadline.putOff(to))
  }

  /** Nearly every call is added last, which is known without a look at the others. */
  #laterThan(call: Call): Queued<T>[] {
    const { arrivedAt } = call.deadline
    const isLast = arrivedAt > this.#latestAt
    if (isLast) this.#latestAt = arrivedAt
    return isLast ? [] : [...this.#waiting].filter((other) => isBefore(call, other.call))
  }
}

function isBefore(call: Call, other: Call): boolean {
  const aheadMs = other.deadline.arrivedAt - call.deadline.arrivedAt
  return aheadMs > 0 || (aheadMs === 0 && call.client === other.client && call.serial < other.serial)
}
