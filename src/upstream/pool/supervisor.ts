// Keeps one link to a server alive: started once however many ask, started again
// after a crash with growing delays, and left alone for a while when it keeps
// crashing.
//
// The breaker: after several crashes in a short time, or one before a link that
// came back has stayed up for a while, calls fail at once. When the hold is
// over one attempt is made, whether anybody calls or not, since clients wait for
// the news that a server is back. Calls fail at once until it has succeeded.

import type { FailureReason } from '../../mcp/error-codes.js'
import { Crashes } from './crashes.js'
import { type UpstreamError as Failure, asUpstreamError, thatServer } from '../contracts/errors.js'
import type { LogRecord, Timer } from '../../runtime/runtime.js'
import type { Link } from './link.js'
import type { ServerParts } from './pool-parts.js'
import { within } from '../../runtime/within.js'

/** A link that is being opened; `ready` rejects with UpstreamError. */
export interface OpeningLink {
  readonly link: Link
  readonly ready: Promise<unknown>
}

/** Of the time of a call, so much may go by for a process that ends; the rest is for the start and the call. */
const REST_WAIT_SHARE = 12

/** One attempt to open a link. */
interface Attempt {
  /** `probing` is the one that may close the breaker: whoever asks meanwhile is told that the server is down. */
  readonly kind: 'starting' | 'probing'
  made: Promise<Link>
  /** As soon as it is being opened. */
  link: Link | undefined
}

type State =
  | { readonly kind: 'stopped' | 'closed' }
  | { readonly kind: 'ready'; readonly link: Link }
  | Attempt
  /** It starts when `timer` runs out, where there is one, or somebody asks. */
  | { readonly kind: 'waiting'; readonly timer: Timer | undefined }
  /** The breaker is open until `timer` runs out. */
  | { readonly kind: 'broken'; readonly timer: Timer }

/** Opens links, one at a time. */
export class Supervisor {
  readonly #parts: ServerParts
  readonly #room: () => Promise<void> | undefined
  readonly #open: () => OpeningLink
  readonly #crashes: Crashes
  /** Changed by `#to` only. */
  #state: State = { kind: 'stopped' }
  /** The link, when calls can start at once. */
  link: Link | undefined
  #failure: Failure | undefined
  /** Links that are being stopped. */
  readonly #stopping = new Set<Promise<void>>()
  /** The end of a process that was at rest: its successor may need what it still holds, a lock perhaps. */
  #resting: Promise<void> | undefined

  /** `room` makes room for one more link, when it is known that one is needed; it gives nothing when there is some. */
  constructor(parts: ServerParts, room: () => Promise<void> | undefined, open: () => OpeningLink) {
    this.#parts = parts
    this.#room = room
    this.#open = open
    this.#crashes = new Crashes(parts.limits.restart, parts.restartDelayMs, parts.runtime)
  }

  /** `broken` also while it is being probed. */
  get state(): Exclude<State['kind'], 'probing'> {
    const { kind } = this.#state
    return kind === 'probing' ? 'broken' : kind
  }

  /** Why the last link ended or could not be opened. */
  get failure(): Failure | undefined {
    return this.#failure
  }

  /** The link, started if it is not there. @throws UpstreamError */
  ready(): Promise<Link> {
    const state = this.#state
    switch (state.kind) {
      case 'ready':
        return Promise.resolve(state.link)
      case 'starting':
        return state.made
      case 'closed':
        return Promise.reject(this.#down('shutting-down', 'is stopped'))
      case 'broken':
      case 'probing':
        return Promise.reject(this.#down('unavailable', 'is down'))
      case 'stopped':
      case 'waiting':
        return !this.#parts.restart && this.#crashes.any
          ? Promise.reject(this.#down('unavailable', 'is down and not restarted'))
          : this.#start('starting')
    }
  }

  /** The link has ended by itself. */
  lost(link: Link): void {
    if (this.link !== link) return
    if (link.isSpent) return this.#renew(link)
    this.#failure = link.failure
    this.#crashes.wasUp()
    this.#log('error', link.failure.message)
    this.#crashed()
  }

  /** Stops the link until somebody asks for it again; `why` is what the calls on it are told. */
  async rest(why?: string): Promise<void> {
    const { link } = this
    if (link === undefined) return
    this.#to({ kind: 'stopped' })
    this.#crashes.wasUp()
    const stopped = this.#stop(link, why)
    if (link.dialed.pid !== undefined) this.#resting = stopped
    link.inflight.takeBack()
    await stopped
  }

  /** Ends the link and starts it anew, though it has not crashed; one that has a successor already is ending. */
  async again(link: Link, why: string): Promise<void> {
    if (this.link !== link) return
    this.#log('warn', `restarting: ${why}`)
    await this.rest(why)
    if (this.#state.kind === 'stopped') await this.ready().catch(() => {})
  }

  async close(): Promise<void> {
    const link = 'link' in this.#state ? this.#state.link : undefined
    this.#to({ kind: 'closed' })
    if (link !== undefined) void this.#stop(link)
    await Promise.all(this.#stopping)
  }

  #stop(link: Link, why?: string): Promise<void> {
    const stopped = link.stop(why).finally(() => {
      this.#stopping.delete(stopped)
      if (this.#resting === stopped) this.#resting = undefined
    })
    this.#stopping.add(stopped)
    return stopped
  }

  /** The next one begins at once, and what went before is forgiven: whoever serves is no crashing server. */
  #renew(link: Link): void {
    this.#log('warn', `${link.failure.message}; opening another one`)
    this.#crashes.forgive()
    this.#start('starting').catch(() => {})
  }

  #start(kind: Attempt['kind']): Promise<Link> {
    const attempt: Attempt = { kind, link: undefined, made: new Promise(() => {}) }
    this.#to(attempt)
    attempt.made = this.#attempt(attempt)
    return attempt.made
  }

  async #attempt(attempt: Attempt): Promise<Link> {
    try {
      if (this.#resting !== undefined) await this.#rested(this.#resting)
      // Who need not wait takes the place in the turn in which it was there.
      const room = this.#room()
      if (room !== undefined) await room
      // A server that has ended on a question is started once more, and not asked.
      const link = (await this.#opened(attempt)) ?? (await this.#opened(attempt))
      this.#expect(attempt)
      if (link === undefined) throw this.#down('closed', 'ends whenever it is started')
      this.#to({ kind: 'ready', link })
      this.#failure = undefined
      this.#crashes.isUp()
      return link
    } catch (error) {
      if (attempt.link !== undefined) void this.#stop(attempt.link)
      const failure = asUpstreamError(this.#parts.service, error)
      if (this.#state === attempt) this.#failedToStart(failure)
      throw failure
    }
  }

  /** Undefined when the server has ended on the question which revisions it speaks; then it is gone, with what it held. */
  async #opened(attempt: Attempt): Promise<Link | undefined> {
    this.#expect(attempt)
    const { link, ready } = this.#open()
    attempt.link = link
    try {
      await ready
      return link
    } catch (error) {
      if (!link.endedOnProbe) throw error
      this.#log(
        'debug',
        `${link.failure.message} when it was asked what it speaks; starting it anew without that`,
      )
      await this.#stop(link)
      return undefined
    }
  }

  async #rested(resting: Promise<void>): Promise<void> {
    const { times, runtime } = this.#parts
    await within(resting, times.timeoutMs / REST_WAIT_SHARE, runtime)
  }

  /** @throws UpstreamError when it was closed meanwhile */
  #expect(attempt: Attempt): void {
    if (this.#state !== attempt) throw this.#down('shutting-down', 'is stopped')
  }

  #failedToStart(failure: Failure): void {
    this.#failure = failure
    this.#log('error', failure.message)
    this.#crashed()
  }

  #crashed(): void {
    const opens = this.#crashes.add()
    // Who only waits for room among the processes is no crashing server, however often it is tried.
    const hasRoom = this.#failure?.reason !== 'overloaded'
    if (!this.#parts.restart) this.#to({ kind: 'waiting', timer: undefined })
    else if (opens && hasRoom) this.#hold()
    // Somebody has to mend credentials first, and a server may lock out whoever tries too often.
    else if (this.#failure?.reason === 'unauthorized') this.#wait(this.#parts.limits.restart.delayMsMax)
    else this.#wait(this.#crashes.delayMs)
  }

  #wait(delayMs: number): void {
    this.#to({ kind: 'waiting', timer: this.#after(delayMs, 'starting') })
  }

  #hold(): void {
    const { holdMs } = this.#parts.limits.restart
    this.#log('error', `it keeps crashing: left alone for ${Math.round(holdMs / 1000)} s`)
    this.#to({ kind: 'broken', timer: this.#after(holdMs, 'probing') })
  }

  /** Servers that crashed together do not come back together. */
  #after(delayMs: number, kind: Attempt['kind']): Timer {
    const { runtime } = this.#parts
    return runtime.setTimer(delayMs * (0.8 + 0.4 * runtime.random()), () => {
      this.#start(kind).catch(() => {})
    })
  }

  #to(state: State): void {
    if ('timer' in this.#state) this.#state.timer?.cancel()
    this.#state = state
    this.link = state.kind === 'ready' ? state.link : undefined
  }

  #down(reason: FailureReason, what: string): Failure {
    if (this.#failure?.reason === 'unauthorized') return this.#failure
    const why = this.#failure === undefined ? '' : `: ${this.#failure.message}`
    return thatServer(this.#parts.service, reason, `${what}${why}`)
  }

  #log(level: LogRecord['level'], message: string): void {
    this.#parts.log({ level, service: this.#parts.service, message })
  }
}
