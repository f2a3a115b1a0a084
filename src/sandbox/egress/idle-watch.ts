// Notices when nothing has moved for a while, at the price of one timer.

import { type Clock, setDeadline } from '../../runtime/deadline.js'

/** Begins at once. */
export class IdleWatch {
  readonly #clock: Clock
  readonly #idleMs: number
  readonly #expire: () => void
  #touchedMs: number
  #timer: { cancel(): void }

  constructor(clock: Clock, idleMs: number, expire: () => void) {
    this.#clock = clock
    this.#idleMs = idleMs
    this.#expire = expire
    this.#touchedMs = clock.now()
    this.#timer = this.#wait(idleMs)
  }

  /** Something has moved. */
  touch(): void {
    this.#touchedMs = this.#clock.now()
  }

  stop(): void {
    this.#timer.cancel()
  }

  #wait(delayMs: number): { cancel(): void } {
    return setDeadline(this.#clock, delayMs, () => {
      const leftMs = this.#touchedMs + this.#idleMs - this.#clock.now()
      if (leftMs <= 0) this.#expire()
      else this.#timer = this.#wait(leftMs)
    })
  }
}
