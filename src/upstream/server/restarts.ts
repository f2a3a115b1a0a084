// The crashes of one server, whichever of its processes they happen to, and when the server may be started again.
//
// While no process has come up since the last crash, one start at a time tries the server, so that the number of clients
// does not multiply the starts of a broken one.

import type { Limits } from '../../limits.js'
import { Deferred } from '../../runtime/deferred.js'
import type { Runtime } from '../../runtime/runtime.js'
import type { UpstreamError } from '../contracts/upstream-error.js'

/** The history of one server, shared by all its processes. */
export class Restarts {
  readonly #policy: Limits['upstream']['restart']
  readonly #firstDelayMs: number
  readonly #runtime: Pick<Runtime, 'now' | 'random'>
  #recent: number[] = []
  #inARow = 0
  /** The breaker has opened, and one crash opens it again. */
  #onTrial = false
  /**
   * `proven`: a process has come up since the last crash. `unproven`: none has. `broken`: the breaker has opened, and none
   * has come up since.
   */
  #state: 'proven' | 'unproven' | 'broken'
  failure: UpstreamError | undefined
  #nextAt = -Infinity
  #crashedAt = -Infinity
  #trial: Deferred<void> | undefined
  count = 0
  isLoginLogged = false

  /** `wasWell` says that the server came up in an earlier run of the proxy. */
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

  /** How long to wait before a start that no call waits for. */
  get waitMs(): number {
    return Math.max(0, this.#nextAt - this.#runtime.now())
  }

  /** Whether calls fail without an attempt. */
  get isHeld(): boolean {
    return this.isBroken && (this.waitMs > 0 || this.#trial !== undefined)
  }

  /** Resolves when the start has ended that tries the server now. */
  get trial(): Promise<void> | undefined {
    return this.isProven ? undefined : this.#trial?.promise
  }

  /** A process starts, now; every start succeeds or fails. */
  begin(): number {
    if (!this.isProven) {
      this.#trial ??= new Deferred()
      if (this.failure !== undefined) this.count++
    }
    return this.#runtime.now()
  }

  succeeded(startedAt: number): void {
    // A process that was started before the last crash does not show that another start would succeed.
    if (startedAt >= this.#crashedAt) this.#state = 'proven'
    this.isLoginLogged = false
    this.#endTrial()
  }

  /** `failure` is undefined when it says nothing of the server. Returns whether the breaker has opened. */
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
   * A process that was started then has crashed; whether that has opened the breaker.
   *
   * Processes that were started before the last crash and end after it tell nothing new: they may have ended together.
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
    // A person has to repair the credentials first, and a server may lock out a client that tries too often.
    const waitMs = opens ? holdMs : failure.reason === 'unauthorized' ? delayMsMax : delayMs
    // Servers that crashed together do not come back together.
    this.#nextAt = now + waitMs * (0.8 + 0.4 * this.#runtime.random())
    return opens
  }

  /** A process has ended that was ready since then: whether the crashes before it are forgiven is decided now. */
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
