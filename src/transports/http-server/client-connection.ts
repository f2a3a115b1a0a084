// The connection of one client that uses many requests, and its event streams.
//
// Each message leaves on exactly one response (MCP 2025-03-26, Transports, Multiple connections): on the
// response to the POST that it is about, or on the standalone stream, where it waits until the stream is
// open. With the older transport (MCP 2024-11-05, Transports, HTTP with SSE), all messages leave on one
// stream, whose end ends the connection.

import { buildError, buildNotification } from '../../jsonrpc/build.js'
import type { Message } from '../../jsonrpc/splice.js'
import { TransportError, fault } from '../../jsonrpc/jsonrpc-errors.js'
import type { Connection, MessageHead, Reply, Sink, TransportName } from '../../jsonrpc/connection.js'
import { ChurnMap } from '../../jsonrpc/churn-map.js'
import { type Frame, readFrame } from '../../jsonrpc/frame.js'
import type { Line } from '../../jsonrpc/line.js'
import type { RequestId } from '../../jsonrpc/request-id.js'
import { serverCapabilities } from '../../mcp/capabilities.js'
import { instanceLost } from '../../mcp/error-codes.js'
import { listShapes } from '../../mcp/list-items.js'
import type { Revision } from '../../mcp/revisions.js'
import { setDeadline } from '../../runtime/deadline.js'
import { Deferred } from '../../runtime/deferred.js'
import type { Timer } from '../../runtime/runtime.js'
import type { Fields, HttpResponse } from '../http1/server.js'
import { messagePassesTap } from '../tap.js'
import type { Accepts } from './access.js'
import { type BodyReservation, hasRequest, type PostedMessage } from './body.js'
import type { HttpAttached, HttpEnvironment, Owner } from './endpoint.js'
import { type EventPlace, type EventStore, EventStream, readEventId, textEvent } from './event-stream.js'
import { PostReply } from './post-reply.js'
import type { SealedFacts } from './session-ids.js'
import { initializeAgain, type SessionRecord } from './session-record.js'
import { begunTask, taskName } from './session-tasks.js'

/**
 * The lifetime of a connection. `session`: as long as its session, whose events outlive its responses.
 * `events`: as long as its one event stream (older transport). `shared`: while requests without a session use
 * it; a client that leaves cancels its request. `single`: for one message.
 */
export type ConnectionLife =
  | {
      readonly kind: 'session'
      readonly id: string
      readonly store: EventStore
      /** The prefix of event ids; undefined if sessions end with the process. */
      readonly source: string | undefined
      /** Undefined for a session that ends with the process. */
      readonly record: SessionRecord | undefined
    }
  | { readonly kind: 'events' | 'shared' | 'single' }

/** How an attempt to listen ends. `over`: the stream has ended, and the client has all its events. */
export type ListenState = 'open' | 'busy' | 'unknown' | 'over'

const STANDALONE = 0

export class ClientConnection implements Connection {
  readonly kind: ConnectionLife['kind']
  readonly transport: TransportName
  idPrefix: string | undefined
  /** Resolves when the client is attached; undefined from then on. */
  ready: Promise<void> | undefined
  open = true
  /** Whether the connection ends after the pending answers. */
  isLeaving = false
  /** Whether the client leaves too many bytes unread. */
  congested = false
  /** The header fields of every response. */
  fields: Fields
  readonly #environment: HttpEnvironment
  readonly #life: ConnectionLife
  readonly #onClosed: () => void
  #attached: HttpAttached | undefined
  #sink: Sink | undefined
  #cause: TransportError | undefined
  /** Undefined for a client that cannot resume a stream. */
  readonly #store: EventStore | undefined
  /** Unanswered replies, by number. */
  readonly #replies = new ChurnMap<number, PostReply>()
  /** Bodies of large requests of the older transport. The limit on calls of a session also limits them. */
  readonly #held = new Set<BodyReservation>()
  #posts = 0
  #look: Timer | undefined
  #hasOpened = false
  /** Resolves to the answer to the `initialize` of a revived session, or to undefined at the end. */
  #reopened: Deferred<Message | undefined> | undefined
  readonly #standalone: EventStream
  /** The standalone stream and the streams of POSTs, by number. */
  readonly #streams = new Map<number, EventStream>()
  #lastStream = STANDALONE
  /** Responses that may have unsent bytes. */
  readonly #sending = new Set<HttpResponse>()
  /** Responses that had unsent bytes at the last check. Nearly all of a client's streams are idle. */
  readonly #behind = new Set<HttpResponse>()

  constructor(environment: HttpEnvironment, life: ConnectionLife, onClosed: () => void) {
    this.kind = life.kind
    this.transport = life.kind === 'events' ? 'sse' : 'http'
    this.#environment = environment
    this.#life = life
    this.#store = life.kind === 'session' ? life.store : undefined
    this.fields = life.kind === 'session' ? ['mcp-session-id', life.id] : []
    // The client may send its answer to another instance.
    if (life.kind === 'session' && environment.peers !== undefined)
      this.idPrefix = environment.sessions?.ids.source
    this.#onClosed = onClosed
    this.#standalone = new EventStream(STANDALONE, environment, this.#store, this)
    this.#streams.set(STANDALONE, this.#standalone)
  }

  get #record(): SessionRecord | undefined {
    return this.#life.kind === 'session' ? this.#life.record : undefined
  }

  /** Different in each process, and after each revival in the same process. */
  get source(): string | undefined {
    return this.#life.kind === 'session' ? this.#life.source : undefined
  }

  get revision(): Revision {
    if (this.#attached === undefined) throw fault('the client is attached')
    return this.#attached.revision
  }

  get backlogBytes(): number {
    let bytes = 0
    for (const response of this.#behind) {
      if (response.unsentBytes === 0) this.#behind.delete(response)
      bytes += response.unsentBytes
    }
    return bytes
  }

  get busy(): boolean {
    return this.#replies.size > 0 || this.#sending.size > 0
  }

  /** Ends the response with the most unread bytes, if several clients share the connection. */
  cutSlowest(): number {
    if (this.kind !== 'shared') return 0
    let slowest: HttpResponse | undefined
    for (const response of this.#sending)
      if (response.unsentBytes > (slowest?.unsentBytes ?? 0)) slowest = response
    const bytes = slowest?.unsentBytes ?? 0
    slowest?.cut()
    return bytes
  }

  /** Attaches the client, and closes the connection if that fails. `version` is the revision that the client names. */
  attachTo({ endpoint, principal, address }: Owner, version?: string): Promise<void> {
    const attached = endpoint.attach(this, {
      principal,
      ...(version === undefined ? { address } : { version }),
    })
    this.ready = attached.then(
      (taken) => {
        this.#attached = taken
        this.ready = undefined
      },
      (error: unknown) => {
        this.#end(undefined)
        throw error
      },
    )
    return this.ready
  }

  /**
   * Attaches the client of a session that another process has opened, and repeats the client's earlier
   * messages. Calls `begin` when the session continues, or else closes the connection.
   */
  revive(owner: Owner, facts: SealedFacts, begin: () => void): void {
    // The client may still answer an earlier request of the proxy.
    this.idPrefix = this.source
    this.#hasOpened = true
    this.ready = this.#reopen(owner, facts)
      .catch((error: unknown) => {
        this.#environment.failed(error)
        return undefined
      })
      .then((changes) => {
        this.ready = undefined
        if (changes === undefined) return this.#end(undefined)
        begin()
        for (const method of changes) this.send(buildNotification(method), { kind: 'notification', method })
      })
  }

  start(sink: Sink): void {
    this.#sink = sink
    if (!this.open) setImmediate(() => sink.closed(this.#cause))
  }

  /** Sends a message that belongs to no known request. */
  send(message: Message, head: MessageHead): void {
    this.tell(message, head, head.kind === 'request' ? this.#latestHeard() : undefined)
  }

  /** Does nothing: the front never stops reading from a client. */
  read(): void {}

  close(atOnce = false): Promise<void> {
    this.#end(undefined)
    if (atOnce) for (const response of this.#sending) response.cut()
    return Promise.resolve()
  }

  /** Accepts no further message, and ends the connection after its last pending answer. */
  leave(): void {
    this.isLeaving = true
    if (this.open) this.#sink?.ended()
  }

  /** Delivers the messages of a POST. The response carries the answers. `isOpening`: it opens the session. */
  post(posted: PostedMessage, response: HttpResponse, accepts: Accepts, isOpening = false): undefined {
    // Without a session, closing the response cancels a request (MCP 2026-07-28, Utilities: cancellation).
    if (this.kind === 'shared' && response.isClosed) return
    if (!hasRequest(posted)) {
      this.#deliver(posted, undefined)
      // A client without a session sends nothing more.
      if (this.kind === 'single') this.#end(undefined)
      response.send(202, [])
      return
    }
    const askedMs = this.#environment.now()
    const reply = new PostReply(this, ++this.#posts, posted, response, accepts, isOpening, askedMs)
    this.#replies.set(reply.number, reply)
    if (this.#look === undefined) this.#lookIn(this.#environment.limits.answerWaitMs)
    this.#deliver(posted, reply)
  }

  /** Ends the session for its client. Rejects if other instances cannot learn of it now. */
  endSession(): Promise<void> {
    const recorded = this.#record?.end()
    this.#end(undefined)
    return recorded ?? Promise.resolve()
  }

  /** Delivers a message of the older transport. Its answers are events. */
  postEvent(posted: PostedMessage): void {
    const { hold } = posted
    this.#deliver(posted, hasRequest(posted) && hold !== undefined ? this.#holdingReply(hold) : undefined)
  }

  openEvents(response: HttpResponse): void {
    this.#write(response, this.#standalone)
  }

  invite(path: string): void {
    this.#standalone.write([textEvent('endpoint', path)])
  }

  /** Opens the standalone stream, or continues the stream that has the event with this id. */
  listen(response: HttpResponse, lastEventId: string | undefined): ListenState {
    const place = lastEventId === undefined ? undefined : readEventId(lastEventId)
    if (place !== undefined && place.source !== this.source) return this.#listenOn(response, place)
    const stream = lastEventId === undefined ? this.#standalone : this.#streams.get(place?.stream ?? -1)
    if (stream === undefined) return 'unknown'
    if (place === undefined && stream.isAttached) return 'busy'
    if (place !== undefined && !stream.reaches(place.number)) return 'unknown'
    if (place !== undefined && stream.isOverAfter(place.number)) return 'over'
    this.#write(response, stream, place?.number)
    return 'open'
  }

  /** Continues a stream of another process, as the standalone stream, or with an error if that process lost the call. */
  #listenOn(response: HttpResponse, { stream, request, isAnswer }: EventPlace): ListenState {
    if (isAnswer) return 'over'
    if (stream === STANDALONE) this.#write(response, this.#standalone)
    else if (request === undefined) return 'unknown'
    else {
      const lost = buildError(request, instanceLost())
      if (!this.passes(lost)) return 'unknown'
      const last = this.stream(response, request)
      last.send(lost, true)
      last.end()
    }
    return 'open'
  }

  // Only replies call the following methods.

  /** Only a tap needs the joined message. */
  passes(message: Message): boolean {
    return this.#sink?.wire === undefined ? this.open : this.#passes('out', message.joined)
  }

  /** Sends a message before the answer of `reply`, or on the standalone stream. */
  tell(message: Message, { kind, id }: MessageHead, reply: PostReply | undefined): void {
    if (!this.passes(message)) return
    const hasStandalone = this.kind === 'session' || this.kind === 'events'
    const isSent = reply?.during(message) === true || (hasStandalone && this.#standalone.send(message))
    // The server must not wait for an answer if the request cannot reach the client.
    if (!isSent && kind === 'request') this.#failed(id)
    this.measure()
  }

  /** Records that the response has unsent bytes. */
  fellBehind(response: HttpResponse): void {
    this.#behind.add(response)
  }

  /** The client has left, or its response was cut. */
  lostStream(): void {
    if (this.kind === 'events') this.#end(undefined)
  }

  /** Updates `congested`, and reports the end of congestion. */
  measure(): void {
    const was = this.congested
    this.congested = this.backlogBytes > this.#environment.limits.backlogBytesHigh
    if (was && !this.congested && this.open) this.#sink?.drained()
  }

  /** Handles the answer to `initialize`. An error ends the session, unless it answers a second `initialize`. */
  opens(isRefused: boolean): void {
    if (isRefused && !this.#hasOpened) {
      this.fields = []
      this.#record?.end().catch(() => {})
      setImmediate(() => this.#end(undefined))
    }
    this.#hasOpened ||= !isRefused
  }

  /** Whether other instances may get requests about its tasks. */
  get sharesTasks(): boolean {
    return this.kind === 'session' && this.#environment.peers !== undefined
  }

  /** Claims the task that the answer may begin, because only this instance knows it. */
  claimTask(answer: Message): void {
    const task = begunTask(answer)
    if (task !== undefined && this.#life.kind === 'session')
      this.#environment.peers?.claim(taskName(this.#life.id, task))
  }

  /** Opens a stream. It carries the answer to `request`. */
  stream(response: HttpResponse, request: RequestId | undefined): EventStream {
    const number = ++this.#lastStream
    const stream = new EventStream(number, this.#environment, this.#store, this, request)
    this.#streams.set(stream.number, stream)
    this.#dropEnded()
    this.#write(response, stream)
    return stream
  }

  /** Counts the unsent bytes of this response until it is closed. */
  sending(response: HttpResponse): void {
    this.#sending.add(response)
    this.#behind.add(response)
    response.whenClosed(() => {
      this.#sending.delete(response)
      this.#behind.delete(response)
      this.measure()
    })
  }

  gaveUp(reply: Reply): void {
    if (this.open) this.#sink?.gaveUp?.(reply)
  }

  answered({ number }: PostReply): void {
    this.#replies.take(number)
    // In the next turn, because the caller is still inside its answer.
    if (this.#replies.size === 0 && this.kind === 'single') setImmediate(() => this.#end(undefined))
  }

  /** Starts the one timer that looks for late answers, whose responses must begin as a stream. */
  #lookIn(delayMs: number): void {
    const environment = this.#environment
    this.#look = setDeadline(environment, delayMs, () => {
      this.#look = undefined
      const dueMs = environment.now() - environment.limits.answerWaitMs
      for (const reply of this.#replies.values()) {
        // The sum may lose a fraction of a millisecond, and time would stand still.
        if (reply.askedMs > dueMs) return this.#lookIn(Math.ceil(reply.askedMs - dueMs))
        reply.waited()
      }
    })
  }

  #deliver({ line, frames, isBatch }: PostedMessage, reply: Reply | undefined): void {
    for (const frame of frames) this.#record?.note(frame)
    const [frame] = frames
    if (frame === undefined || !this.#passes('in', isBatch ? line : frame.line)) return
    // The answers to a batch leave in one message.
    if (isBatch) this.#sink?.message(line, undefined, reply)
    else this.#receive(frame, reply)
  }

  #receive(frame: Frame, reply: Reply | undefined): void {
    if (this.#sink?.received === undefined) this.#sink?.message(frame.line, undefined, reply)
    else this.#sink.received(frame, undefined, reply)
  }

  /** Returns the notifications of all lists that may have changed meanwhile; undefined if the session cannot continue. */
  async #reopen(owner: Owner, facts: SealedFacts): Promise<Set<string> | undefined> {
    const { endpoint, principal, address } = owner
    if ((await this.#record?.load()) !== true || !this.open) return undefined
    this.#attached = await endpoint.attach(this, { principal, address })
    const reopened = new Deferred<Message | undefined>()
    this.#reopened = reopened
    this.#receive(
      initializeAgain(facts),
      this.#replyTo((message) => reopened.resolve(message)),
    )
    const answer = await reopened.promise
    const frame = answer && readFrame(answer.joined)
    if (frame?.kind !== 'result' || !this.open) return undefined
    for (const message of this.#record?.messages() ?? [])
      this.#receive(
        message,
        this.#replyTo(() => {}),
      )
    const { changes } = serverCapabilities(frame.line, frame.members?.span('capabilities'), this.revision)
    return new Set(changes.map((kind) => listShapes[kind].changed))
  }

  /** The reply to a message that the client has not sent to this process: the client gets no answer. */
  #replyTo(answer: (message: Message | undefined) => void): Reply {
    return {
      answer,
      drop: () => answer(undefined),
      tell: (message, head) => this.send(message, head),
      isCancelledByClosing: false,
    }
  }

  #passes(direction: 'in' | 'out', line: Line): boolean {
    return this.open && messagePassesTap(this.#sink, direction, line, (cause) => this.#end(cause))
  }

  /** Reports in a later turn, after the sender has returned. */
  #failed(id: RequestId | undefined): void {
    const error = new TransportError('TRANSPORT_IO', 'the client has left')
    setImmediate(() => {
      if (this.open) this.#sink?.failed?.(id, error)
    })
  }

  #holdingReply(reservation: BodyReservation): Reply {
    reservation.hold()
    this.#held.add(reservation)
    const drop = (): void => {
      if (this.#held.delete(reservation)) reservation.release()
    }
    const answer: Reply['answer'] = (message, kind) => {
      drop()
      this.send(message, { kind })
    }
    return { answer, drop, tell: (message, head) => this.send(message, head), isCancelledByClosing: false }
  }

  /**
   * The response for a request of a server that belongs to no known request of the client. A client without
   * the standalone stream would never read it there. So it leaves on the latest response that the client
   * waits for, to which it should relate but need not (MCP 2025-03-26, Transports).
   */
  #latestHeard(): PostReply | undefined {
    const open = this.#standalone.isAttached ? [] : [...this.#replies.values()]
    return open.findLast((reply) => reply.canStream)
  }

  #write(response: HttpResponse, stream: EventStream, after?: number): void {
    // A closed response carries no events.
    if (response.isClosed) return
    stream.attach(response, this.fields, after)
    this.sending(response)
    // Replayed events have ids already.
    if (this.#store !== undefined && after === undefined && this.revision.primesStreams)
      stream.prime(this.#environment.limits.retryMs)
  }

  /** A client that lost the end of a stream resumes it soon, or never. */
  #dropEnded(): void {
    if (this.#streams.size <= this.#environment.limits.endedStreamsMax) return
    for (const [number, stream] of this.#streams) {
      if (!stream.ended) continue
      this.#streams.delete(number)
      return
    }
  }

  #end(cause: TransportError | undefined): void {
    if (!this.open) return
    this.open = false
    this.#cause = cause
    this.#look?.cancel()
    this.#reopened?.resolve(undefined)
    for (const reply of this.#replies.drain()) reply.end()
    this.#standalone.endLast()
    for (const stream of this.#streams.values()) stream.end()
    for (const reservation of this.#held) reservation.release()
    this.#held.clear()
    this.#streams.clear()
    this.#store?.clear()
    this.#onClosed()
    this.congested = false
    this.#sink?.closed(cause)
  }
}
