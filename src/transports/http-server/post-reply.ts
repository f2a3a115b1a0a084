// One POST that holds requests, and its one response.
//
// When the answers are the first thing to say and come soon, they are the body,
// unless the client prefers events. Anything else, or a wait, turns the response into an event stream; until then
// no header is sent, so that an early refusal keeps its status code. A client
// that disconnects from its session has not cancelled (MCP 2025-03-26, Transports): events that it can resume are kept,
// and all others are dropped.

import type { Message } from '../../jsonrpc/splice.js'
import { buildBatch } from '../../jsonrpc/build.js'
import type { AnswerKind, MessageHead, Reply } from '../../jsonrpc/connection.js'
import type { Timer } from '../../runtime/runtime.js'
import type { Accepts } from './access.js'
import type { PostedMessage } from './body.js'
import type { EventStream } from './event-stream.js'
import type { Fields, HttpResponse } from '../http1/server.js'
import type { ClientConnection } from './client-connection.js'

/** From this size on, unsent bytes of a body count for its client. */
const LARGE_BYTES = 64 * 1024

/** The status of a response that is one answer, and the fields that it has for that. */
export interface AnswerStatus {
  readonly status: number
  readonly fields: Fields
}

const okStatus: AnswerStatus = { status: 200, fields: [] }

/** The way back of the request, or of each request of the batch, in one POST. */
export class PostReply implements Reply {
  readonly isCancelledByClosing: boolean
  readonly field: (name: string) => string | undefined
  /** Its number among those of its connection. */
  readonly number: number
  /** Whether it answers the `initialize` that opens the session. */
  readonly isOpening: boolean
  readonly #connection: ClientConnection
  readonly #isBatch: boolean
  readonly #hold: PostedMessage['hold']
  readonly #response: HttpResponse
  readonly #accepts: Accepts
  /** Requests that have no answer yet. */
  #pending: number
  readonly #answers: Message[] = []
  readonly #wait: Timer | undefined
  #stream: EventStream | undefined
  #hasAnswer = false
  #status = okStatus
  /** The status where no request has an answer: they were cancelled, unless the session ended. */
  #statusOfNothing = 202

  /** Keeps no bytes of the message. */
  constructor(
    connection: ClientConnection,
    number: number,
    { head, frames, isBatch, hold }: PostedMessage,
    response: HttpResponse,
    accepts: Accepts,
    isOpening: boolean,
  ) {
    this.isCancelledByClosing = connection.kind === 'shared'
    this.field = fieldReader(head)
    this.number = number
    this.isOpening = isOpening
    this.#connection = connection
    this.#isBatch = isBatch
    this.#hold = hold
    this.#response = response
    this.#accepts = accepts
    this.#pending = frames.filter(({ kind }) => kind === 'request').length
    hold?.begin()
    if (accepts.stream) this.#wait = connection.afterSilence(() => this.#open())
    if (this.isCancelledByClosing) response.whenClosed(() => this.#left())
  }

  /** Whether its response can carry events and is still read. */
  get isHeard(): boolean {
    return this.#pending > 0 && this.#accepts.stream && (this.#stream?.attached ?? !this.#response.isClosed)
  }

  answer(message: Message, kind: AnswerKind): void {
    if (this.#pending === 0 || !this.#connection.passes(message)) return
    this.#hasAnswer = true
    if (this.isOpening) this.#connection.opens(kind === 'error')
    if (kind === 'error') this.#status = this.#connection.statusOf(message) ?? okStatus
    if (this.#stream === undefined) this.#answers.push(message)
    else this.#stream.send(message)
    this.drop()
    this.#connection.measure()
  }

  drop(): void {
    if (this.#pending === 0) return
    this.#pending--
    if (this.#pending === 0) this.#finish()
  }

  tell(message: Message, head: MessageHead): void {
    this.#connection.tell(message, head, this)
  }

  /** Says something before the answers; false when that reaches no client. */
  during(message: Message): boolean {
    // Without a session a client that has left cannot resume the stream of its response.
    const isReached = this.isHeard || (this.#connection.kind === 'session' && this.#pending > 0)
    if (!isReached || !this.#accepts.stream) return false
    this.#open().send(message)
    return true
  }

  /** The session ends: nothing more is said here. */
  end(): void {
    this.#pending = 0
    this.#statusOfNothing = 503
    this.#finish()
  }

  /** The client has closed an incomplete response, which cancels its request (MCP 2026-07-28, Utilities: cancellation). */
  #left(): void {
    if (this.#pending === 0) return
    this.drop()
    this.#connection.gaveUp(this)
  }

  #open(): EventStream {
    this.#wait?.cancel()
    if (this.#stream !== undefined) return this.#stream
    this.#stream = this.#connection.stream(this.#response)
    for (const message of this.#answers.splice(0)) this.#stream.send(message)
    return this.#stream
  }

  #finish(): void {
    this.#wait?.cancel()
    if (this.#stream === undefined) this.#sendBody()
    else if (this.#hasAnswer) this.#stream.end()
    else this.#stream.cancel()
    this.#hold?.end()
    this.#connection.answered(this)
  }

  #sendBody(): void {
    const response = this.#response
    if (response.isClosed) return
    const connection = this.#connection
    const [first] = this.#answers
    if (first === undefined) return response.send(this.#statusOfNothing, connection.fields)
    // A stream has no status but 200.
    if (this.#accepts.prefersStream && this.#status === okStatus) return this.#open().end()
    const body = this.#isBatch ? buildBatch(this.#answers) : first
    const { status, fields } = this.#status
    response.sendJson(status, body, [...connection.fields, ...fields])
    if (response.unsentBytes > LARGE_BYTES) connection.sending(response)
  }
}

/** Outside of the class, so that it keeps nothing of the request but its head. */
function fieldReader(head: PostedMessage['head']): (name: string) => string | undefined {
  return (name) => head.get(name)
}
