// Notices that another process has logged in or out, while a server waits for that.

import type { Runtime, Timer } from '../runtime/runtime.js'

/** A person who has just logged in does not notice this delay. */
const LOOK_MS = 500

/** Looks as long as something waits, and no longer. */
export class LoginWatch {
  readonly #hasChanged: () => boolean
  readonly #runtime: Pick<Runtime, 'setTimer'>
  readonly #waiting = new Set<() => void>()
  #look: Timer | undefined

  constructor(hasChanged: () => boolean, runtime: Pick<Runtime, 'setTimer'>) {
    this.#hasChanged = hasChanged
    this.#runtime = runtime
  }

  /** Calls `wake` once, at the next change, unless it is cancelled before. */
  next(wake: () => void): Timer {
    const own = (): void => wake()
    this.#waiting.add(own)
    this.#look ??= this.#lookLater()
    return {
      cancel: () => {
        this.#waiting.delete(own)
        if (this.#waiting.size > 0) return
        this.#look?.cancel()
        this.#look = undefined
      },
    }
  }

  #lookLater(): Timer {
    return this.#runtime.setTimer(LOOK_MS, () => {
      if (!this.#hasChanged()) {
        this.#look = this.#lookLater()
        return
      }
      this.#look = undefined
      const woken = [...this.#waiting]
      this.#waiting.clear()
      for (const wake of woken) wake()
    })
  }
}
