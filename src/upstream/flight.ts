// One call on its way to a server and back, and the one timer that limits them all.

import type { RequestId } from '../jsonrpc/request-id.js'
import type { Edit } from '../jsonrpc/splice.js'
import type { Call } from '../mcp/call.js'
import type { Runtime, Timer } from './host.js'

/** What a link remembers of a call. */
export class Flight {
  readonly call: Call
  /** What it was to be sent with, should it have to be sent again. */
  readonly edits: readonly Edit[]
  readonly startedAt: number
  /** When it has taken too long, unless there is progress. */
  deadline: number
  /** The id that the server knows it by. */
  id: RequestId
  /** Nobody waits for it any more, and its slot is free. */
  ended = false
  /** Raw JSON of the progress token that the server was given. */
  token: string | undefined

  constructor(call: Call, edits: readonly Edit[], startedAt: number, deadline: number) {
    this.call = call
    this.edits = edits
    this.id = call.frame.id
    this.startedAt = startedAt
    this.deadline = deadline
  }
}

export interface DeadlineOptions {
  readonly runtime: Runtime
  /** From a call to its answer, extended by progress. */
  readonly timeoutMs: number
  /** From a call to its answer, whatever its progress. */
  readonly totalTimeoutMs: number
}

/**
 * The deadlines of all flights of one link.
 *
 * Nearly every call is answered in time, so none has a timer of its own: one is
 * set for the earliest deadline that was known when it was set, and looks again.
 */
export class Deadlines {
  readonly #options: DeadlineOptions
  readonly #flights: () => Iterable<Flight>
  readonly #expire: (flight: Flight, why: string) => void
  #timer: Timer | undefined
  #looksAt = 0

  constructor(
    options: DeadlineOptions,
    flights: () => Iterable<Flight>,
    expire: (flight: Flight, why: string) => void,
  ) {
    this.#options = options
    this.#flights = flights
    this.#expire = expire
  }

  /** A flight that starts now. */
  start(call: Call, edits: readonly Edit[]): Flight {
    const { runtime, timeoutMs } = this.#options
    const now = runtime.now()
    const deadline = call.deadline ?? now + timeoutMs
    if (this.#timer === undefined || deadline < this.#looksAt) this.#arm(now, deadline)
    return new Flight(call, edits, now, deadline)
  }

  /** The server is at work: the deadline moves, but never past the total. */
  extend(flight: Flight): void {
    const { runtime, timeoutMs, totalTimeoutMs } = this.#options
    flight.deadline = Math.min(runtime.now() + timeoutMs, flight.startedAt + totalTimeoutMs)
  }

  stop(): void {
    this.#timer?.cancel()
    this.#timer = undefined
  }

  #arm(now: number, looksAt: number): void {
    this.#timer?.cancel()
    this.#looksAt = looksAt
    this.#timer = this.#options.runtime.setTimer(Math.max(0, looksAt - now), () => this.#look())
  }

  #look(): void {
    this.#timer = undefined
    const now = this.#options.runtime.now()
    let earliest = Infinity
    for (const flight of this.#flights()) {
      if (flight.deadline <= now) this.#expire(flight, this.#why(flight, now))
      else earliest = Math.min(earliest, flight.deadline)
    }
    if (earliest !== Infinity && this.#timer === undefined) this.#arm(now, earliest)
  }

  #why(flight: Flight, now: number): string {
    const { timeoutMs, totalTimeoutMs } = this.#options
    if (now - flight.startedAt >= totalTimeoutMs) return `no answer within the total of ${totalTimeoutMs} ms`
    return `no answer or progress within ${timeoutMs} ms`
  }
}
