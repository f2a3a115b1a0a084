// Events that a client may ask for again with `Last-Event-ID`.
//
// A store belongs to one session, so that no id of one session finds an event of
// another. It is bounded in events, bytes and age, and all stores together in
// bytes; what falls out can no longer be resumed, and a client that asks for it
// is told so.

import type { Buffer } from 'node:buffer'
import type { Clock } from '../../runtime/deadline.js'
import type { EventLimits } from './limits.js'

/** The size of all stores of a front together. */
export class EventBudget {
  readonly #bytesMax: number
  #bytes = 0

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax
  }

  get bytes(): number {
    return this.#bytes
  }

  fits(bytes: number): boolean {
    return this.#bytes + bytes <= this.#bytesMax
  }

  add(bytes: number): void {
    this.#bytes += bytes
  }
}

interface StoredEvent {
  readonly stream: number
  readonly number: number
  /** As it is written on the stream; in memory of its own. */
  readonly bytes: Buffer
  readonly atMs: number
}

/** The latest events of one session, oldest first. */
export class EventStore {
  readonly #limits: EventLimits
  readonly #budget: EventBudget
  readonly #clock: Pick<Clock, 'now'>
  /** Made for the first event: where answers come at once there is none. */
  #events: Set<StoredEvent> | undefined
  #bytes = 0

  constructor(limits: EventLimits, budget: EventBudget, clock: Pick<Clock, 'now'>) {
    this.#limits = limits
    this.#budget = budget
    this.#clock = clock
  }

  /** Keeps event `number` of a stream, unless it is larger than everything that may be kept. */
  add(stream: number, number: number, bytes: Buffer): void {
    this.#makeRoom(bytes.length)
    if (!this.#hasRoom(bytes.length)) return
    this.#events ??= new Set()
    this.#events.add({ stream, number, bytes, atMs: this.#clock.now() })
    this.#count(bytes.length)
  }

  /** Whether an event of this size is ever kept. */
  takes(bytes: number): boolean {
    return bytes <= this.#limits.bytesMax
  }

  /** What is still there of a stream after event number `after`, in order. */
  after(stream: number, after: number): Buffer[] {
    const found: Buffer[] = []
    for (const event of this.#events ?? [])
      if (event.stream === stream && event.number > after) found.push(event.bytes)
    return found
  }

  /** Drops what is too old to be asked for. */
  sweep(): void {
    const oldestMs = this.#clock.now() - this.#limits.ageMsMax
    for (const event of this.#events ?? []) {
      if (event.atMs >= oldestMs) return
      this.#drop(event)
    }
  }

  clear(): void {
    for (const event of this.#events ?? []) this.#drop(event)
  }

  #makeRoom(bytes: number): void {
    if (!this.takes(bytes)) return
    for (const event of this.#events ?? []) {
      if (this.#hasRoom(bytes)) return
      this.#drop(event)
    }
  }

  #hasRoom(bytes: number): boolean {
    const { eventsMax, bytesMax } = this.#limits
    const events = this.#events?.size ?? 0
    return events < eventsMax && this.#bytes + bytes <= bytesMax && this.#budget.fits(bytes)
  }

  #drop(event: StoredEvent): void {
    this.#events?.delete(event)
    this.#count(-event.bytes.length)
  }

  #count(bytes: number): void {
    this.#bytes += bytes
    this.#budget.add(bytes)
  }
}
