import type { Clock } from '../../../src/runtime/deadline.js'

interface Pending {
  readonly at: number
  readonly fire: () => void
}

/** Timers fire in the order of their times, each at its time. */
export class FakeClock implements Clock {
  #now = 0
  readonly #pending = new Set<Pending>()

  get timers(): number {
    return this.#pending.size
  }

  now(): number {
    return this.#now
  }

  setTimer(delayMs: number, fire: () => void): { cancel(): void } {
    const timer = { at: this.#now + delayMs, fire }
    this.#pending.add(timer)
    return { cancel: () => void this.#pending.delete(timer) }
  }

  isDue(withinMs: number): boolean {
    return this.#next(this.#now + withinMs) !== undefined
  }

  /** Time passes as in a running process. */
  advance(ms: number): this {
    const end = this.#now + ms
    for (let next = this.#next(end); next !== undefined; next = this.#next(end)) {
      this.#now = Math.max(this.#now, next.at)
      this.#fire(next)
    }
    this.#now = end
    return this
  }

  /** Time passes as in a stopped process: all due timers fire at the end. */
  stop(ms: number): this {
    this.#now += ms
    for (let next = this.#next(this.#now); next !== undefined; next = this.#next(this.#now)) this.#fire(next)
    return this
  }

  #fire(timer: Pending): void {
    this.#pending.delete(timer)
    timer.fire()
  }

  #next(end: number): Pending | undefined {
    const due = [...this.#pending].filter(({ at }) => at <= end)
    return due.toSorted((one, other) => one.at - other.at)[0]
  }
}
