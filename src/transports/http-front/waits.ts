// Waits of one length, nearly all of which are called off.
//
// What begins first ends first, so one timer for all of them is enough. A timer
// for each request would cost more than anything else that is done to answer it.

import type { HttpTimer, SetTimer } from './clock.js'

/** Whoever waits. */
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

/** Waits that last `lengthMs` each. */
export class Waits {
  readonly #lengthMs: number
  readonly #now: () => number
  readonly #setTimer: SetTimer
  #first: Wait | undefined
  #last: Wait | undefined
  /** Also while nobody waits any more: the next ones need it soon. */
  #timer: HttpTimer | undefined

  constructor(lengthMs: number, now: () => number, setTimer: SetTimer) {
    this.#lengthMs = lengthMs
    this.#now = now
    this.#setTimer = setTimer
  }

  begin(waiting: Waiting): Wait {
    const wait = new Wait(waiting, this.#now() + this.#lengthMs, this.#last)
    if (this.#last === undefined) this.#first = wait
    else this.#last.later = wait
    this.#last = wait
    this.#timer ??= this.#setTimer(this.#lengthMs, () => this.#look())
    return wait
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

  /** Nobody is told any more. */
  stop(): void {
    this.#timer?.cancel()
  }

  #look(): void {
    const nowMs = this.#now()
    for (let wait = this.#first; wait !== undefined && wait.endsAtMs <= nowMs; wait = this.#first) {
      this.cancel(wait)
      wait.waiting.waited()
    }
    const next = this.#first
    const leftMs = Math.max(1, (next?.endsAtMs ?? 0) - nowMs)
    this.#timer = next === undefined ? undefined : this.#setTimer(leftMs, () => this.#look())
  }
}
