// Whether a message is sent again, and when.
//
// A message is sent again only when it cannot take effect twice: no connection was made, the server said
// that it had not accepted it (429, 503 with Retry-After, 401 before a new token), the message only reads,
// or it is an answer, of which the first counts. All attempts are within `retries`, and none is made before
// the time of `Retry-After`.

import type { HttpAnswer } from '../http1/client.js'
import type { HttpTrouble } from './failure.js'
import type { HttpTarget } from './options.js'
import type { Runtime } from '../../runtime/runtime.js'

/** Counts the attempts of one message. */
export class Attempts {
  readonly #target: HttpTarget
  readonly #isRepeatable: boolean
  #timer: { cancel(): void } | undefined
  #retried = 0
  #resumed = 0

  /** An answer has no method. */
  constructor(target: HttpTarget, method: string | undefined) {
    this.#target = target
    this.#isRepeatable = method === undefined || target.isRead(method)
  }

  /** Whether the message is not on its way now, but will be. */
  get waiting(): boolean {
    return this.#timer !== undefined
  }

  stop(): void {
    this.#timer?.cancel()
    this.#timer = undefined
  }

  /** Waits for the end of a pause that the server asked for, unless that is too far. */
  afterPause(again: () => void): boolean {
    const { pause, patienceMs } = this.#target
    if (pause.leftMs > patienceMs) return false
    this.#after(pause.leftMs, again)
    return true
  }

  /** Schedules another attempt where one is in order. */
  afterTrouble({ neverSent, lasts }: Pick<HttpTrouble, 'neverSent' | 'lasts'>, again: () => void): boolean {
    if (lasts) return false
    if (neverSent) this.#target.onUnreachable?.()
    return (neverSent || this.#isRepeatable) && this.#retry(undefined, again)
  }

  /** The same for a refusal. */
  afterRefusal(answer: HttpAnswer, again: () => void): boolean {
    const { status } = answer
    const { patienceMs, limits, timers } = this.#target
    const wait = retryAfterMs(answer, timers)
    const isOffered = wait !== undefined && wait <= Math.min(patienceMs, limits.retryAfterMsMax)
    const wasNotTaken = status === 429 || (status === 503 && wait !== undefined)
    const isPassing = status === 502 || status === 503 || status === 504
    if (wasNotTaken && wait !== undefined && !isOffered) return false
    return (wasNotTaken || (isPassing && this.#isRepeatable)) && this.#retry(wait, again)
  }

  /** Schedules another attempt to resume an answer. */
  resume(retryMs: number | undefined, again: () => void): boolean {
    const { limits, reconnectMs, pause } = this.#target
    if (this.#resumed >= limits.resumesMax) return false
    const grown = (retryMs ?? reconnectMs) * 2 ** this.#resumed++
    this.#after(Math.max(grown, pause.leftMs), again)
    return true
  }

  /** The same where the attempt was refused with a status that passes; 409 says that we have not been missed yet. */
  resumeAfter({ status }: HttpAnswer, retryMs: number | undefined, again: () => void): boolean {
    const isPassing = status === 409 || status === 429 || status >= 500
    return isPassing && this.resume(retryMs, again)
  }

  /** The server is at work on it. */
  progressed(): void {
    this.#resumed = 0
  }

  #retry(waitMs: number | undefined, again: () => void): boolean {
    const { retries, retryDelayMs, timers } = this.#target
    if (this.#retried >= retries) return false
    const grown = retryDelayMs * 2 ** this.#retried++
    this.#after(waitMs ?? grown * (0.8 + 0.4 * timers.random()), again)
    return true
  }

  #after(delayMs: number, again: () => void): void {
    const { timers, limits } = this.#target
    this.#timer?.cancel()
    this.#timer = timers.setTimer(Math.min(delayMs, limits.retryAfterMsMax), () => {
      this.#timer = undefined
      again()
    })
  }
}

type Clocks = Pick<Runtime, 'now' | 'wallNow'>

/** How long a server asked to be left alone, by `Retry-After` on a 429 or a 503. All sessions with one server share one. */
export class HttpPause {
  readonly #clocks: Clocks
  readonly #msMax: number
  #until = 0
  #status = 0

  /** No pause is longer than `msMax`. */
  constructor(clocks: Clocks, msMax: number) {
    this.#clocks = clocks
    this.#msMax = msMax
  }

  /** How long the pause still lasts; 0 when there is none. */
  get leftMs(): number {
    // Nearly always there has never been one, and the clock need not be read.
    return this.#until === 0 ? 0 : Math.max(0, this.#until - this.#clocks.now())
  }

  /** The status with which the server asked for the pause. */
  get status(): number {
    return this.#status
  }

  learn(answer: HttpAnswer): void {
    if (answer.status !== 429 && answer.status !== 503) return
    const waitMs = retryAfterMs(answer, this.#clocks)
    if (waitMs === undefined) return
    this.#status = answer.status
    this.#until = Math.max(this.#until, this.#clocks.now() + Math.min(waitMs, this.#msMax))
  }
}

/** A date in any of the three forms of HTTP (RFC 9110, section 5.6.7); the engine takes nearly every text for one. */
const httpDate = /^(?:mon|tue|wed|thu|fri|sat|sun)[a-z]{0,6},? .*\d:\d\d/i

/** Seconds, or a date (RFC 9110, section 10.2.3), which counts by the clock of the server, and by ours where it tells none. */
export function retryAfterMs(
  answer: Pick<HttpAnswer, 'get'>,
  clocks: Pick<Clocks, 'wallNow'>,
): number | undefined {
  const wait = answer.get('retry-after')
  if (wait === undefined) return undefined
  if (/^\d{1,9}$/.test(wait)) return Number(wait) * 1000
  const until = httpDate.test(wait) ? Date.parse(wait) : Number.NaN
  if (Number.isNaN(until)) return undefined
  const now = Date.parse(answer.get('date') ?? '')
  return Math.max(0, until - (Number.isNaN(now) ? clocks.wallNow() : now))
}

const METHODS_MAX = 100

/**
 * Refusals by one server, over its sessions, that may be the answer to a request, and may mean that the session is forgotten.
 *
 * A server may answer 404 to a list that it does not know, and 200 with an error about a session of its own. The same refusal in
 * the next session is the answer; taken for a lost session, it would cost a session each time.
 */
export class DoubtfulRefusals {
  /** In which session a method was refused last, and whether the session before it was told the same. */
  readonly #refused = new Map<string, { readonly session: object; readonly isAnswer: boolean }>()

  /** Whether this refusal is about the request, and not about the session that asks. */
  isAnswer(method: string, session: object): boolean {
    const last = this.#refused.get(method)
    if (last?.session === session) return last.isAnswer
    if (this.#refused.size >= METHODS_MAX) this.#refused.clear()
    this.#refused.set(method, { session, isAnswer: last !== undefined })
    return last !== undefined
  }

  /** The server has answered with a result. */
  given(method: string | undefined): void {
    if (this.#refused.size > 0 && method !== undefined) this.#refused.delete(method)
  }
}
