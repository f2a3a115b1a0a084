// The connection of one client that speaks over many requests, and the event streams that it has.
//
// Each message leaves on exactly one response (MCP 2025-03-26, Transports,
// Multiple connections): what belongs to a request on the response to its POST,
// all else on the client's standalone stream, where it waits until there is one.

import type { Message } from '../../jsonrpc/splice.js'
import { TransportError, fault } from '../../jsonrpc/jsonrpc-errors.js'
import type { Connection, MessageHead, Reply, Sink } from '../../jsonrpc/connection.js'
import { ChurnMap } from '../../jsonrpc/fast/churn-map.js'
import { setDeadline } from '../../runtime/deadline.js'
import type { Timer } from '../../runtime/runtime.js'
import type { Accepts } from './access.js'
import type { PostedMessage } from './body.js'
import type { HttpAttached, HttpEnvironment, HttpRevision, Owner } from './endpoint.js'
import { type EventStore, EventStream, readEventId, SseWriter } from './event-stream.js'
import { type AnswerStatus, PostReply } from './post-reply.js'
import { ClientInbox } from './client-inbox.js'
import { statusOf } from './protocol.js'
import type { Fields, HttpResponse } from '../http1/server.js'
import { type RegisteredSession, attach } from './sessions.js'

/**
 * How long a connection lasts: as its session, whose events outlive its responses; as long as it is used, shared by requests
 * without a session, each of which its client cancels by leaving; or for one message.
 */
export type ConnectionLife =
  | { readonly kind: 'session'; readonly id: string; readonly store: EventStore }
  | { readonly kind: 'shared' | 'single' }

/** How an attempt to listen ends; `over` where the request was cancelled and the client has all events of it. */
export type ListenState = 'open' | 'busy' | 'unknown' | 'over'

/** The number of the standalone stream. */
const STANDALONE = 0

/** One client of Streamable HTTP, in its session or without one. */
export class StreamableConnection implements Connection, RegisteredSession {
  readonly transport = 'http'
  /** Resolves when its client is attached; undefined from then on. */
  ready: Promise<void> | undefined
  /** It answers what was asked, and ends. */
  isLeaving = false
  /** Known before the first message comes. */
  #attached: HttpAttached | undefined
  /** The fields of every response. */
  fields: Fields
  readonly #environment: HttpEnvironment
  readonly #life: ConnectionLife
  /** Undefined for a client without a session, which can resume nothing and has no standalone stream. */
  readonly #store: EventStore | undefined
  readonly #closed: () => void
  readonly #inbox: ClientInbox
  /** Those of requests that wait for their answers. */
  readonly #replies = new ChurnMap<number, PostReply>()
  #posts = 0
  #hasOpened = false
  readonly #standalone: EventStream
  /** The standalone stream and those of POSTs, by their numbers. */
  readonly #streams = new Map<number, EventStream>()
  #lastStream = STANDALONE
  /** Responses that hold what the client has not taken. */
  readonly #sending = new Set<HttpResponse>()
  /** Those of them whose client has not taken the latest bytes. A client may have hundreds of streams, nearly all of them idle. */
  readonly #behind = new Set<HttpResponse>()

  constructor(environment: HttpEnvironment, life: ConnectionLife, closed: () => void) {
    this.#environment = environment
    this.#life = life
    this.#store = life.kind === 'session' ? life.store : undefined
    this.fields = life.kind === 'session' ? ['mcp-session-id', life.id] : []
    this.#closed = closed
    this.#inbox = new ClientInbox(environment.limits, (cause) => this.#end(cause))
    this.#standalone = new EventStream(STANDALONE, this.#store)
    this.#streams.set(STANDALONE, this.#standalone)
  }

  get revision(): HttpRevision {
    if (this.#attached === undefined) throw fault('the client is attached')
    return this.#attached.revision
  }

  get congested(): boolean {
    return this.#inbox.congested
  }

  get backlogBytes(): number {
    let bytes = 0
    for (const response of this.#behind) {
      if (response.unsentBytes === 0) this.#behind.delete(response)
      bytes += response.unsentBytes
    }
    return bytes
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
    if (!this.isShared) return 0
    let slowest: HttpResponse | undefined
    for (const response of this.#sending)
      if (response.unsentBytes > (slowest?.unsentBytes ?? 0)) slowest = response
    const bytes = slowest?.unsentBytes ?? 0
    slowest?.cut()
    return bytes
  }

  /** Whether the client listens, or waits for an answer. */
  get busy(): boolean {
    return this.#replies.size > 0 || this.#sending.size > 0
  }

  /** Attaches its client; `version` is the revision that the client names. */
  attachTo(owner: Owner, version?: string): Promise<void> {
    this.ready = attach(owner, this, version).then((attached) => {
      this.#attached = attached
      this.ready = undefined
    })
    return this.ready
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
    if (atOnce) for (const response of this.#sending) response.cut()
    return Promise.resolve()
  }

  /** The session ends as soon as what was asked is answered. */
  leave(): void {
    this.isLeaving = true
    this.#inbox.ended()
  }

  sweep(): void {
    this.#store?.sweep()
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

  /** Opens the standalone stream, or goes on with the one that holds the event of that id. */
  listen(response: HttpResponse, lastEventId: string | undefined): ListenState {
    const place = lastEventId === undefined ? undefined : readEventId(lastEventId)
    const stream = lastEventId === undefined ? this.#standalone : this.#streams.get(place?.stream ?? -1)
    if (stream === undefined) return 'unknown'
    if (place === undefined && stream.attached) return 'busy'
    if (place !== undefined && !stream.reaches(place.number)) return 'unknown'
    if (place !== undefined && stream.isOverAfter(place.number)) return 'over'
    this.#write(response, stream, place?.number)
    return 'open'
  }

  // For its replies to call.

  /** Calls back once nothing has been said for as long as a client gets no header. */
  afterSilence(open: () => void): Timer {
    return setDeadline(this.#environment, this.#environment.limits.answerWaitMs, open)
  }

  /** The message as it leaves; undefined when it must not. */
  passing(message: Message): Message | undefined {
    return this.#inbox.passingOut(message)
  }

  /** Sends a message before the answer of `reply`, or on the standalone stream. */
  tell(message: Message, { kind, id }: MessageHead, reply: PostReply | undefined): void {
    const wire = this.passing(message)
    if (wire === undefined) return
    const isSent = reply?.during(wire) === true || (this.#store !== undefined && this.#standalone.send(wire))
    // The server must not wait for the answer of a client that cannot be asked.
    if (!isSent && kind === 'request')
      this.#inbox.failed(id, new TransportError('TRANSPORT_IO', 'the client has left'))
    this.measure()
  }

  /** Sees whether the client has left too much unread. */
  measure(): void {
    this.#inbox.measure(this.backlogBytes)
  }

  /** The status of an error that is the whole response; undefined in a session. */
  statusOf(error: Message): AnswerStatus | undefined {
    return this.isShared ? statusOf(error) : undefined
  }

  /** `initialize` is answered. An error leaves without the id of a session, and ends it; a second `initialize` ends nothing. */
  opens(isRefused: boolean): void {
    if (isRefused && !this.#hasOpened) {
      this.fields = []
      setImmediate(() => this.#end(undefined))
    }
    this.#hasOpened ||= !isRefused
  }

  /** Begins the event stream of a POST. */
  stream(response: HttpResponse): EventStream {
    const stream = new EventStream(++this.#lastStream, this.#store)
    this.#streams.set(stream.number, stream)
    this.#dropEnded()
    this.#write(response, stream)
    return stream
  }

  /** Counts what the client has not taken of this response until it has taken everything. */
  sending(response: HttpResponse): void {
    this.#sending.add(response)
    this.#behind.add(response)
    response.whenClosed(() => {
      this.#sending.delete(response)
      this.#behind.delete(response)
      this.measure()
    })
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
    const open = this.#standalone.attached ? [] : [...this.#replies.values()]
    return open.findLast((reply) => reply.isHeard)
  }

  #write(response: HttpResponse, stream: EventStream, after?: number): void {
    // `gone` is not called for a response that is closed already.
    if (response.isClosed) return
    const writer = new SseWriter(response, this.fields, this.#environment, {
      behind: () => this.#behind.add(response),
      drained: () => this.measure(),
      gone: () => stream.detach(writer),
    })
    this.sending(response)
    stream.attach(writer, after)
    // Replayed events have ids already.
    if (this.#store !== undefined && after === undefined && this.revision.primesStreams)
      stream.prime(this.#environment.limits.retryMs)
  }

  /** A client that lost the end of a stream comes back for it soon, or not at all. */
  #dropEnded(): void {
    if (this.#streams.size <= this.#environment.limits.endedStreamsMax) return
    for (const [number, stream] of this.#streams) {
      if (!stream.ended) continue
      this.#streams.delete(number)
      return
    }
  }

  #end(cause: TransportError | undefined): void {
    this.#inbox.close(cause, () => {
      for (const reply of this.#replies.drain()) reply.end()
      for (const stream of this.#streams.values()) stream.end()
      this.#streams.clear()
      this.#store?.clear()
      this.#closed()
    })
  }
}
