// Queues of calls, which wait for a process, for a slot, for the names of servers, or for the
// answer to `initialize`.
//
// A call waits in one queue at a time. A cancelled call leaves its queue.

import type { Call, CallHolder, ClientPort } from './call.js'

/** The bytes that may wait, in one queue or in several together. */
export class QueueRoom {
  readonly #bytesMax: number
  #bytes = 0

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax
  }

  /** A single message has no limit. */
  has(bytes: number): boolean {
    return this.#bytes === 0 || this.#bytes + bytes <= this.#bytesMax
  }

  take(bytes: number): void {
    this.#bytes += bytes
  }

  free(bytes: number): void {
    this.#bytes -= bytes
  }
}

/** One place in a queue, until its turn has come or the call has ended. */
export class Queued<T> implements CallHolder {
  readonly #queue: CallQueue<T>
  readonly value: T
  /** Undefined for an answer that waits its turn. */
  readonly call: Call | undefined
  readonly bytes: number
  /** Called once, when the wait is over for any reason. */
  readonly ended: (() => void) | undefined

  constructor(queue: CallQueue<T>, value: T, call: Call | undefined, bytes: number, ended?: () => void) {
    this.#queue = queue
    this.value = value
    this.call = call
    this.bytes = bytes
    this.ended = ended
  }

  cancel(): void {
    this.#queue.take(this)
  }
}

/** Calls that wait for one thing, in the order in which they came to the proxy. */
export class CallQueue<T> {
  readonly #room: QueueRoom
  readonly #sizeMax: number
  /** One that comes back from elsewhere has its place before those that came to the proxy after it. */
  readonly #waiting = new Set<Queued<T>>()
  /** No call that was added came later. */
  #latestAt = -Infinity

  constructor(room: QueueRoom, sizeMax: number = Infinity) {
    this.#room = room
    this.#sizeMax = sizeMax
  }

  get size(): number {
    return this.#waiting.size
  }

  get isFull(): boolean {
    return this.size >= this.#sizeMax
  }

  /** Whether so many bytes may wait here. */
  hasRoom(bytes: number): boolean {
    return !this.isFull && this.#room.has(bytes)
  }

  *[Symbol.iterator](): IterableIterator<Queued<T>> {
    yield* this.#waiting
  }

  /** Adds a call; `ended` is called once, when its wait is over for any reason. */
  add(call: Call, value: T, ended?: () => void): Queued<T> {
    call.keep()
    const queued = this.#add(new Queued(this, value, call, call.bytes, ended))
    call.holder = queued
    return queued
  }

  /** An answer waits behind the calls before it. */
  addAnswer(bytes: number, value: T): void {
    this.#add(new Queued(this, value, undefined, bytes))
  }

  /** The turn has come: gives what waited, unless it waits no more. */
  take(queued: Queued<T>): T | undefined {
    if (!this.#waiting.delete(queued)) return undefined
    this.#room.free(queued.bytes)
    queued.ended?.()
    return queued.call?.settled === true ? undefined : queued.value
  }

  /** Takes what is of these calls. */
  takeAll(isWanted: (call: Call) => boolean = () => true): T[] {
    const wanted = [...this.#waiting].filter(({ call }) => call !== undefined && isWanted(call))
    return wanted.flatMap((queued) => this.take(queued) ?? [])
  }

  /** Takes what waits for this client. */
  release(client: ClientPort): T[] {
    return this.takeAll((call) => call.client === client)
  }

  #add(queued: Queued<T>): Queued<T> {
    const later = this.#laterThan(queued.call)
    for (const each of later) this.#waiting.delete(each)
    this.#waiting.add(queued)
    for (const each of later) this.#waiting.add(each)
    this.#room.take(queued.bytes)
    return queued
  }

  /** Nearly every call is added last, which is known without a look at the others. */
  #laterThan(call: Call | undefined): Queued<T>[] {
    if (call === undefined) return []
    const { arrivedAt } = call.deadline
    const isLast = arrivedAt > this.#latestAt
    if (isLast) this.#latestAt = arrivedAt
    return isLast
      ? []
      : [...this.#waiting].filter((other) => other.call !== undefined && isBefore(call, other.call))
  }
}

function isBefore(call: Call, other: Call): boolean {
  const aheadMs = other.deadline.arrivedAt - call.deadline.arrivedAt
  return aheadMs > 0 || (aheadMs === 0 && call.client === other.client && call.serial < other.serial)
}
