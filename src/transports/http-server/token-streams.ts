// Event streams that last no longer than the tokens that opened them.
//
// A stream outlasts the check of its request. So the front checks its token again when the token expires, and
// when the access rules change.

import type { HttpEnvironment } from './endpoint.js'
import type { HttpResponse } from '../http1/server.js'
import type { Sender } from './access.js'

interface TokenStream {
  readonly response: HttpResponse
  readonly sender: Sender
  /** Checks the token again; undefined if it no longer permits this stream. */
  readonly examine: () => Promise<Sender | undefined>
}

export class TokenStreams {
  readonly #environment: Pick<HttpEnvironment, 'wallNow' | 'failed'>
  /** The time of the next check of each stream; Infinity during a check. The limit on connections limits them. */
  readonly #streams = new Map<TokenStream, number>()

  constructor(environment: Pick<HttpEnvironment, 'wallNow' | 'failed'>) {
    this.#environment = environment
  }

  add(stream: TokenStream): void {
    const { untilMs } = stream.sender
    if (stream.response.isClosed || untilMs === undefined) return
    this.#streams.set(stream, untilMs)
    stream.response.whenClosed(() => this.#streams.delete(stream))
  }

  /** Checks the expired tokens, or all tokens after a change of the access rules. */
  sweep(isAll = false): void {
    const nowMs = this.#environment.wallNow()
    for (const [stream, untilMs] of this.#streams) if (isAll || untilMs <= nowMs) void this.#examine(stream)
  }

  async #examine(stream: TokenStream): Promise<void> {
    const { response, examine } = stream
    this.#streams.set(stream, Infinity)
    const untilMs = (await examine().catch(this.#environment.failed))?.untilMs
    if (response.isClosed) return
    if (untilMs !== undefined) this.#streams.set(stream, untilMs)
    else if (response.hasBegun) response.end()
    else response.cut()
  }
}
