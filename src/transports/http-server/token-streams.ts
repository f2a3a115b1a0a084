// Event streams last no longer than the tokens with which they were opened.
//
// A stream outlasts the check of its request, so the front examines its token again when that expires, and when the access
// rules change.

import type { HttpEnvironment } from './endpoint.js'
import type { HttpResponse } from '../http1/server.js'
import type { Sender } from './access.js'

interface TokenStream {
  readonly response: HttpResponse
  readonly sender: Sender
  /** Examines the token again; undefined when it does not open this stream any more. */
  readonly examine: () => Promise<Sender | undefined>
}

export class TokenStreams {
  readonly #environment: Pick<HttpEnvironment, 'wallNow' | 'failed'>
  /** The time of the next examination of each; Infinity during one. As many as connections at most. */
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

  /** Examines the tokens that have expired; all when the access rules have changed. */
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
