// Event streams last no longer than the tokens with which they were opened.
//
// A request is checked when it comes. A stream goes on, so its token is examined again when its time is over, and when
// the access rules have changed.

import type { HttpEnvironment } from './endpoint.js'
import type { HttpResponse } from './response.js'
import type { Sender } from './sender.js'

/** The longest time that a timer takes; a later end is looked at once more then. */
const TIMER_MS_MAX = 2_147_483_647

/** One open stream. */
export interface TokenStream {
  readonly response: HttpResponse
  readonly sender: Sender
  /** Examines the token again; undefined when it does not open this stream any more. */
  readonly examine: () => Promise<Sender | undefined>
}

export class TokenStreams {
  readonly #environment: Pick<HttpEnvironment, 'wallNow' | 'setTimer' | 'failed'>
  /** As many as connections at most. */
  readonly #timers = new Map<TokenStream, { cancel(): void }>()

  constructor(environment: Pick<HttpEnvironment, 'wallNow' | 'setTimer' | 'failed'>) {
    this.#environment = environment
  }

  add(stream: TokenStream): void {
    if (stream.response.isClosed || stream.sender.untilMs === undefined) return
    this.#setTimer(stream, stream.sender.untilMs)
    stream.response.whenClosed(() => {
      this.#timers.get(stream)?.cancel()
      this.#timers.delete(stream)
    })
  }

  /** The access rules are others now. */
  examineAll(): void {
    for (const stream of this.#timers.keys()) this.#examine(stream)
  }

  #setTimer(stream: TokenStream, untilMs: number): void {
    const delayMs = Math.min(Math.max(0, untilMs - this.#environment.wallNow()), TIMER_MS_MAX)
    this.#timers.get(stream)?.cancel()
    this.#timers.set(
      stream,
      this.#environment.setTimer(delayMs, () => this.#examine(stream)),
    )
  }

  #examine(stream: TokenStream): void {
    stream
      .examine()
      .catch((error: unknown) => {
        this.#environment.failed(error)
        return undefined
      })
      .then((sender) => {
        if (stream.response.isClosed) return
        if (sender?.untilMs !== undefined) this.#setTimer(stream, sender.untilMs)
        else if (stream.response.hasBegun) stream.response.end()
        else stream.response.cut()
      })
      .catch((error: unknown) => this.#environment.failed(error))
  }
}
