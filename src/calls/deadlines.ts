// The one timer for the deadlines of all calls that a connection or a queue holds.
//
// Nearly every call is answered in time, so none has a timer of its own: one is set for the earliest deadline that was known
// when it was set, and looks again.

import { type Clock, graceMs } from '../runtime/deadline.js'
import type { Timer } from '../runtime/runtime.js'
import type { Call } from './call.js'

export class Deadlines {
  readonly #clock: Clock
  readonly #calls: () => Iterable<Call>
  readonly #expire: (call: Call) => void
  #timer: Timer | undefined
  /** The time of the next look. Only a call with an earlier deadline sets the timer anew; the look finds the others. */
  #looksAt = Infinity

  /** `expire` is called when the time of one of `calls` is over, and again where that has moved the deadline. */
  constructor(clock: Clock, calls: () => Iterable<Call>, expire: (call: Call) => void) {
    this.#clock = clock
    this.#calls = calls
    this.#expire = expire
  }

  /** A call has come, or its deadline is another one. */
  watch({ deadline: { endsAt } }: Call): void {
    if (endsAt < this.#looksAt) this.#lookAt(endsAt)
  }

  stop(): void {
    this.#timer?.cancel()
    this.#looksAt = Infinity
  }

  #lookAt(endsAt: number): void {
    this.#timer?.cancel()
    const now = this.#clock.now()
    this.#looksAt = Math.max(now, endsAt)
    this.#timer = this.#clock.setTimer(this.#looksAt - now, () => this.#look())
  }

  #look(): void {
    const now = this.#clock.now()
    const lateMs = graceMs(now - this.#looksAt)
    this.#looksAt = Infinity
    for (const call of this.#calls()) if (call.deadline.isOver(now, lateMs)) this.#expire(call)
    for (const call of this.#calls()) this.watch(call)
  }
}
