// Keeps one link to a server alive: started once however many ask, started again
// after a crash with growing delays, and left alone for a while when it keeps
// crashing.

import type { FailureReason } from '../mcp/error-codes.js'
import { type UpstreamError as Failure, UpstreamError, asUpstreamError } from './errors.js'
import type { LogSink, Runtime, Timer } from './host.js'
import type { Link } from './link.js'

/** How crashes are answered. */
export interface RestartPolicy {
  readonly restart: boolean
  /** Before the first restart; doubles with every crash. */
  readonly delayMs: number
  readonly delayMsMax: number
  /** Crashes within the window that open the breaker. */
  readonly crashesMax: number
  readonly windowMs: number
  /** How long the open breaker fails calls at once. */
  readonly holdMs: number
  /** Uptime after which crashes are forgotten. */
  readonly healthyMs: number
}

export type SupervisorState = 'stopped' | 'starting' | 'ready' | 'waiting' | 'broken' | 'closed'

/** A link that is being opened; `ready` rejects with UpstreamError. */
export interface Opening {
  readonly link: Link
  readonly ready: Promise<unknown>
}

/** Opens links, one at a time. */
export class Supervisor {
  readonly service: string
  readonly #open: () => Opening
  readonly #policy: RestartPolicy
  readonly #runtime: Runtime
  readonly #log: LogSink
  #state: SupervisorState = 'stopped'
  #link: Link | undefined
  #starting: Promise<Link> | undefined
  #opening: Link | undefined
  #failure: Failure | undefined
  #restart: Timer | undefined
  #crashes: number[] = []
  #readyAt = 0
  #brokenUntil = 0

  constructor(
    service: string,
    open: () => Opening,
    policy: RestartPolicy,
    around: { readonly runtime: Runtime; readonly log: LogSink },
  ) {
    this.service = service
    this.#open = open
    this.#policy = policy
    this.#runtime = around.runtime
    this.#log = around.log
  }

  get state(): SupervisorState {
    return this.#state
  }

  /** The link, when calls can start at once. */
  get link(): Link | undefined {
    return this.#link
  }

  /** Why the last link ended or could not be opened. */
  get failure(): Failure | undefined {
    return this.#failure
  }

  /** The link, started if it is not there. @throws UpstreamError */
  ready(): Promise<Link> {
    if (this.#link !== undefined) return Promise.resolve(this.#link)
    if (this.#starting !== undefined) return this.#starting
    if (this.#state === 'closed') return Promise.reject(this.#down('shutting-down', 'is stopped'))
    if (this.#state === 'broken' && this.#runtime.now() < this.#brokenUntil) {
      return Promise.reject(this.#down('unavailable', 'is down'))
    }
    if (!this.#policy.restart && this.#crashes.length > 0) {
      return Promise.reject(this.#down('unavailable', 'is down and not restarted'))
    }
    return this.#start()
  }

  /** The link has ended by itself. */
  lost(link: Link): void {
    if (this.#link !== link) return
    this.#link = undefined
    if (this.#state === 'closed') return
    if (link.isSpent) return this.#renew(link)
    this.#failure = link.failure
    this.#log({ level: 'error', service: this.service, message: link.failure.message })
    if (this.#runtime.now() - this.#readyAt >= this.#policy.healthyMs) this.#crashes = []
    this.#crashed()
  }

  /** Stops the link until somebody asks for it again. */
  async rest(): Promise<void> {
    const link = this.#link
    if (link === undefined) return
    this.#link = undefined
    this.#state = 'stopped'
    await link.stop()
  }

  /** Ends the link and starts it anew, though it has not crashed. */
  async again(why: string): Promise<void> {
    this.#log({ level: 'warn', service: this.service, message: `restarting: ${why}` })
    await this.rest()
    if (this.#state === 'stopped') await this.ready().catch(() => {})
  }

  async close(): Promise<void> {
    const link = this.#link ?? this.#opening
    this.#state = 'closed'
    this.#restart?.cancel()
    this.#link = undefined
    await link?.stop()
  }

  /** The next one begins at once, and what went before is forgiven: whoever serves is no crashing server. */
  #renew(link: Link): void {
    this.#log({
      level: 'warn',
      service: this.service,
      message: `${link.failure.message}; opening another one`,
    })
    this.#crashes = []
    void this.#start().catch(() => {})
  }

  #start(): Promise<Link> {
    this.#restart?.cancel()
    this.#state = 'starting'
    const starting = this.#attempt().finally(() => {
      if (this.#starting === starting) this.#starting = undefined
    })
    this.#starting = starting
    return starting
  }

  async #attempt(): Promise<Link> {
    let link: Link | undefined
    try {
      const opening = this.#open()
      link = opening.link
      this.#opening = link
      await opening.ready
      if (this.#isClosed()) throw this.#down('shutting-down', 'is stopped')
      this.#link = link
      this.#state = 'ready'
      this.#failure = undefined
      this.#readyAt = this.#runtime.now()
      return link
    } catch (error) {
      void link?.stop()
      const failure = asUpstreamError(this.service, error)
      if (!this.#isClosed()) this.#failedToStart(failure)
      throw failure
    } finally {
      this.#opening = undefined
    }
  }

  /** A method, since the compiler would believe that the state cannot change across an await. */
  #isClosed(): boolean {
    return this.#state === 'closed'
  }

  #failedToStart(failure: Failure): void {
    this.#failure = failure
    this.#log({ level: 'error', service: this.service, message: failure.message })
    this.#crashed()
  }

  #crashed(): void {
    const { crashesMax, windowMs, holdMs, restart } = this.#policy
    const now = this.#runtime.now()
    this.#crashes = [...this.#crashes.filter((at) => now - at < windowMs), now]
    if (this.#crashes.length >= crashesMax) {
      this.#state = 'broken'
      this.#brokenUntil = now + holdMs
      const message = `${this.#crashes.length} crashes in a row: left alone for ${Math.round(holdMs / 1000)} s`
      this.#log({ level: 'error', service: this.service, message })
      return
    }
    this.#state = 'waiting'
    if (restart) this.#scheduleRestart()
  }

  #scheduleRestart(): void {
    const { delayMs, delayMsMax } = this.#policy
    // Somebody has to mend credentials first, and a server may lock out whoever tries too often.
    const isRefused = this.#failure?.reason === 'unauthorized'
    const grown = isRefused ? delayMsMax : Math.min(delayMs * 2 ** (this.#crashes.length - 1), delayMsMax)
    const jittered = grown * (0.8 + 0.4 * this.#runtime.random())
    this.#restart = this.#runtime.setTimer(jittered, () => {
      if (this.#state === 'waiting') void this.#start().catch(() => {})
    })
  }

  #down(reason: FailureReason, what: string): Failure {
    if (this.#failure?.reason === 'unauthorized') return this.#failure
    const why = this.#failure === undefined ? '' : `: ${this.#failure.message}`
    return new UpstreamError(this.service, reason, `'${this.service}' ${what}${why}`)
  }
}
