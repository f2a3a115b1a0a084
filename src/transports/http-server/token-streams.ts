// Event streams last no longer than the tokens with which they were opened.
//
// A request is checked when it comes. A stream goes on, so its token is examined again when its time is over, and when
// the access rules have changed.

import type { HttpEnvironment } from './endpoint.js'
import type { HttpResponse } from '../http1/server.js'
import type { Sender } from './access.js'

/** One open stream. */
export interface TokenStream {
  readonly response: HttpResponse
  readonly sender: Sender
  /** Examines the token again; undefined when it does not open this stream any more, `unknown` while that cannot be found out. */
  readonly examine: () => Promise<Sender | 'unknown' | undefined>
}

/** A stream whose token could not be examined goes on to the end that it had, and after this time its token is examined again. */
const AGAIN_MS = 5000

export class TokenStreams {
  readonly #environment: Pick<HttpEnvironment, 'wallNow' | 'failed'>
  /** The end of each, and the time of its next examination. As many as connections at most. */
  readonly #streams = new Map<TokenStream, { readonly untilMs: number; readonly nextMs: number }>()

  constructor(environment: Pick<HttpEnvironment, 'wallNow' | 'failed'>) {
    this.#environment = environment
  }

  add(stream: TokenStream): void {
    const { untilMs } = stream.sender
    if (stream.response.isClosed || untilMs === undefined) return
    this.#streams.set(stream, { untilMs, nextMs: untilMs })
    stream.response.whenClosed(() => this.#streams.delete(stream))
  }

  /** Examines those whose time has come; all where the access rules are others now. */
  sweep(isAll = false): void {
    const nowMs = this.#environment.wallNow()
    for (const [stream, { untilMs, nextMs }] of this.#streams)
      if (isAll || nextMs <= nowMs) void this.#examine(stream, untilMs)
  }

  async #examine(stream: TokenStream, untilMs: number): Promise<void> {
    const { response, examine } = stream
    this.#streams.set(stream, { untilMs, nextMs: Infinity })
    const sender = await examine().catch(this.#environment.failed)
    if (response.isClosed) return
    const nowMs = this.#environment.wallNow()
    if (sender === 'unknown' && nowMs < untilMs)
      this.#streams.set(stream, { untilMs, nextMs: Math.min(untilMs, nowMs + AGAIN_MS) })
    else if (typeof sender === 'object' && sender.untilMs !== undefined)
      this.#streams.set(stream, { untilMs: sender.untilMs, nextMs: sender.untilMs })
    else if (response.hasBegun) response.end()
    else response.cut()
  }
}
