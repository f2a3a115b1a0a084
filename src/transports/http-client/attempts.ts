// Whether a message is sent again, and when.
//
// A message is sent again only when it cannot take effect twice: no connection was made, the server said
// that it had not accepted it (429, 503 with Retry-After, 401 before a new token), the message only reads,
// or it is an answer, of which the first counts. All attempts are within `retries`, and none is made before
// the time of `Retry-After`.

import type { HttpAnswer } from './answer.js'
import type { HttpTrouble } from './failure.js'
import type { HttpTarget } from './options.js'
import { retryAfterMs } from './pause.js'

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
