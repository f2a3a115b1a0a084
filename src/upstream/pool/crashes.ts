// The crashes of a server, and the delay that follows from them.

import type { Runtime } from '../../runtime/runtime.js'

/** How crashes are answered. */
export interface RestartPolicy {
  /** The delay before a restart doubles with every crash, up to this. */
  readonly delayMsMax: number
  /** Crashes within the window that open the breaker. */
  readonly crashesMax: number
  readonly windowMs: number
  /** How long the open breaker fails calls at once, before the one attempt that may close it. */
  readonly holdMs: number
  /** Uptime after which crashes are forgotten; a start that succeeds says little. */
  readonly healthyMs: number
}

/** The crashes since the server was last up for a while. */
export class Crashes {
  readonly #policy: RestartPolicy
  readonly #firstDelayMs: number
  readonly #runtime: Pick<Runtime, 'now'>
  /** When the latest ones were. */
  #recent: number[] = []
  #inARow = 0
  /** The breaker has opened, and one crash opens it again. */
  #onTrial = false
  #upSince: number | undefined

  constructor(policy: RestartPolicy, firstDelayMs: number, runtime: Pick<Runtime, 'now'>) {
    this.#policy = policy
    this.#firstDelayMs = firstDelayMs
    this.#runtime = runtime
  }

  get any(): boolean {
    return this.#inARow > 0
  }

  /** How long to wait before the next start. */
  get delayMs(): number {
    return Math.min(this.#firstDelayMs * 2 ** Math.max(0, this.#inARow - 1), this.#policy.delayMsMax)
  }

  isUp(): void {
    this.#upSince = this.#runtime.now()
  }

  /** Whether the server was up for long enough to be forgiven is decided when it goes down. */
  wasUp(): void {
    const isHealthy =
      this.#upSince !== undefined && this.#runtime.now() - this.#upSince >= this.#policy.healthyMs
    this.#upSince = undefined
    if (isHealthy) this.forgive()
  }

  forgive(): void {
    this.#recent = []
    this.#inARow = 0
    this.#onTrial = false
  }

  /** Counts one; true when the server is to be left alone for a while. */
  add(): boolean {
    const { crashesMax, windowMs } = this.#policy
    const now = this.#runtime.now()
    this.#recent = [...this.#recent.filter((at) => now - at < windowMs), now]
    this.#inARow++
    const opens = this.#onTrial || this.#recent.length >= crashesMax
    if (opens) this.#onTrial = true
    return opens
  }
}
