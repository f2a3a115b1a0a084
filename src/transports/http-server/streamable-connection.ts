// The connection of one client that speaks over many requests.
//
// Each message leaves on exactly one response (MCP 2025-03-26, Transports,
// Multiple connections): what belongs to a request on the response to its POST,
// all else on the client's standalone stream, where it waits until there is one.

import type { Message } from '../../jsonrpc/splice.js'
import { TransportError, fault } from '../../jsonrpc/jsonrpc-errors.js'
import type { Connection, MessageHead, Reply, Sink } from '../../jsonrpc/connection.js'
import { ChurnMap } from '../../jsonrpc/fast/churn-map.js'
import type { Waits } from '../../runtime/timeout-queue.js'
import type { Accepts } from './access.js'
import type { PostedMessage } from './body.js'
import type { HttpAttached, HttpEnvironment, HttpRevision } from './endpoint.js'
import { type AnswerStatus, PostReply } from './post-reply.js'
import { ClientInbox } from './client-inbox.js'
import { statusOf } from './protocol.js'
import type { HttpResponse } from '../http1/server.js'
import type { RegisteredSession } from './sessions.js'
import { HttpStreams, type ListenState, type StreamSession } from './streams.js'

/**
 * How long a connection lasts: as its session; as long as it is used, shared by requests without a session, each
 * of which its client cancels by leaving; or for one message.
 */
export type ConnectionLife =
  ({ readonly kind: 'session' } & StreamSession) | { readonly kind: 'shared' | 'single' }

/** One client of Streamable HTTP, in its session or without one. */
export class StreamableConnection implements Connection, RegisteredSession {
  readonly transport = 'http'
  /** Known before the first message comes. */
  attached: HttpAttached | undefined
  readonly streams: HttpStreams
  /** For how long nothing is said while there is no answer. */
  readonly waits: Waits
  readonly #life: ConnectionLife
  readonly #closed: () => void
  readonly #inbox: ClientInbox
  /** Those of requests that wait for their answers. */
  readonly #replies = new ChurnMap<number, PostReply>()
  #posts = 0
  #hasOpened = false

  constructor(environment: HttpEnvironment, waits: Waits, life: ConnectionLife, closed: () => void) {
    this.#life = life
    this.waits = waits
    this.#closed = closed
    this.#inbox = new ClientInbox(environment.limits, (cause) => this.#end(cause))
    this.streams = new HttpStreams(
      environment,
      life.kind === 'session' ? life : undefined,
      () => this.revision.primesStreams,
      () => this.measure(),
    )
  }

  get revision(): HttpRevision {
    if (this.attached === undefined) throw fault('the client is attached')
    return this.attached.revision
  }

  get congested(): boolean {
    return this.#inbox.congested
  }

  get backlogBytes(): number {
    return this.streams.backlogBytes
  }

  get open(): boolean {
    return this.#inbox.open
  }

  /** Whether requests of several clients without a session come on it. */
  get isShared(): boolean {
    return this.#life.kind === 'shared'
  }

  /** Whether its client may read later what a response carried that it has lost. */
  get isResumable(): boolean {
    return this.#life.kind === 'session'
  }

  /** Ends the response that its client does not read; nothing where all responses are of one client. */
  cutSlowest(): number {
    return this.isShared ? this.streams.cutSlowest() : 0
  }

  /** Whether the client listens, or waits for an answer. */
  get busy(): boolean {
    return this.#replies.size > 0 || this.streams.attached
  }

  start(sink: Sink): void {
    this.#inbox.start(sink)
  }

  /** Sends what belongs to no request that is known. */
  send(message: Message, head: MessageHead): void {
    this.tell(message, head, head.kind === 'request' ? this.#latestHeard() : undefined)
  }

  /** A client is never stopped. */
  read(): void {}

  close(atOnce = false): Promise<void> {
    this.#end(undefined)
    if (atOnce) this.streams.abandon()
    return Promise.resolve()
  }

  /** The session ends as soon as what was asked is answered. */
  leave(): void {
    this.#inbox.ended()
  }

  sweep(): void {
    if (this.#life.kind === 'session') this.#life.store.sweep()
  }

  /** Takes what a POST brought, and answers its requests on its response; `isOpening` where it opens the session. */
  post(posted: PostedMessage, response: HttpResponse, accepts: Accepts, isOpening = false): undefined {
    // A client without a session has given up its request by closing the response (MCP 2026-07-28, Utilities: cancellation).
    if (this.isShared && response.isClosed) return
    const asks = posted.frames.some(({ kind }) => kind === 'request')
    const reply = asks ? this.#newReply(posted, response, accepts, isOpening) : undefined
    for (const frame of posted.frames) this.#inbox.frame(frame, reply)
    if (asks) return
    // A client without a session has said everything.
    if (this.#life.kind === 'single') this.#end(undefined)
    response.send(202, [])
  }

  /** Opens the standalone stream, or resumes the one that holds this event. */
  listen(response: HttpResponse, lastEventId: string | undefined): ListenState {
    return this.streams.listen(response, lastEventId)
  }

  // For its replies to call.

  /** The message as it leaves; undefined when it must not. */
  passing(message: Message): Message | undefined {
    return this.#inbox.passingOut(message)
  }

  /** Sends a message before the answer of `reply`, or on the standalone stream. */
  tell(message: Message, { kind, id }: MessageHead, reply: PostReply | undefined): void {
    const wire = this.passing(message)
    if (wire === undefined) return
    const isSent = reply?.during(wire) === true || this.streams.aside(wire)
    // The server must not wait for the answer of a client that cannot be asked.
    if (!isSent && kind === 'request')
      this.#inbox.failed(id, new TransportError('TRANSPORT_IO', 'the client has left'))
    this.measure()
  }

  /** Sees whether the client has left too much unread. */
  measure(): void {
    this.#inbox.measure(this.streams.backlogBytes)
  }

  /** The status of an error that is the whole response; undefined in a session. */
  statusOf(error: Message): AnswerStatus | undefined {
    return this.isShared ? statusOf(error) : undefined
  }

  /** `initialize` is answered. An error leaves without the id of a session, and ends it; a second `initialize` ends nothing. */
  opens(isRefused: boolean): void {
    if (isRefused && !this.#hasOpened) {
      this.streams.fields = []
      setImmediate(() => this.#end(undefined))
    }
    this.#hasOpened ||= !isRefused
  }

  /** The client has closed the response before its answer. */
  gaveUp(reply: Reply): void {
    this.#inbox.gaveUp(reply)
  }

  /** Every request of the POST has its answer, or will have none. */
  answered({ number }: PostReply): void {
    this.#replies.take(number)
    // On the next turn: the caller is still inside its answer.
    if (this.#replies.size === 0 && this.#life.kind === 'single') setImmediate(() => this.#end(undefined))
  }

  #newReply(posted: PostedMessage, response: HttpResponse, accepts: Accepts, isOpening: boolean): PostReply {
    const reply = new PostReply(this, ++this.#posts, posted, response, accepts, isOpening)
    this.#replies.set(reply.number, reply)
    return reply
  }

  /**
   * The response for a question that belongs to no request that is known. A client without the standalone stream would
   * never read the question there, so it is asked on the latest response that it waits for, which should relate to the
   * question and need not (MCP 2025-03-26, Transports).
   */
  #latestHeard(): PostReply | undefined {
    const open = this.streams.listens ? [] : [...this.#replies.values()]
    return open.findLast((reply) => reply.isHeard)
  }

  #end(cause: TransportError | undefined): void {
    this.#inbox.close(cause, () => {
      for (const reply of this.#replies.drain()) reply.end()
      this.streams.close()
      this.#closed()
    })
  }
}
