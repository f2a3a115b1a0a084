// One call on its way to a server and back, and the one timer that limits them all.

import type { RequestId } from '../../jsonrpc/request-id.js'
import type { Edit } from '../../jsonrpc/splice.js'
import type { Call, CallTimes } from '../../mcp/call.js'
import { graceMs } from '../../runtime/deadline.js'
import type { Runtime, Timer } from '../../runtime/runtime.js'

/** What a link remembers of a call. */
export class InflightCall {
  readonly call: Call
  /** What it was to be sent with, should it have to be sent again. */
  readonly edits: readonly Edit[]
  /** When it has taken too long, unless there is progress. */
  deadline: number
  /** By how much the deadline was put off, since the proxy did not run. */
  graceMs = 0
  wasSent = false
  /** Which of the messages to this server it is, where they are counted. */
  nth: number | undefined
  /** The id that the server knows it by. */
  id: RequestId
  /** Nobody waits for it any more, and its slot is free. */
  ended = false
  /** Raw JSON of the progress token that the server was given. */
  token: string | undefined

  constructor(call: Call, edits: readonly Edit[], deadline: number) {
    this.call = call
    this.edits = edits
    this.id = call.frame.id
    this.deadline = deadline
  }
}

export interface DeadlineOptions {
  readonly runtime: Runtime
  /** Of calls whose tool has no times of its own. */
  readonly times: CallTimes
}

/**
 * The deadlines of all flights of one link.
 *
 * Nearly every call is answered in time, so none has a timer of its own: one is
 * set for the earliest deadline that was known when it was set, and looks again.
 */
export class Deadlines {
  readonly #options: DeadlineOptions
  readonly #flights: () => Iterable<InflightCall>
  readonly #expire: (flight: InflightCall, budget: keyof CallTimes) => void
  #timer: Timer | undefined
  #looksAt = 0

  constructor(
    options: DeadlineOptions,
    flights: () => Iterable<InflightCall>,
    expire: (flight: InflightCall, budget: keyof CallTimes) => void,
  ) {
    this.#options = options
    this.#flights = flights
    this.#expire = expire
  }

  /** A flight that starts now; its time has run since the call came. */
  start(call: Call, edits: readonly Edit[]): InflightCall {
    const { timeoutMs, totalTimeoutMs } = call.times ?? this.#options.times
    const deadline = call.deadline ?? call.arrivedAt + Math.min(timeoutMs, totalTimeoutMs)
    if (this.#timer === undefined || deadline < this.#looksAt) this.#arm(deadline)
    return new InflightCall(call, edits, deadline)
  }

  /** Whether the time of a flight was over when it started. */
  isOver(flight: InflightCall): boolean {
    return flight.deadline < this.#looksAt && this.#timer !== undefined
  }

  /** Which of its times a flight that is over has used up. */
  budgetOf(flight: InflightCall): keyof CallTimes {
    return this.#budget(flight, this.#options.runtime.now())
  }

  /** The server is at work: the deadline moves, but never past the total. */
  extend(flight: InflightCall): void {
    const { runtime, times } = this.#options
    const { timeoutMs, totalTimeoutMs } = flight.call.times ?? times
    const end = flight.call.arrivedAt + totalTimeoutMs + flight.graceMs
    flight.deadline = Math.min(runtime.now() + timeoutMs, end)
  }

  stop(): void {
    this.#timer?.cancel()
    this.#timer = undefined
  }

  #arm(at: number): void {
    this.#timer?.cancel()
    const now = this.#options.runtime.now()
    this.#looksAt = Math.max(now, at)
    this.#timer = this.#options.runtime.setTimer(this.#looksAt - now, () => this.#look())
  }

  #look(): void {
    this.#timer = undefined
    const now = this.#options.runtime.now()
    const grace = graceMs(now - this.#looksAt)
    let earliest = Infinity
    for (const flight of this.#flights()) {
      if (flight.deadline <= now && grace > flight.graceMs) {
        flight.graceMs = grace
        flight.deadline = now + grace
      }
      if (flight.deadline <= now) this.#expire(flight, this.#budget(flight, now))
      else earliest = Math.min(earliest, flight.deadline)
    }
    if (earliest !== Infinity && this.#timer === undefined) this.#arm(earliest)
  }

  #budget({ call, graceMs: grace }: InflightCall, now: number): keyof CallTimes {
    const { totalTimeoutMs } = call.times ?? this.#options.times
    return now - call.arrivedAt >= totalTimeoutMs + grace ? 'totalTimeoutMs' : 'timeoutMs'
  }
}
