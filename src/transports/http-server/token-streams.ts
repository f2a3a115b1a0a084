// Event streams last no longer than the tokens with which they were opened.
//
// A request is checked when it comes. A stream goes on, so its token is examined again when its time is over, and when
// the access rules have changed.

import type { HttpEnvironment } from './endpoint.js'
import type { HttpResponse } from '../http1/server.js'
import type { Sender } from './access.js'

/** The longest time that a timer takes; a later end is looked at once more then. */
const TIMER_MS_MAX = 2_147_483_647

/** One open stream. */
export interface TokenStream {
  readonly response: HttpResponse
  readonly sender: Sender
  /** Examines the token again; undefined when it does not open this stream any more, `unknown` while that cannot be found out. */
  readonly examine: () => Promise<Sender | 'unknown' | undefined>
}

/** A stream whose token could not be examined goes on to the end that it had, and this much later it is tried again. */
const AGAIN_MS = 5000

/** The end of a stream, and the timer of its next examination. */
interface Watched {
  readonly untilMs: number
  readonly timer: { cancel(): void }
}

export class TokenStreams {
  readonly #environment: Pick<HttpEnvironment, 'wallNow' | 'setTimer' | 'failed'>
  /** As many as connections at most. */
  readonly #streams = new Map<TokenStream, Watched>()

  constructor(environment: Pick<HttpEnvironment, 'wallNow' | 'setTimer' | 'failed'>) {
    this.#environment = environment
  }

  add(stream: TokenStream): void {
    if (stream.response.isClosed || stream.sender.untilMs === undefined) return
    this.#watch(stream, stream.sender.untilMs)
    stream.response.whenClosed(() => {
      this.#streams.get(stream)?.timer.cancel()
      this.#streams.delete(stream)
    })
  }

  /** The access rules are others now. */
  examineAll(): void {
    for (const stream of this.#streams.keys()) void this.#examine(stream)
  }

  /** Examines it at its end, or before. */
  #watch(stream: TokenStream, untilMs: number, laterMs = TIMER_MS_MAX): void {
    const delayMs = Math.min(Math.max(0, untilMs - this.#environment.wallNow()), laterMs)
    this.#streams.get(stream)?.timer.cancel()
    const timer = this.#environment.setTimer(delayMs, () => void this.#examine(stream))
    this.#streams.set(stream, { untilMs, timer })
  }

  async #examine(stream: TokenStream): Promise<void> {
    const { response } = stream
    const sender = await stream.examine().catch(this.#environment.failed)
    const watched = this.#streams.get(stream)
    if (response.isClosed || watched === undefined) return
    const isInTime = this.#environment.wallNow() < watched.untilMs
    if (sender === 'unknown' && isInTime) this.#watch(stream, watched.untilMs, AGAIN_MS)
    else if (typeof sender === 'object' && sender.untilMs !== undefined) this.#watch(stream, sender.untilMs)
    else if (response.hasBegun) response.end()
    else response.cut()
  }
}
