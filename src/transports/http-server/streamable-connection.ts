// The connection of one client that speaks over many requests.
//
// Each message leaves on exactly one response (MCP 2025-03-26, Transports,
// Multiple connections): what belongs to a request on the response to its POST,
// all else on the client's standalone stream, where it waits until there is one.

import { TransportError, fault } from '../../jsonrpc/jsonrpc-errors.js'
import type { Connection, FieldReader, MessageHead, Sink } from '../../jsonrpc/connection.js'
import { ChurnMap } from '../../jsonrpc/fast/churn-map.js'
import type { Outgoing, Wire } from '../../jsonrpc/fast/splice-parts.js'
import type { Frame } from '../../jsonrpc/frame.js'
import { type RequestId, canonical } from '../../jsonrpc/request-id.js'
import { SplicedLine } from '../../jsonrpc/splice.js'
import type { Waits } from '../../runtime/timeout-queue.js'
import type { Accepts } from './guard.js'
import type { PostedMessage } from './body.js'
import type { HttpAttached, HttpEnvironment, HttpRevision } from './endpoint.js'
import { type AnswerStatus, Exchange } from './post-reply.js'
import { ClientInbox, cancelledBy } from './client-inbox.js'
import type { RequestHead } from './request-head.js'
import type { HttpResponse } from './response.js'
import type { Kept } from './sessions.js'
import { HttpStreams, type ListenState, type StreamSession } from './streams.js'

/**
 * How long a connection lasts: as its session; as long as it is used, shared by requests without a session, each
 * of which its client cancels by leaving; or for one message.
 */
export type ConnectionLife =
  | ({ readonly kind: 'session' } & StreamSession)
  | { readonly kind: 'shared'; readonly statusOf: (error: Wire) => AnswerStatus }
  | { readonly kind: 'single' }

/** One client of Streamable HTTP, in its session or without one. */
export class StreamableConnection implements Connection, Kept {
  readonly transport = 'http'
  /** Known before the first message comes. */
  attached: HttpAttached | undefined
  readonly #life: ConnectionLife
  readonly #waits: Waits
  readonly #closed: () => void
  readonly #streams: HttpStreams
  readonly #inbox: ClientInbox
  readonly #exchanges = new ChurnMap<RequestId, Exchange>()
  /** The key of the `initialize` that is being answered. */
  #opening: RequestId | undefined
  #opened = false

  constructor(environment: HttpEnvironment, waits: Waits, life: ConnectionLife, closed: () => void) {
    this.#life = life
    this.#waits = waits
    this.#closed = closed
    this.#inbox = new ClientInbox(environment.limits, (cause) => this.#end(cause))
    this.#streams = new HttpStreams(
      environment,
      life.kind === 'session' ? life : undefined,
      () => this.revision.primesStreams,
      () => this.#measure(),
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
    return this.#streams.backlogBytes
  }

  get open(): boolean {
    return this.#inbox.open
  }

  /** Ends the response that its client does not read; nothing where all responses are of one client. */
  cutSlowest(): number {
    return this.#life.kind === 'shared' ? this.#streams.cutSlowest() : 0
  }

  /** Whether the client listens, or waits for an answer. */
  get busy(): boolean {
    return this.#exchanges.size > 0 || this.#streams.attached
  }

  start(sink: Sink): void {
    this.#inbox.start(sink)
  }

  send(message: Outgoing, head: MessageHead): void {
    const wire = message instanceof SplicedLine ? message.joined : message
    if (this.#inbox.passesOut(wire)) this.#route(wire, head)
    this.#measure()
  }

  /** A client is never stopped. */
  read(): void {}

  close(atOnce = false): Promise<void> {
    this.#end(undefined)
    if (atOnce) this.#streams.abandon()
    return Promise.resolve()
  }

  /** The session ends as soon as what was asked is answered. */
  leave(): void {
    this.#inbox.ended()
  }

  sweep(): void {
    if (this.#life.kind === 'session') this.#life.store.sweep()
  }

  /** Whether one of these requests is being answered already. */
  knows(keys: readonly RequestId[]): boolean {
    return keys.some((key) => this.#exchanges.has(key))
  }

  /** Takes what a POST brought, and answers its requests on its response; `isOpening` where it opens the session. */
  post(posted: PostedMessage, response: HttpResponse, accepts: Accepts, isOpening = false): undefined {
    const isShared = this.#life.kind === 'shared'
    // A client without a session has given up its request by closing the response (MCP 2026-07-28, Utilities: cancellation).
    if (isShared && response.isClosed) return
    const { keys, frames, head } = posted
    if (keys.length > 0) {
      const exchange = new Exchange(posted, response, accepts, this.#streams, this.#waits, this.#forget)
      for (const key of keys) this.#exchanges.set(key, exchange)
      if (isOpening) this.#opening = keys[0]
      if (isShared) response.whenClosed(() => this.#left(exchange))
    }
    const field = fieldReader(head)
    for (const frame of frames) this.#deliver(frame, field)
    if (keys.length > 0) return
    // A client without a session has said everything.
    if (this.#life.kind === 'single') this.#end(undefined)
    response.send(202, [])
  }

  /** Opens the standalone stream, or resumes the one that holds this event. */
  listen(response: HttpResponse, lastEventId: string | undefined): ListenState {
    return this.#streams.listen(response, lastEventId)
  }

  /** Sees whether the client has left too much unread. */
  #measure(): void {
    this.#inbox.measure(this.#streams.backlogBytes)
  }

  #deliver(frame: Frame, field: FieldReader): void {
    if (!this.#inbox.frame(frame, field)) return
    const key = cancelledBy(frame)
    // The response ends here, since the server must not answer a cancelled request; `initialize` cannot be cancelled.
    if (key === undefined || key === this.#opening) return
    this.#exchanges.take(key)?.unanswered()
  }

  #route(message: Wire, { kind, id, about }: MessageHead): void {
    const key = about === undefined ? undefined : canonical(about)
    const exchange = key === undefined ? undefined : this.#exchanges.get(key)
    // The standalone stream carries no answers (MCP 2025-03-26, Transports, Listening for Messages from the Server).
    if (kind === 'result' || kind === 'error') {
      if (key !== undefined && exchange !== undefined) this.#answer(exchange, key, message, kind === 'error')
      else if (key === undefined) this.#streams.aside(message)
      return
    }
    const on = key === undefined && kind === 'request' ? this.#latestHeard() : exchange
    // Without a session a client that has left cannot resume the stream of its response.
    const isReached = on !== undefined && (on.isHeard || this.#life.kind === 'session')
    if ((isReached && on.during(message)) || this.#streams.aside(message)) return
    // The server must not wait for the answer of a client that cannot be asked.
    if (kind === 'request') this.#inbox.failed(id, new TransportError('TRANSPORT_IO', 'the client has left'))
  }

  /**
   * The response for a question that belongs to no request that is known. A client without the standalone stream would
   * never read the question there, so it is asked on the latest response that it waits for, which should relate to the
   * question and need not (MCP 2025-03-26, Transports).
   */
  #latestHeard(): Exchange | undefined {
    const open = this.#streams.listens ? [] : [...this.#exchanges.values()]
    return open.findLast((exchange) => exchange.isHeard)
  }

  #answer(exchange: Exchange, key: RequestId, message: Wire, isError: boolean): void {
    this.#exchanges.take(key)
    if (key === this.#opening) {
      this.#opening = undefined
      // A second `initialize` is refused to a session that goes on.
      if (isError && !this.#opened) this.#refused()
      this.#opened ||= !isError
    }
    const status = isError && this.#life.kind === 'shared' ? this.#life.statusOf(message) : undefined
    exchange.answer(message, status)
  }

  /** The answer to `initialize` is an error: it leaves without the id of a session. */
  #refused(): void {
    this.#streams.fields = []
    setImmediate(() => this.#end(undefined))
  }

  readonly #forget = (exchange: Exchange): void => {
    for (const key of exchange.keys) if (this.#exchanges.get(key) === exchange) this.#exchanges.take(key)
    // On the next turn: the caller is still inside its answer.
    if (this.#exchanges.size === 0 && this.#life.kind === 'single') setImmediate(() => this.#end(undefined))
  }

  /** The client has closed an incomplete response, which cancels its requests (MCP 2026-07-28, Utilities: cancellation). */
  #left(exchange: Exchange): void {
    for (const key of exchange.keys) {
      if (this.#exchanges.get(key) !== exchange) continue
      this.#exchanges.take(key)
      exchange.unanswered()
      this.#inbox.gaveUp(key)
    }
  }

  #end(cause: TransportError | undefined): void {
    this.#inbox.close(cause, () => {
      if (this.#exchanges.size > 0) for (const exchange of new Set(this.#exchanges.values())) exchange.end()
      this.#streams.close()
      this.#closed()
    })
  }
}

/** Outside of the class, so that it keeps nothing of the request but its head. */
function fieldReader(head: RequestHead): FieldReader {
  return (name) => head.get(name)
}
