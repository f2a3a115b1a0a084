// The pauses that servers ask for.

import type { HttpAnswer } from '../http1/client.js'
import type { Runtime } from '../../runtime/runtime.js'

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
