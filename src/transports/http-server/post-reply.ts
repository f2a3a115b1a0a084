// One POST that holds requests, and its one response.
//
// When the answers are the first thing to say and come soon, they are the body,
// unless the client prefers events. Anything else, or a wait, turns the response into an event stream; until then
// no header is sent, so that an early refusal keeps its status code. A client
// that disconnects from its session has not cancelled (MCP 2025-03-26, Transports): events that it can resume are kept,
// and all others are dropped.

import { buildBatch } from '../../jsonrpc/build.js'
import { type Wire, joinedWire } from '../../jsonrpc/fast/splice-parts.js'
import type { Wait, Waiting, Waits } from '../../runtime/timeout-queue.js'
import type { RequestId } from '../../jsonrpc/request-id.js'
import type { Accepts } from './guard.js'
import type { BodyReservation, PostedMessage } from './body.js'
import type { EventStream } from './event-stream.js'
import type { Fields, HttpResponse } from './response.js'
import type { HttpStreams } from './streams.js'

/** From this size on, unsent bytes of a body count for its client. */
const LARGE_BYTES = 64 * 1024

/** The status of a response that is one answer, and the fields that it has for that. */
export interface AnswerStatus {
  readonly status: number
  readonly fields: Fields
}

const okStatus: AnswerStatus = { status: 200, fields: [] }

/** The request or batch that is answered on one response. */
export class Exchange implements Waiting {
  /** The keys of its requests. */
  readonly keys: readonly RequestId[]
  readonly #isBatch: boolean
  readonly #hold: BodyReservation | undefined
  readonly #response: HttpResponse
  readonly #accepts: Accepts
  readonly #streams: HttpStreams
  readonly #waits: Waits
  readonly #done: (exchange: Exchange) => void
  /** Requests that have no answer yet. */
  #pending: number
  readonly #answers: Wire[] = []
  readonly #wait: Wait | undefined
  #stream: EventStream | undefined
  #hasAnswer = false
  #status = okStatus
  /** The status where no request has an answer: they were cancelled, unless the session ended. */
  #statusOfNothing = 202

  /**
   * Keeps no bytes of the message. `waits` is for how long nothing is said while there is no answer; `done` is called
   * when every request has its answer, or will have none.
   */
  constructor(
    { keys, isBatch, hold }: PostedMessage,
    response: HttpResponse,
    accepts: Accepts,
    streams: HttpStreams,
    waits: Waits,
    done: (exchange: Exchange) => void,
  ) {
    this.keys = keys
    this.#isBatch = isBatch
    this.#hold = hold
    this.#response = response
    this.#accepts = accepts
    this.#streams = streams
    this.#waits = waits
    this.#done = done
    this.#pending = keys.length
    hold?.begin()
    if (accepts.stream) this.#wait = waits.begin(this)
  }

  /** The answer to one of its requests, for each once; `status` is for a response which is this answer alone. */
  answer(message: Wire, status: AnswerStatus = okStatus): void {
    this.#pending--
    this.#hasAnswer = true
    this.#status = status
    if (this.#stream === undefined) this.#answers.push(message)
    else this.#stream.send(message)
    this.#finishIfDone()
  }

  /** There will be no answer to one of its requests. */
  unanswered(): void {
    this.#pending--
    this.#finishIfDone()
  }

  /** Whether its response can carry events, and is still read. */
  get isHeard(): boolean {
    return this.#accepts.stream && (this.#stream?.attached ?? !this.#response.isClosed)
  }

  /** Says something before the answers; false when this client takes nothing but them. */
  during(message: Wire): boolean {
    if (!this.#accepts.stream) return false
    this.#open().send(message)
    return true
  }

  /** The session ends: nothing more will be said here. */
  end(): void {
    this.#pending = 0
    this.#statusOfNothing = 503
    this.#finishIfDone()
  }

  waited(): void {
    this.#open()
  }

  #open(): EventStream {
    this.#stopWaiting()
    if (this.#stream !== undefined) return this.#stream
    this.#stream = this.#streams.open(this.#response)
    for (const message of this.#answers.splice(0)) this.#stream.send(message)
    return this.#stream
  }

  #finishIfDone(): void {
    if (this.#pending > 0) return
    this.#stopWaiting()
    if (this.#stream !== undefined) this.#endStream(this.#stream)
    else if (!this.#response.isClosed) this.#sendBody()
    this.#hold?.end()
    this.#done(this)
  }

  #endStream(stream: EventStream): void {
    if (this.#hasAnswer) stream.end()
    else stream.cancel()
  }

  #sendBody(): void {
    const response = this.#response
    const [first] = this.#answers
    if (first === undefined) return response.send(this.#statusOfNothing, this.#streams.fields)
    // A stream has no status but 200.
    if (this.#accepts.prefersStream && this.#status === okStatus) return this.#open().end()
    const body = this.#isBatch ? buildBatch(this.#answers.map(joinedWire)) : first
    const { status, fields } = this.#status
    response.sendJson(status, body, [...this.#streams.fields, ...fields])
    if (response.unsentBytes > LARGE_BYTES) this.#streams.sending(response)
  }

  #stopWaiting(): void {
    if (this.#wait !== undefined) this.#waits.cancel(this.#wait)
  }
}
