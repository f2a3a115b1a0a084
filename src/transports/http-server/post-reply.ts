// One POST that holds requests, and its one response.
//
// When the answers are the first messages and come soon, they are the body, unless the client names events first. Any other
// message, or a wait, turns the response into an event stream; until then the front sends no header, so that an early refusal
// keeps its status code. A client that disconnects from its session has not cancelled (MCP 2025-03-26, Transports): the
// connection stores the events that the client can resume, and drops all others.

import type { Message } from '../../jsonrpc/splice.js'
import { buildBatch } from '../../jsonrpc/build.js'
import type { AnswerKind, MessageHead, Reply } from '../../jsonrpc/connection.js'
import type { RequestId } from '../../jsonrpc/request-id.js'
import type { Accepts } from './access.js'
import type { PostedMessage } from './body.js'
import type { EventStream } from './event-stream.js'
import { statusOf } from './protocol.js'
import { mayBeTask } from './session-tasks.js'
import type { Fields, HttpResponse } from '../http1/server.js'
import type { ClientConnection } from './client-connection.js'

/** From this size on, unsent bytes of a body count for its client. */
const LARGE_BYTES = 64 * 1024

/** The status of a response that is one answer, and its further fields. */
export interface AnswerStatus {
  readonly status: number
  readonly fields: Fields
}

const okStatus: AnswerStatus = { status: 200, fields: [] }

/** The way back of the request, or of each request of the batch, in one POST. */
export class PostReply implements Reply {
  readonly isCancelledByClosing: boolean
  readonly field: (name: string) => string | undefined
  readonly number: number
  /** Whether it answers the `initialize` that opens the session. */
  readonly isOpening: boolean
  readonly askedMs: number
  readonly #connection: ClientConnection
  readonly #isBatch: boolean
  /** Undefined for a batch. */
  readonly #request: RequestId | undefined
  readonly #hold: PostedMessage['hold']
  readonly #response: HttpResponse
  readonly #accepts: Accepts
  /** Whether other instances may be asked about a task that its answer begins. */
  readonly #mayBeTask: boolean
  /** The number of requests without an answer. */
  #pending: number
  readonly #answers: Message[] = []
  #stream: EventStream | undefined
  #status = okStatus
  /** The status where no request has an answer: they were cancelled, unless the session ended. */
  #statusOfNothing = 202

  /** Must not keep the bytes of the message. */
  constructor(
    connection: ClientConnection,
    number: number,
    { head, frames, isBatch, hold }: PostedMessage,
    response: HttpResponse,
    accepts: Accepts,
    isOpening: boolean,
    askedMs: number,
  ) {
    this.isCancelledByClosing = connection.kind === 'shared'
    this.field = fieldReader(head)
    this.number = number
    this.isOpening = isOpening
    this.askedMs = askedMs
    this.#connection = connection
    this.#isBatch = isBatch
    const [frame] = frames
    this.#request = frame?.kind === 'request' && !isBatch ? frame.id : undefined
    this.#hold = hold
    this.#response = response
    this.#accepts = accepts
    this.#mayBeTask = connection.sharesTasks && frames.some(mayBeTask)
    this.#pending = frames.filter(({ kind }) => kind === 'request').length
    hold?.hold()
    if (this.isCancelledByClosing) response.whenClosed(() => this.#left())
  }

  /** Whether its response can carry events and is still read. */
  get isHeard(): boolean {
    return this.#pending > 0 && this.#accepts.stream && (this.#stream?.attached ?? !this.#response.isClosed)
  }

  answer(message: Message, kind: AnswerKind): void {
    if (this.#pending === 0 || !this.#connection.passes(message)) return
    if (this.isOpening) this.#connection.opens(kind === 'error')
    if (this.#mayBeTask) this.#connection.claimTask(message)
    if (kind === 'error' && this.isCancelledByClosing) this.#status = statusOf(message)
    if (this.#stream === undefined) this.#answers.push(message)
    else this.#stream.send(message, true)
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

  /** Sends a message before the answers; false when no client can get it. */
  during(message: Message): boolean {
    // Only a client with a session can resume the stream of a lost response.
    const isReached = this.isHeard || (this.#connection.kind === 'session' && this.#pending > 0)
    if (!isReached || !this.#accepts.stream) return false
    this.#open().send(message)
    return true
  }

  /** No answer has come for a while. */
  waited(): void {
    if (this.#accepts.stream) this.#open()
  }

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
    if (this.#stream !== undefined) return this.#stream
    this.#stream = this.#connection.stream(this.#response, this.#request)
    for (const message of this.#answers.splice(0)) this.#stream.send(message, true)
    return this.#stream
  }

  #finish(): void {
    if (this.#stream === undefined) this.#sendBody()
    else this.#stream.end()
    this.#hold?.release()
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
    response.sendText(status, body, [...connection.fields, ...fields])
    if (response.unsentBytes > LARGE_BYTES) connection.sending(response)
  }
}

/** A function outside of the class, because a closure inside would keep the bytes of the request. */
function fieldReader(head: PostedMessage['head']): (name: string) => string | undefined {
  return (name) => head.get(name)
}
