// The crashes of all processes of one server, and the time of its next start.
//
// If no process has come up since the last crash, only one start at a time tries the server, so that many
// clients do not multiply the starts of a broken server.

import type { Limits } from '../../limits.js'
import { Deferred } from '../../runtime/deferred.js'
import type { Runtime } from '../../runtime/runtime.js'
import type { UpstreamError } from '../contracts/upstream-error.js'

/** The crash history of one server, which all its processes share. */
export class Restarts {
  readonly #policy: Limits['upstream']['restart']
  readonly #firstDelayMs: number
  readonly #runtime: Pick<Runtime, 'now' | 'random'>
  #recent: number[] = []
  #inARow = 0
  /** After the breaker has opened once, one crash opens it again. */
  #onTrial = false
  /**
   * `proven`: a process has come up since the last crash. `unproven`: none has. `broken`: the breaker has
   * opened, and no process has come up since.
   */
  #state: 'proven' | 'unproven' | 'broken'
  failure: UpstreamError | undefined
  #nextAt = -Infinity
  #crashedAt = -Infinity
  #trial: Deferred<void> | undefined
  count = 0
  isLoginLogged = false

  /** `wasWell` says that the server has come up in an earlier run of the proxy. */
  constructor(
    policy: Limits['upstream']['restart'],
    firstDelayMs: number,
    runtime: Pick<Runtime, 'now' | 'random'>,
    wasWell: boolean,
  ) {
    this.#state = wasWell ? 'proven' : 'unproven'
    this.#policy = policy
    this.#firstDelayMs = firstDelayMs
    this.#runtime = runtime
  }

  get isProven(): boolean {
    return this.#state === 'proven'
  }

  get isBroken(): boolean {
    return this.#state === 'broken'
  }

  /** The delay before a start for which no call waits. */
  get waitMs(): number {
    return Math.max(0, this.#nextAt - this.#runtime.now())
  }

  /** Whether calls fail without an attempt. */
  get isHeld(): boolean {
    return this.isBroken && (this.waitMs > 0 || this.#trial !== undefined)
  }

  /** Resolves when the start that tries the server has ended. */
  get trial(): Promise<void> | undefined {
    return this.isProven ? undefined : this.#trial?.promise
  }

  /** Records a start. Each start must end with `succeeded` or `failed`. */
  begin(): number {
    if (!this.isProven) {
      this.#trial ??= new Deferred()
      if (this.failure !== undefined) this.count++
    }
    return this.#runtime.now()
  }

  succeeded(startedAt: number): void {
    // A process that was started before the last crash is no evidence that another start would succeed.
    if (startedAt >= this.#crashedAt) this.#state = 'proven'
    this.isLoginLogged = false
    this.#endTrial()
  }

  /** `failure` is undefined if the server is not its cause. Returns whether the breaker has opened. */
  failed(startedAt: number, failure: UpstreamError | undefined): boolean {
    const isLogin = failure?.reason === 'login-required'
    if (isLogin && this.isProven) this.#state = 'unproven'
    const opens = failure !== undefined && !isLogin && this.crashed(startedAt, failure)
    this.#endTrial()
    return opens
  }

  #endTrial(): void {
    this.#trial?.resolve()
    this.#trial = undefined
  }

  /**
   * Records the crash of a process that was started at that time; returns whether the breaker has opened.
   *
   * A crash does not count if the process was started before the last crash: both may have the same cause.
   */
  crashed(startedAt: number, failure: UpstreamError): boolean {
    if (startedAt < this.#crashedAt) return false
    const { crashesMax, windowMs, delayMsMax, holdMs } = this.#policy
    const now = this.#runtime.now()
    this.failure = failure
    this.#crashedAt = now
    this.#recent = [...this.#recent.filter((at) => now - at < windowMs), now]
    const opens = this.#onTrial || this.#recent.length >= crashesMax
    this.#onTrial ||= opens
    this.#state = opens ? 'broken' : 'unproven'
    const delayMs = Math.min(this.#firstDelayMs * 2 ** this.#inARow++, delayMsMax)
    // A person must repair the credentials first, and a server may lock out a client that tries too often.
    const waitMs = opens ? holdMs : failure.reason === 'unauthorized' ? delayMsMax : delayMs
    // Servers that crash together must not come back together.
    this.#nextAt = now + waitMs * (0.8 + 0.4 * this.#runtime.random())
    return opens
  }

  /** Called when a process ends that was ready since `readyAt`. A long life forgives earlier crashes. */
  wasUp(readyAt: number): void {
    if (this.#runtime.now() - readyAt >= this.#policy.healthyMs) this.forgive()
  }

  forgive(): void {
    this.#recent = []
    this.#inARow = 0
    this.#onTrial = false
    if (this.isBroken) this.#state = 'unproven'
    this.#nextAt = -Infinity
  }
}
