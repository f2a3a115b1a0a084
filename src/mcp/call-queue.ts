// Where calls wait: for a process, for a slot, for the names of servers, for the
// answer to `initialize`.
//
// A call waits in one queue at a time. Whoever cancels it makes room at once.

import type { Call, CallHolder, ClientPort } from './call.js'

/** The bytes that may wait, in one queue or in several together. */
export class QueueRoom {
  readonly #bytesMax: number
  #bytes = 0

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax
  }

  /** One message alone may be as long as it is. */
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

/** What waits, until its turn has come or nobody wants it any more; holds nothing afterwards. */
export interface Held<T> {
  readonly value: T
  /** Undefined for an answer that waits its turn. */
  readonly call: Call | undefined
  readonly bytes: number
  /** Called once, when the wait is over for whatever reason. */
  readonly ended: (() => void) | undefined
}

/** One place in a queue. */
export class Queued<T> implements CallHolder {
  readonly #queue: CallQueue<T>
  /** Its queue sets it to undefined once the wait is over. */
  held: Held<T> | undefined

  constructor(queue: CallQueue<T>, held: Held<T>) {
    this.#queue = queue
    this.held = held
  }

  cancel(): void {
    this.#queue.take(this)
  }
}

/** Calls that wait for one thing, in the order in which they came. */
export class CallQueue<T> {
  readonly #room: QueueRoom
  readonly #sizeMax: number
  readonly #waiting = new Set<Queued<T>>()

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

  /** A call waits; `ended` is called once, when that is over for whatever reason. */
  add(call: Call, value: T, ended?: () => void): Queued<T> {
    call.keep()
    const queued = this.#add({ value, call, bytes: call.bytes, ended })
    call.passTo(queued)
    return queued
  }

  /** An answer waits behind the calls before it. */
  addAnswer(bytes: number, value: T): void {
    this.#add({ value, call: undefined, bytes, ended: undefined })
  }

  /** The turn has come: gives what waited, unless it waits no more. */
  take(queued: Queued<T>): T | undefined {
    const { held } = queued
    if (held === undefined) return undefined
    queued.held = undefined
    this.#waiting.delete(queued)
    this.#room.free(held.bytes)
    held.ended?.()
    return held.call?.settled === true ? undefined : held.value
  }

  /** Takes what is of these calls; one that comes back from a connection that has ended goes before those that came after it. */
  takeAll(isWanted: (call: Call) => boolean = () => true): T[] {
    const wanted = [...this.#waiting].flatMap((queued) => {
      const call = queued.held?.call
      return call !== undefined && isWanted(call) ? [{ queued, call }] : []
    })
    const inOrder = wanted.sort(({ call: one }, { call: other }) => {
      return one.deadline.arrivedAt - other.deadline.arrivedAt || other.repeats - one.repeats
    })
    return inOrder.flatMap(({ queued }) => this.take(queued) ?? [])
  }

  /** Takes what waits for this client. */
  release(client: ClientPort): T[] {
    return this.takeAll((call) => call.client === client)
  }

  #add(held: Held<T>): Queued<T> {
    const queued = new Queued(this, held)
    this.#waiting.add(queued)
    this.#room.take(held.bytes)
    return queued
  }
}
