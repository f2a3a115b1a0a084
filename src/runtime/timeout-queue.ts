// Timeouts of one length, nearly all of which are cancelled.
//
// The wait that begins first ends first, so one timer for all of them is enough. A timer
// for each request would cost more than anything else that is done to answer it.
// When it fires late, the process was stopped, and no wait has missed anything yet
// (see `deadline.ts`).

import { type Clock, graceMs } from './deadline.js'

/** The owner of one timeout. */
export interface Waiting {
  /** The time has gone by. */
  waited(): void
}

/** One wait, in the order in which they began. */
class Wait {
  readonly waiting: Waiting
  readonly endsAtMs: number
  earlier: Wait | undefined
  later: Wait | undefined
  isOver = false

  constructor(waiting: Waiting, endsAtMs: number, earlier: Wait | undefined) {
    this.waiting = waiting
    this.endsAtMs = endsAtMs
    this.earlier = earlier
  }
}

export type { Wait }

/** Waits that last `lengthMs` each; who has them stops them. */
export class Waits {
  readonly #lengthMs: number
  readonly #clock: Clock
  #first: Wait | undefined
  #last: Wait | undefined
  /** Also while no wait is left: the next ones need it soon. */
  #timer: { cancel(): void } | undefined
  #isStopped = false

  constructor(lengthMs: number, clock: Clock) {
    this.#lengthMs = lengthMs
    this.#clock = clock
  }

  begin(waiting: Waiting): Wait {
    const endsAtMs = this.#clock.now() + this.#lengthMs
    const wait = new Wait(waiting, endsAtMs, this.#last)
    if (this.#last === undefined) this.#first = wait
    else this.#last.later = wait
    this.#last = wait
    if (this.#timer === undefined && !this.#isStopped) this.#lookAt(endsAtMs)
    return wait
  }

  get lengthMs(): number {
    return this.#lengthMs
  }

  /** Ends a wait without a word; one that is over stays so. */
  cancel(wait: Wait): void {
    if (wait.isOver) return
    wait.isOver = true
    if (wait.earlier === undefined) this.#first = wait.later
    else wait.earlier.later = wait.later
    if (wait.later === undefined) this.#last = wait.earlier
    else wait.later.earlier = wait.earlier
    // One that is over must not keep those that began after it.
    wait.earlier = undefined
    wait.later = undefined
  }

  /** Calls no callback any more. */
  stop(): void {
    this.#isStopped = true
    this.#timer?.cancel()
  }

  #lookAt(dueAtMs: number): void {
    const delayMs = Math.max(0, dueAtMs - this.#clock.now())
    this.#timer = this.#clock.setTimer(delayMs, () => {
      const nowMs = this.#clock.now()
      const putOffMs = graceMs(nowMs - dueAtMs)
      if (putOffMs === 0) this.#look(nowMs)
      else this.#timer = this.#clock.setTimer(putOffMs, () => this.#look(this.#clock.now()))
    })
  }

  /** A `waited` that throws ends this turn of the timer, and no wait behind it: those are looked at in the next. */
  #look(nowMs: number): void {
    try {
      for (let wait = this.#first; wait !== undefined && wait.endsAtMs <= nowMs; wait = this.#first) {
        this.cancel(wait)
        wait.waiting.waited()
      }
    } finally {
      this.#timer = undefined
      if (this.#first !== undefined && !this.#isStopped) this.#lookAt(this.#first.endsAtMs)
    }
  }
}
