// Notices that another process has logged in or out, while a server waits for that.

import type { Runtime, Timer } from '../runtime/runtime.js'

/** A person who has just logged in does not notice this delay. */
const LOOK_MS = 500

/** Looks as long as something waits, and no longer. */
export class LoginWatch {
  readonly #version: () => string
  readonly #runtime: Pick<Runtime, 'setTimer'>
  /** The version that each knows: others may have seen a later one before this looks. */
  readonly #waiting = new Map<() => void, string>()
  #look: Timer | undefined

  /** `version` is that of the login now. */
  constructor(version: () => string, runtime: Pick<Runtime, 'setTimer'>) {
    this.#version = version
    this.#runtime = runtime
  }

  /** Calls `wake` once, when there is another version than `known`, unless it is cancelled before. */
  next(wake: () => void, known: string = this.#version()): Timer {
    const own = (): void => wake()
    this.#waiting.set(own, known)
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
      const version = this.#version()
      const woken = [...this.#waiting].flatMap(([wake, known]) => (known === version ? [] : wake))
      for (const wake of woken) this.#waiting.delete(wake)
      this.#look = this.#waiting.size > 0 ? this.#lookLater() : undefined
      for (const wake of woken) wake()
    })
  }
}
