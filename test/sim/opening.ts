// The answer of a scripted server to the request that opens it. A test can hold it back, and it can get lost.

import type { ScriptHost } from './script-host.js'
import type { ServerFacts } from './server-facts.js'
import type { ServerOutput } from './server-output.js'

/** The one of one instance. */
export class Opening {
  readonly #host: ScriptHost
  readonly #facts: ServerFacts
  readonly #output: ServerOutput
  #isMute = false
  #held: (() => void) | undefined

  constructor(host: ScriptHost, facts: ServerFacts, output: ServerOutput) {
    this.#host = host
    this.#facts = facts
    this.#output = output
  }

  /** The server runs, and the answer was lost. */
  get isMute(): boolean {
    return this.#isMute && this.#host.stays
  }

  /** The request has come; `answer` answers it, once the server has begun and the answer is not held back. */
  begin(answer: () => void): void {
    this.#held = (): void => {
      this.#isMute = this.#output.losesAnswer
      answer()
      this.#host.reached('initialize-answered')
    }
    this.#host.after(this.#facts.plan.initMs, () => {
      if (!this.#facts.holdsInitialize) this.release()
    })
    this.#host.reached('initialize-read')
  }

  /** Answers now; false when the request has not come, or is answered. */
  release(): boolean {
    const held = this.#held
    this.#held = undefined
    held?.()
    return held !== undefined
  }
}
