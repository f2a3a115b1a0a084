// One POST with requests, and its one response.
//
// If the answers are the first messages and arrive soon, they are the body, unless the client names events
// first. Any other message, or a wait, turns the response into an event stream. Until then the front sends no
// header, so an early refusal keeps its status code. A client that leaves its session has not cancelled (MCP
// 2025-03-26, Transports): the connection stores the events that it can resume, and drops all others.

import type { Message } from '../../jsonrpc/splice.js'
import type { AnswerKind, MessageHead, Reply } from '../../jsonrpc/connection.js'
import type { RequestId } from '../../jsonrpc/request-id.js'
import type { Accepts } from './access.js'
import type { PostedMessage } from './body.js'
import type { EventStream } from './event-stream.js'
import { statusOf } from './protocol.js'
import { mayBeTask } from './session-tasks.js'
import type { Fields, HttpResponse } from '../http1/server.js'
import type { ClientConnection } from './client-connection.js'

/** From this size on, the backlog of the client includes the unsent bytes of a body. */
const LARGE_BYTES = 64 * 1024

/** The status of a response that is one answer, and its additional fields. */
export interface AnswerStatus {
  readonly status: number
  readonly fields: Fields
}

const okStatus: AnswerStatus = { status: 200, fields: [] }

export class PostReply implements Reply {
  readonly isCancelledByClosing: boolean
  readonly field: Reply['field'] = (name) => this.#head.fields.get(name)
  readonly number: number
  /** Whether it answers the `initialize` that opens the session. */
  readonly isOpening: boolean
  readonly askedMs: number
  readonly #head: PostedMessage['head']
  readonly #connection: ClientConnection
  /** Undefined for a batch. */
  readonly #request: RequestId | undefined
  readonly #hold: PostedMessage['hold']
  readonly #response: HttpResponse
  readonly #accepts: Accepts
  /** Whether other instances may get requests about a task that the answer begins. */
  readonly #mayBeTask: boolean
  #isPending = true
  #stream: EventStream | undefined

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
    this.number = number
    this.isOpening = isOpening
    this.askedMs = askedMs
    this.#head = head
    this.#connection = connection
    const [frame] = frames
    this.#request = frame?.kind === 'request' && !isBatch ? frame.id : undefined
    this.#hold = hold
    this.#response = response
    this.#accepts = accepts
    this.#mayBeTask = connection.sharesTasks && frames.some(mayBeTask)
    hold?.hold()
    if (this.isCancelledByClosing) response.whenClosed(() => this.#left())
  }

  /** Whether the response can carry events and the client still reads it. */
  get canStream(): boolean {
    return this.#isPending && this.#accepts.stream && (this.#stream?.isAttached ?? !this.#response.isClosed)
  }

  answer(message: Message, kind: AnswerKind): void {
    if (!this.#isPending || !this.#connection.passes(message)) return
    this.#isPending = false
    if (this.isOpening) this.#connection.opens(kind === 'error')
    if (this.#mayBeTask) this.#connection.claimTask(message)
    const status = kind === 'error' && this.isCancelledByClosing ? statusOf(message) : okStatus
    // An event stream always has the status 200.
    const isEvent = this.#accepts.prefersStream && status === okStatus && !this.#response.isClosed
    if (this.#stream !== undefined || isEvent) this.#open().send(message, true)
    else this.#sendBody(message, status)
    this.#finish()
    this.#connection.measure()
  }

  drop(): void {
    this.#endWithout(202)
  }

  tell(message: Message, head: MessageHead): void {
    this.#connection.tell(message, head, this)
  }

  /** Sends a message before the answers. Returns false if no client can get it. */
  during(message: Message): boolean {
    // Only a client with a session can resume the stream of a lost response.
    const isReached = this.canStream || (this.#connection.kind === 'session' && this.#isPending)
    if (!isReached || !this.#accepts.stream) return false
    this.#open().send(message)
    return true
  }

  /** Begins the event stream, because no answer has arrived in time. */
  waited(): void {
    if (this.#accepts.stream) this.#open()
  }

  /** The session has ended. */
  end(): void {
    this.#endWithout(503)
  }

  /** The client has closed an incomplete response, which cancels its request (MCP 2026-07-28, Utilities: cancellation). */
  #left(): void {
    if (!this.#isPending) return
    this.drop()
    this.#connection.gaveUp(this)
  }

  #open(): EventStream {
    this.#stream ??= this.#connection.stream(this.#response, this.#request)
    return this.#stream
  }

  #sendBody(message: Message, { status, fields }: AnswerStatus): void {
    const response = this.#response
    const connection = this.#connection
    if (response.isClosed) return
    response.sendText(status, message, [...connection.fields, ...fields])
    if (response.unsentBytes > LARGE_BYTES) connection.sending(response)
  }

  #endWithout(status: number): void {
    if (!this.#isPending) return
    this.#isPending = false
    if (this.#stream === undefined && !this.#response.isClosed)
      this.#response.send(status, this.#connection.fields)
    this.#finish()
  }

  #finish(): void {
    this.#stream?.end()
    this.#hold?.release()
    this.#connection.answered(this)
  }
}
