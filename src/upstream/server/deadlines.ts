// The one timer that limits all calls in flight on a connection.

import type { Call } from '../../mcp/call.js'
import { graceMs } from '../../runtime/deadline.js'
import type { Runtime, Timer } from '../../runtime/runtime.js'
import type { InflightCall } from './calls.js'

/**
 * The deadlines of all calls in flight on one connection.
 *
 * Nearly every call is answered in time, so none has a timer of its own: one is
 * set for the earliest deadline that was known when it was set, and looks again.
 */
export class Deadlines {
  readonly #runtime: Pick<Runtime, 'now' | 'setTimer'>
  readonly #flights: () => Iterable<InflightCall>
  readonly #expire: (flight: InflightCall) => void
  #timer: Timer | undefined
  /**
   * The time of the next timer. Only a call with an earlier deadline sets the timer anew; the timer finds the others.
   */
  looksAt: number = Infinity

  constructor(
    runtime: Pick<Runtime, 'now' | 'setTimer'>,
    flights: () => Iterable<InflightCall>,
    expire: (flight: InflightCall) => void,
  ) {
    this.#runtime = runtime
    this.#flights = flights
    this.#expire = expire
  }

  get now(): number {
    return this.#runtime.now()
  }

  /** A call starts now, and its time has run since it came; false when that was over before. */
  start({ deadline: { endsAt } }: Call): boolean {
    this.#lookAt(endsAt)
    return endsAt >= this.looksAt
  }

  /** The server is at work. */
  extend({ call }: InflightCall): void {
    call.deadline.extend(this.#runtime.now())
  }

  /** The time of these calls stands still until the result is called. */
  pause(flights: readonly InflightCall[]): () => void {
    const now = this.#runtime.now()
    const paused = [...flights]
    for (const flight of paused) flight.call.deadline.pause(now)
    return () => {
      for (const flight of paused.splice(0)) this.#resume(flight)
    }
  }

  /** A call has ended; questions about it may still be open. */
  end({ call }: InflightCall): void {
    call.deadline.goOn(this.#runtime.now())
  }

  stop(): void {
    this.#timer?.cancel()
    this.looksAt = Infinity
  }

  #resume({ call, ended }: InflightCall): void {
    if (ended) return
    call.deadline.resume(this.#runtime.now())
    this.#lookAt(call.deadline.endsAt)
  }

  #lookAt(deadline: number): void {
    if (deadline >= this.looksAt) return
    this.#timer?.cancel()
    const now = this.#runtime.now()
    this.looksAt = Math.max(now, deadline)
    this.#timer = this.#runtime.setTimer(this.looksAt - now, () => this.#look())
  }

  #look(): void {
    const now = this.#runtime.now()
    const grace = graceMs(now - this.looksAt)
    this.looksAt = Infinity
    let earliest = Infinity
    for (const flight of this.#flights()) {
      const { deadline } = flight.call
      if (deadline.endsAt <= now && grace > flight.graceMs) {
        flight.graceMs = grace
        deadline.putOff(now + grace)
      }
      if (deadline.endsAt <= now) this.#expire(flight)
      if (!flight.ended) earliest = Math.min(earliest, deadline.endsAt)
    }
    if (earliest !== Infinity) this.#lookAt(earliest)
  }
}
