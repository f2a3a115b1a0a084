// The last answers of a server that is being stopped.
//
// It has a while of its own before it is told by a signal, and what it answers
// until then is heard. One that is to come back and answers nothing is stuck: those
// who wait for it, or for a slot of it, are better off with its successor.

import type { Runtime, Timer } from '../../runtime/runtime.js'

/** How long the calls in flight on a server wait once it is being stopped. */
export interface LastAnswersWaits {
  /** For the first answer, when the server is to come back. */
  readonly silentMs: number
  /** In all. */
  readonly ownMs: number
}

interface LastAnswersOptions {
  readonly runtime: Runtime
  readonly lastAnswers: LastAnswersWaits
}

/** Reports when no further answer of a stopping server is waited for. */
export class LastAnswers {
  readonly #options: LastAnswersOptions
  readonly #answers: () => number
  readonly #over: () => void
  #timer: Timer | undefined

  /** `answers` says how many have come; `over` that nobody waits any more. */
  constructor(options: LastAnswersOptions, answers: () => number, over: () => void) {
    this.#options = options
    this.#answers = answers
    this.#over = over
  }

  /** The server has been told to stop. */
  begin(comesBack: boolean): void {
    if (this.#timer !== undefined) return
    const { runtime, lastAnswers } = this.#options
    const { silentMs, ownMs } = lastAnswers
    const before = this.#answers()
    const firstMs = comesBack ? Math.min(silentMs, ownMs) : ownMs
    this.#timer = runtime.setTimer(firstMs, () => {
      if (this.#answers() === before || firstMs === ownMs) return this.#over()
      this.#timer = runtime.setTimer(ownMs - firstMs, this.#over)
    })
  }

  /** The server is gone. */
  end(): void {
    this.#timer?.cancel()
  }
}
