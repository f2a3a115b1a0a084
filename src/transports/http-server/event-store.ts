// Events that a client may ask for again with `Last-Event-ID`.
//
// A store belongs to one session, so that no id of one session finds an event of
// another. It is bounded in events, bytes and age, and all stores together in
// bytes; a client that asks for an event that was dropped gets an
// error.

import { Buffer } from 'node:buffer'
import { lengthOf } from '../../jsonrpc/line.js'
import type { Clock } from '../../runtime/deadline.js'
import type { HttpServerLimits } from './limits.js'
import type { SseEvent } from './sse-writer.js'

/** The size of all stores of a front together. */
export interface EventBudget {
  bytes: number
}

interface StoredEvent {
  readonly stream: number
  readonly number: number
  /** A copy of the bytes on the stream. */
  readonly bytes: Buffer
  readonly atMs: number
}

/** The latest events of one session, oldest first. */
export class EventStore {
  readonly #limits: HttpServerLimits['events']
  readonly #budget: EventBudget
  readonly #clock: Pick<Clock, 'now'>
  /** Made for the first event: immediate answers need none. */
  #events: Set<StoredEvent> | undefined
  #bytes = 0

  constructor(limits: HttpServerLimits['events'], budget: EventBudget, clock: Pick<Clock, 'now'>) {
    this.#limits = limits
    this.#budget = budget
    this.#clock = clock
  }

  /** Keeps event `number` of a stream, unless it is larger than everything that may be kept. */
  add(stream: number, number: number, event: SseEvent): void {
    const length = lengthOf(event)
    if (length > this.#limits.bytesMax) return
    for (const old of this.#events ?? []) {
      if (this.#hasRoom(length)) break
      this.#drop(old)
    }
    if (!this.#hasRoom(length)) return
    this.#events ??= new Set()
    this.#events.add({ stream, number, bytes: Buffer.concat(event, length), atMs: this.#clock.now() })
    this.#count(length)
  }

  /** The kept events of a stream after event number `after`, in order. */
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

  #hasRoom(bytes: number): boolean {
    const { eventsMax, bytesMax, totalBytesMax } = this.#limits
    const hasRoom = (this.#events?.size ?? 0) < eventsMax && this.#bytes + bytes <= bytesMax
    return hasRoom && this.#budget.bytes + bytes <= totalBytesMax
  }

  #drop(event: StoredEvent): void {
    this.#events?.delete(event)
    this.#count(-event.bytes.length)
  }

  #count(bytes: number): void {
    this.#bytes += bytes
    this.#budget.bytes += bytes
  }
}
