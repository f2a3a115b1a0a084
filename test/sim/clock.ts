// Simulated time. It passes when nothing else is left to do.

import type { Timer } from '../../src/runtime/runtime.js'

/** After the proxy has closed, no timers of `proxy` may remain. */
type TimerOwner = 'proxy' | 'world'

type Due = { readonly at: number; readonly owner: TimerOwner; fire: (() => void) | undefined }

export class Clock {
  /** In reverse order. Timers of one moment fire in the order in which they were set. */
  readonly #timers: Due[] = []
  readonly #pending = { proxy: 0, world: 0 }
  #now = 10_000

  get now(): number {
    return this.#now
  }

  /** Timers that have neither fired nor been cancelled. */
  pending(owner: TimerOwner): number {
    return this.#pending[owner]
  }

  after(delayMs: number, fire: () => void, owner: TimerOwner = 'world'): Timer {
    const timer: Due = { at: this.#now + Math.max(0, delayMs), owner, fire }
    this.#pending[owner]++
    let [from, to] = [0, this.#timers.length]
    while (from < to) {
      const middle = (from + to) >> 1
      if ((this.#timers[middle]?.at ?? 0) > timer.at) from = middle + 1
      else to = middle
    }
    this.#timers.splice(from, 0, timer)
    return { cancel: () => this.#forget(timer) }
  }

  /** Advances to the next timer and fires it. False when none is due by `until`. */
  step(until: number): boolean {
    for (;;) {
      const timer = this.#timers.at(-1)
      if (timer === undefined || timer.at > until) {
        this.#now = Math.max(this.#now, until)
        return false
      }
      this.#timers.pop()
      const { fire } = timer
      if (fire === undefined) continue
      this.#now = timer.at
      this.#forget(timer)
      fire()
      return true
    }
  }

  #forget(timer: Due): void {
    if (timer.fire === undefined) return
    timer.fire = undefined
    this.#pending[timer.owner]--
  }
}
