// Time that passes only when it is told to.

import type { Timer } from '../../../src/runtime/runtime.js'

interface Pending {
  readonly at: number
  readonly fire: () => void
}

/** A clock and its timers; the time of day is the same in milliseconds since 1970. */
export class HandClock {
  time = 1_000_000_000_000
  readonly #pending = new Set<Pending>()

  now(): number {
    return this.time
  }

  wallNow(): number {
    return this.time
  }

  setTimer(delayMs: number, fire: () => void): Timer {
    const pending = { at: this.time + delayMs, fire }
    this.#pending.add(pending)
    return { cancel: () => void this.#pending.delete(pending) }
  }

  get timers(): number {
    return this.#pending.size
  }

  /** Lets time pass, and what was begun come to its end. */
  async pass(ms: number): Promise<void> {
    const until = this.time + ms
    for (;;) {
      const [next] = [...this.#pending]
        .filter(({ at }) => at <= until)
        .sort((one, other) => one.at - other.at)
      if (next === undefined) break
      this.#pending.delete(next)
      this.time = next.at
      next.fire()
      await settled()
    }
    this.time = until
  }
}

/** Resolves when no promise has anything left to do. */
function settled(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}
