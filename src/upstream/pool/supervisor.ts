// Keeps one link to a server alive: started once however many calls wait for it, started again after a crash with the
// delays of the server, and left alone while the server keeps crashing.
//
// The breaker belongs to the server: after several crashes in a short time, or one before a process that came back has
// stayed up for a while, calls fail at once. When the hold is over one attempt is made. A process that every client may
// use makes it without a call, since clients wait for the news that the server is back; the process of one client that
// nothing is wanted of stays down until its next call.

import type { FailureReason } from '../../mcp/error-codes.js'
import { type UpstreamError as Failure, asUpstreamError, thatServer } from '../contracts/errors.js'
import type { LogRecord, Timer } from '../../runtime/runtime.js'
import type { Link } from './link.js'
import type { LaneParts } from './lane-parts.js'
import type { Restarts, Start } from './restarts.js'
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
  readonly kind: 'starting'
  /** It may close the breaker: calls that come meanwhile fail. */
  readonly isProbe: boolean
  /** Whether a call waits for it; one that nobody waits for ends no other process to have its place. */
  isCalled: boolean
  made: Promise<Link>
  /** As soon as it is being opened. */
  link: Link | undefined
}

type State =
  | { readonly kind: 'stopped' | 'closed' }
  | { readonly kind: 'ready'; readonly link: Link; readonly startedAt: number; readonly readyAt: number }
  | Attempt
  /** It starts when `timer` runs out, where there is one, or for a call. */
  | { readonly kind: 'waiting'; readonly timer: Timer | undefined }

/** What a process needs to start. */
export interface StartConditions {
  /** Resolves when it is known that the process is needed; undefined when that is known. */
  known(): Promise<void> | undefined
  /** Makes room for one more process; undefined when there is some. */
  room(): Promise<void> | undefined
  /** Whether the process is wanted without a call. */
  isWanted(): boolean
  open(): OpeningLink
}

/** Opens links, one at a time. */
export class Supervisor {
  readonly #parts: LaneParts
  readonly #conditions: StartConditions
  /** Changed by `#to` only. */
  #state: State = { kind: 'stopped' }
  /** The link, when calls can start at once. */
  link: Link | undefined
  #failure: Failure | undefined
  #hasCrashed = false
  /** Starts in a row that were refused for want of room. */
  #refusals = 0
  /** Links that are being stopped. */
  readonly #stopping = new Set<Promise<void>>()
  /** Links whose calls still run, and that get no more. */
  readonly #retired = new Set<Link>()
  /** The end of a process that was at rest: its successor may need what it still holds, a lock perhaps. */
  #resting: Promise<void> | undefined

  constructor(parts: LaneParts, conditions: StartConditions) {
    this.#parts = parts
    this.#conditions = conditions
  }

  /** `broken` while the breaker is open and this process is down. */
  get state(): State['kind'] | 'broken' {
    const { kind } = this.#state
    const isDown = kind === 'starting' || kind === 'waiting'
    return isDown && this.#parts.restarts.isBroken ? 'broken' : kind
  }

  /** Why the last link ended or could not be opened. */
  get failure(): Failure | undefined {
    return this.#failure
  }

  /** The link, started for a call if it is not there. @throws UpstreamError */
  ready(): Promise<Link> {
    const state = this.#state
    switch (state.kind) {
      case 'ready':
        return Promise.resolve(state.link)
      case 'starting':
        if (state.isProbe) return Promise.reject(this.#down('unavailable', 'is down'))
        state.isCalled = true
        return state.made
      case 'closed':
        return Promise.reject(this.#down('shutting-down', 'is stopped'))
      case 'stopped':
      case 'waiting':
        if (!this.#parts.restart && this.#hasCrashed)
          return Promise.reject(this.#down('unavailable', 'is down and not restarted'))
        if (this.#parts.restarts.isHeld) return Promise.reject(this.#down('unavailable', 'is down'))
        return this.#start(true)
    }
  }

  /** The link has ended by itself. */
  lost(link: Link): void {
    const state = this.#state
    if (state.kind !== 'ready' || state.link !== link) return
    this.#failure = link.failure
    if (link.isSpent) return this.#renew(link)
    this.#log('error', link.failure.message)
    this.#parts.restarts.wasUp(state.readyAt)
    this.#crashed(this.#parts.restarts.crashed(state.startedAt, link.failure))
  }

  /** Stops the link until a call comes; `why` is what the calls on it are told. */
  async rest(why?: string): Promise<void> {
    const state = this.#state
    if (state.kind !== 'ready') return
    const { link, readyAt } = state
    this.#to({ kind: 'stopped' })
    this.#parts.restarts.wasUp(readyAt)
    const stopped = this.#stop(link, why)
    if (link.dialed.pid !== undefined) this.#startBehind(stopped)
    link.inflight.takeBack()
    await stopped
  }

  /** Ends the link and starts it anew, though it has not crashed; one that has a successor already is ending. */
  async again(link: Link, why: string): Promise<void> {
    if (this.link !== link) return
    this.#log('warn', `restarting: ${why}`)
    await this.rest(why)
    if (this.#state.kind === 'stopped') this.#startIfWanted()
  }

  /**
   * Ends the link when its calls have ended; whoever asks meanwhile gets another one.
   *
   * A server of which one process runs at a time may hold a lock, so its next process waits for the end of this one.
   */
  succeed(link: Link, why: string, isAlone: boolean): void {
    const state = this.#state
    if (state.kind !== 'ready' || state.link !== link) return
    this.#log('debug', `its next call gets another process: ${why}`)
    this.#to({ kind: 'stopped' })
    this.#parts.restarts.wasUp(state.readyAt)
    this.#retired.add(link)
    const stopped = link.inflight
      .idle()
      .then(() => (this.#retired.delete(link) ? this.#stop(link) : undefined))
    if (isAlone) this.#startBehind(stopped)
  }

  #startBehind(stopped: Promise<void>): void {
    const resting = stopped.then(() => {
      if (this.#resting === resting) this.#resting = undefined
    })
    this.#resting = resting
  }

  async close(): Promise<void> {
    const link = 'link' in this.#state ? this.#state.link : undefined
    this.#to({ kind: 'closed' })
    if (link !== undefined) void this.#stop(link)
    for (const retired of this.#retired) void this.#stop(retired)
    this.#retired.clear()
    await Promise.all(this.#stopping)
  }

  #stop(link: Link, why?: string): Promise<void> {
    const stopped = link.stop(why).finally(() => {
      this.#stopping.delete(stopped)
    })
    this.#stopping.add(stopped)
    return stopped
  }

  /** The next one begins at once where it is wanted, and earlier crashes are forgiven: the server has served. */
  #renew(link: Link): void {
    this.#log('warn', `${link.failure.message}; opening another one`)
    this.#parts.restarts.forgive()
    this.#to({ kind: 'stopped' })
    this.#startIfWanted()
  }

  #startIfWanted(): void {
    if (this.#conditions.isWanted() && !this.#parts.restarts.isHeld) this.#start(false).catch(() => {})
  }

  #start(isCalled: boolean): Promise<Link> {
    const { isBroken } = this.#parts.restarts
    const attempt: Attempt = {
      kind: 'starting',
      isProbe: isBroken,
      isCalled,
      link: undefined,
      made: new Promise(() => {}),
    }
    this.#to(attempt)
    attempt.made = this.#attempt(attempt)
    return attempt.made
  }

  async #attempt(attempt: Attempt): Promise<Link> {
    const { restarts } = this.#parts
    let start: Start | undefined
    try {
      if (this.#resting !== undefined) await this.#rested(this.#resting)
      const known = this.#conditions.known()
      if (known !== undefined) await known
      // Nothing is awaited between the last look and the beginning, so that one start at a time tries the server.
      for (let { trial } = restarts; trial !== undefined; trial = restarts.trial)
        await this.#tried(attempt, trial)
      // The breaker may have opened while this start waited.
      if (restarts.isHeld && !attempt.isProbe) throw this.#down('unavailable', 'is down')
      start = restarts.begin()
      // A start that need not wait takes the place in the turn in which it was there.
      const room = attempt.isCalled ? this.#conditions.room() : undefined
      if (room !== undefined) await room
      // A server that has ended on a question is started once more, and not asked.
      const link = (await this.#opened(attempt)) ?? (await this.#opened(attempt))
      this.#expect(attempt)
      if (link === undefined) throw this.#down('closed', 'ends whenever it is started')
      if (!link.isOpen) throw link.failure
      this.#to({ kind: 'ready', link, startedAt: start.startedAt, readyAt: this.#parts.runtime.now() })
      start.succeeded()
      this.#failure = undefined
      this.#refusals = 0
      return link
    } catch (error) {
      if (attempt.link !== undefined) void this.#stop(attempt.link)
      const failure = asUpstreamError(this.#parts.service, error)
      this.#ended(attempt, start, failure)
      throw failure
    }
  }

  /** Waits for the start that tries the server. @throws UpstreamError what that has failed with */
  async #tried(attempt: Attempt, trial: NonNullable<Restarts['trial']>): Promise<void> {
    const failure = await trial
    this.#expect(attempt)
    if (failure !== undefined) throw failure
  }

  /** Undefined when the server has ended on the question which revisions it speaks; then it is gone, with what it held. */
  async #opened(attempt: Attempt): Promise<Link | undefined> {
    this.#expect(attempt)
    const { link, ready } = this.#conditions.open()
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

  /** The attempt has failed: by itself, with the start of another process, or since there was no room. */
  #ended(attempt: Attempt, start: Start | undefined, failure: Failure): void {
    const isOver = this.#state !== attempt
    const isCrash = !isOver && start !== undefined && failure.reason !== 'overloaded'
    const wasBroken = this.#parts.restarts.isBroken
    start?.failed(isCrash ? failure : undefined)
    if (isOver) return
    this.#failure = failure
    if (isCrash || failure.reason === 'overloaded') this.#log('error', failure.message)
    if (failure.reason === 'overloaded') this.#refused()
    else this.#crashed(isCrash && (!wasBroken || attempt.isProbe) && this.#parts.restarts.isBroken)
  }

  /** The server has crashed, this process of it or the one that was started first. */
  #crashed(opens: boolean): void {
    const { limits, restart, restarts } = this.#parts
    this.#hasCrashed = true
    if (opens) {
      const seconds = Math.round(limits.restart.holdMs / 1000)
      this.#log('error', `it keeps crashing: left alone for ${seconds} s`)
    }
    this.#wait(restart ? restarts.waitMs : undefined)
  }

  /** There is no room for another process: the server has not failed, and is tried again less and less often. */
  #refused(): void {
    const { limits, restartDelayMs } = this.#parts
    this.#wait(Math.min(restartDelayMs * 2 ** this.#refusals++, limits.restart.delayMsMax))
  }

  #wait(delayMs: number | undefined): void {
    const isTimed = delayMs !== undefined && this.#conditions.isWanted()
    const timer = isTimed ? this.#parts.runtime.setTimer(delayMs, () => this.#retry()) : undefined
    this.#to({ kind: 'waiting', timer })
  }

  /** The delay is over; the crash of another process may have begun a longer one. */
  #retry(): void {
    const { restarts } = this.#parts
    if (restarts.waitMs > 0) this.#wait(restarts.waitMs)
    else this.#start(false).catch(() => {})
  }

  #to(state: State): void {
    if ('timer' in this.#state) this.#state.timer?.cancel()
    this.#state = state
    this.link = state.kind === 'ready' ? state.link : undefined
  }

  #down(reason: FailureReason, what: string): Failure {
    const failure = this.#failure ?? this.#parts.restarts.failure
    if (failure?.reason === 'unauthorized') return failure
    const why = failure === undefined ? '' : `: ${failure.message}`
    return thatServer(this.#parts.service, reason, `${what}${why}`)
  }

  #log(level: LogRecord['level'], message: string): void {
    this.#parts.log({ level, service: this.#parts.service, message })
  }
}
