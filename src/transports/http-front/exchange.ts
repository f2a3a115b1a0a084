// One POST that holds requests, and its one response.
//
// When the answers are the first thing to say and come soon, they are the body,
// unless the client prefers events. Anything else, or a wait, turns the response into an event stream; until then
// no header is sent, so that an early refusal keeps its status code. A client
// that disconnects has not cancelled (MCP 2025-03-26, Transports): what it can
// resume is kept, and the rest is said to nobody.

import type { ServerResponse } from 'node:http'
import { buildBatch } from '../../jsonrpc/build.js'
import type { RequestId } from '../../jsonrpc/request-id.js'
import { type Wire, joinedWire } from '../../jsonrpc/splice-parts.js'
import type { HttpTimer, SetTimer } from './clock.js'
import type { EventStream } from './event-stream.js'
import type { Accepts } from './accept.js'
import { sendEmpty, sendJson } from './reply.js'

/** What is left of a body that a client did not take at once. */
const LARGE_BYTES = 64 * 1024

export interface ExchangeParts {
  readonly response: ServerResponse
  /** The requests, by their keys. */
  readonly keys: readonly RequestId[]
  readonly isBatch: boolean
  readonly accepts: Accepts
  readonly answerWaitMs: number
  readonly setTimer: SetTimer
  /** Fields that the response has either way. */
  headers(): Readonly<Record<string, string>>
  /** Opens an event stream on the response. */
  openStream(response: ServerResponse): EventStream
  /** A body larger than the client may take at once is being sent. */
  sending(response: ServerResponse): void
  /** Every request has its answer, or will have none. */
  done(): void
}

/** What is being answered on one response. */
export class Exchange {
  readonly #parts: ExchangeParts
  readonly #pending: Set<RequestId>
  readonly #answers: Wire[] = []
  readonly #timer: HttpTimer | undefined
  #stream: EventStream | undefined
  /** What is said where no request has an answer: they were cancelled, unless the session ended. */
  #statusOfNothing = 202

  constructor(parts: ExchangeParts) {
    this.#parts = parts
    this.#pending = new Set(parts.keys)
    if (parts.accepts.stream) this.#timer = parts.setTimer(parts.answerWaitMs, () => this.#open())
  }

  /** The answer to the request with this key. */
  answer(key: RequestId, message: Wire): void {
    this.#pending.delete(key)
    if (this.#stream === undefined) this.#answers.push(message)
    else this.#stream.send(message)
    this.#finishIfDone()
  }

  /** There will be no answer to the request with this key. */
  unanswered(key: RequestId): void {
    this.#pending.delete(key)
    this.#finishIfDone()
  }

  /** Says something before the answers; false when this client takes nothing but them. */
  during(message: Wire): boolean {
    if (!this.#parts.accepts.stream) return false
    this.#open()?.send(message)
    return true
  }

  /** The session ends: nothing more will be said here. */
  end(): void {
    this.#pending.clear()
    this.#statusOfNothing = 503
    this.#finishIfDone()
  }

  #open(): EventStream | undefined {
    this.#timer?.cancel()
    if (this.#stream !== undefined) return this.#stream
    this.#stream = this.#parts.openStream(this.#parts.response)
    for (const message of this.#answers.splice(0)) this.#stream.send(message)
    return this.#stream
  }

  #finishIfDone(): void {
    if (this.#pending.size > 0) return
    this.#timer?.cancel()
    if (this.#stream !== undefined) this.#stream.end()
    else if (!this.#parts.response.destroyed) this.#sendBody()
    this.#parts.done()
  }

  #sendBody(): void {
    const { response, isBatch, accepts } = this.#parts
    const [first] = this.#answers
    if (first === undefined) return sendEmpty(response, this.#statusOfNothing, this.#parts.headers())
    if (accepts.prefersStream) {
      this.#open()?.end()
      return
    }
    sendJson(
      response,
      200,
      isBatch ? buildBatch(this.#answers.map(joinedWire)) : first,
      this.#parts.headers(),
    )
    if (response.writableLength > LARGE_BYTES) this.#parts.sending(response)
  }
}
