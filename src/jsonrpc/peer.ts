// One end of a connection that uses JSON-RPC 2.0.
//
// A peer reads frames and passes each to its owner, assigns ids to the requests that it sends, and matches
// answers to requests. It knows no protocol above JSON-RPC, parses no payload, and forwards with `splice`.

import {
  batchMembers,
  isBatch,
  isBlank,
  type Frame,
  type NotificationFrame,
  type ReceivedMessage,
  type RequestFrame,
  type ResponseFrame,
  type UnreadableMessage,
  readMessage,
} from './frame.js'
import { type ErrorBody, buildError, buildNotification, buildRequest, buildResult } from './build.js'
import { type Connection, type MessageHead, type Relation, type Reply, type Sink } from './connection.js'
import { type FrameError, TransportError } from './jsonrpc-errors.js'
import { claimedIds } from './id-finder.js'
import {
  type Edit,
  type Message,
  bothEdits,
  inOrder,
  lineBreakEdits,
  splice,
  withId,
  writing,
} from './splice.js'
import { Inflight } from './inflight.js'
import { hasLineBreaks, toOneLine, type Line } from './line.js'
import type { RequestId } from './request-id.js'

/** The owner of a peer receives its messages and its end. `E` is a request that the owner has forwarded. */
export interface PeerOwner<E> {
  /**
   * Receives a request. `during` is the pending request of the proxy on whose response stream it arrived,
   * where the transport has such streams; `stream` is that request's id, even after that request has ended.
   */
  request(frame: RequestFrame, during: E | undefined, reply: Reply, stream?: RequestId): void
  /** The other end has cancelled a request by closing its response. */
  gaveUp?(reply: Reply): void
  notification(frame: NotificationFrame, during: E | undefined): void
  /** Receives the answer to a forwarded request. An owner that forwards no request lacks this method. */
  response?(frame: ResponseFrame, entry: E): void
  /** Receives an answer that matches no pending request: it is late or made up. */
  stray(frame: ResponseFrame): void
  /** Receives several messages in one array. Their answers are one message. */
  batch(line: Line, reply: Reply): void
  malformed(error: FrameError, line: Uint8Array): void
  /** A message of the proxy did not arrive. `entry` is its entry if it was a forwarded request. */
  failed(entry: E | undefined, error: TransportError): void
  /** A message over the limit. `id` is set for a request; `entry` is the request that it would have answered. */
  oversize(id: RequestId | undefined, entry: E | undefined, bytes: number): void
  /** Unsolicited messages of the peer may be lost. */
  missed?(): void
  /** The queue to the peer is empty again after congestion. */
  drained?(): void
  /** The other end will send nothing more; it may still read. */
  ended(): void
  /** Called once. No forwarded request gets an answer after this. */
  closed(cause: TransportError | undefined): void
}

export interface PeerOptions {
  readonly inflightMax: number
  readonly watch?: PeerWatch
}

/** The observers of a connection. The peer reads the taps for each message, because they may change. */
export interface PeerWatch {
  readonly wire?: Sink['wire']
  /** The peer sends `splice(input, edits)`. */
  readonly forwarded?: ((input: Line, edits: readonly Edit[]) => void) | undefined
  /** Receives an error that the owner throws at the end of the connection, when nothing else can report it. */
  readonly onFault?: ((error: unknown) => void) | undefined
  /** Called once, when the connection has ended. */
  readonly onClosed?: (() => void) | undefined
}

/** A request of the proxy: its id, and the promise of the answer. */
export interface PendingAnswer {
  readonly id: RequestId
  /** Rejects with TransportError if the connection ends first. */
  readonly answer: Promise<ResponseFrame>
}

class OwnRequest {
  answered: (frame: ResponseFrame) => void = () => {}
  failed: (error: TransportError) => void = () => {}
  readonly answer: Promise<ResponseFrame> = new Promise((resolve, reject) => {
    this.answered = resolve
    this.failed = reject
  })

  constructor() {
    // If the caller abandons the request, the end of the connection must not become an unhandled rejection.
    this.answer.catch(() => {})
  }
}

const NUL = 0

export class Peer<E> {
  readonly #connection: Connection
  readonly #owner: PeerOwner<E>
  readonly #watch: PeerWatch
  readonly #inflight: Inflight<E | OwnRequest>
  readonly ownReply: Reply = {
    answer: (message, kind) => this.send(message, { kind }),
    drop: () => undefined,
    tell: (message, head) => this.send(message, head),
    isCancelledByClosing: false,
  }
  /** Whether a notification followed the last answer. An error without an id may be about it. */
  #hasNotified = false
  open = true

  constructor(connection: Connection, owner: PeerOwner<E>, { inflightMax, watch = {} }: PeerOptions) {
    this.#connection = connection
    this.#owner = owner
    this.#watch = watch
    this.#inflight = new Inflight(inflightMax, connection.idPrefix)
  }

  /** Starts delivery. The peer calls no handler of the owner earlier. */
  start(): void {
    const watch = this.#watch
    this.#connection.start({
      message: this.#message,
      received: (message, during, reply) => this.#guard(() => this.receive(message, during, reply)),
      gaveUp: (reply) => this.#guard(() => this.#owner.gaveUp?.(reply)),
      failed: (id, error) => this.#guard(() => this.#failed(id, error)),
      oversize: (id, bytes, isCall) => this.#guard(() => this.#oversize(id, bytes, isCall)),
      missed: () => this.#guard(() => this.#owner.missed?.()),
      drained: () => this.#guard(() => this.#owner.drained?.()),
      ended: () => this.#guard(() => this.#owner.ended()),
      closed: (cause) => this.#close(cause),
      get wire() {
        return watch.wire
      },
    })
  }

  /**
   * Forwards a request with the owner's edits and an id of this connection, which also replaces its progress
   * token. Returns undefined if too many requests are pending, or if the peer is closed.
   */
  forward(
    frame: RequestFrame,
    edits: readonly Edit[],
    entry: E,
    reply: Reply = this.ownReply,
  ): RequestId | undefined {
    if (!this.open) return undefined
    const id = this.#inflight.mint(entry)
    if (id === undefined) return undefined
    const token = frame.params.meta.span('progressToken')
    const withToken =
      token === undefined ? edits : bothEdits(edits, writing(frame.line, token, id, 'progress-token'))
    reply.tell(this.answerBytes(frame, withToken, id), { kind: 'request', id, method: frame.method })
    return id
  }

  /** Forwards an answer. `id` is the request id of the sender. */
  answer(frame: ResponseFrame, edits: readonly Edit[], id: RequestId): void {
    this.ownReply.answer(this.answerBytes(frame, edits, id), frame.kind)
  }

  /** Returns the bytes that `answer` sends, for an answer that is sent later. */
  answerBytes(frame: RequestFrame | ResponseFrame, edits: readonly Edit[], id: RequestId): Message {
    return this.#spliced(frame, frame.id === id ? edits : withId(edits, frame, id))
  }

  pass(frame: NotificationFrame, edits: readonly Edit[], relation: Relation = {}): void {
    this.#notify(this.#spliced(frame, edits), frame.method, relation)
  }

  /** Splices one list item, which the proxy sends inside another message. */
  item(line: Line, edits: readonly Edit[]): Uint8Array {
    const hasBreaks = hasLineBreaks(line)
    if (this.#watch.forwarded !== undefined) this.#show(line, edits, hasBreaks)
    return splice(hasBreaks ? toOneLine(line) : line, inOrder(edits)).joined
  }

  /** Sends a request of the proxy. `params` is raw JSON. Returns undefined if too many requests are pending. */
  ask(method: string, params?: string): PendingAnswer | undefined {
    return this.#ask(method, (id) => buildRequest(id, method, params))
  }

  /** Sends a received request as a request of the proxy, with the owner's edits. The proxy reads the answer. */
  askFor(frame: RequestFrame, edits: readonly Edit[]): PendingAnswer | undefined {
    return this.#ask(frame.method, (id) => this.#spliced(frame, withId(edits, frame, id)))
  }

  /** Fails the pending requests of the proxy. */
  failOwn(cause?: TransportError): void {
    for (const id of this.#inflight.ids)
      if (this.#inflight.get(id) instanceof OwnRequest)
        this.#failed(id, cause ?? new TransportError('TRANSPORT_CLOSED', 'the connection is closed'))
  }

  /** Stops waiting for the answer to `id`. */
  retire(id: RequestId): void {
    this.#inflight.take(id)
  }

  /** The pending requests of the owner. */
  get forwarded(): E[] {
    return this.#inflight.ids.flatMap((id) => this.entry(id) ?? [])
  }

  entry(id: RequestId): E | undefined {
    const entry = this.#inflight.get(id)
    return entry instanceof OwnRequest ? undefined : entry
  }

  notify(method: string, params?: string, relation: Relation = {}): void {
    this.#notify(buildNotification(method, params), method, relation)
  }

  /** Answers a request. `result` is raw JSON, in one piece or in parts. */
  reply(id: RequestId, result: string | readonly Uint8Array[]): void {
    this.ownReply.answer(buildResult(id, result), 'result')
  }

  refuse(id: RequestId | undefined, error: ErrorBody): void {
    this.ownReply.answer(buildError(id, error), 'error')
  }

  send(message: Message, head: MessageHead): void {
    if (this.open) this.#connection.send(message, head)
  }

  close(atOnce = false): Promise<void> {
    return this.#connection.close(atOnce).finally(() => this.#close(undefined))
  }

  #notify(message: Message, method: string, { reply = this.ownReply, cancels }: Relation): void {
    if (!this.open) return
    this.#hasNotified = true
    reply.tell(message, { kind: 'notification', method, cancels })
  }

  #ask(method: string, message: (id: RequestId) => Message): PendingAnswer | undefined {
    if (!this.open) return undefined
    const asked = new OwnRequest()
    const id = this.#inflight.mint(asked, true)
    if (id === undefined) return undefined
    this.send(message(id), { kind: 'request', id, method })
    return { id, answer: asked.answer }
  }

  /** Makes every forwarded message: shows it to the tap, applies the edits, and removes line breaks. */
  #spliced(frame: Frame, edits: readonly Edit[]): Message {
    if (this.#watch.forwarded !== undefined) this.#show(frame.line, edits, frame.multiline)
    if (frame.multiline) return splice(toOneLine(frame.line), inOrder(edits))
    const input = frame.kind === 'result' ? frame.long?.parts : undefined
    return splice(input ?? frame.line, inOrder(edits))
  }

  #show(line: Line, edits: readonly Edit[], hasBreaks: boolean): void {
    try {
      this.#watch.forwarded?.(line, hasBreaks ? lineBreakEdits(line, edits) : inOrder(edits))
    } catch (error) {
      this.#abort(new TransportError('TRANSPORT_TAP', 'the forward tap failed', { cause: error }))
    }
  }

  /** `#guard` is repeated here, because a call of it would create a closure for every message. */
  readonly #message = (line: Line, during?: RequestId, reply?: Reply): void => {
    if (!this.open) return
    try {
      if (line[0] !== 0x7b) {
        if (isBatch(line)) return this.#owner.batch(line, reply ?? this.ownReply)
        if (isBlank(line)) return
      }
      this.receive(readMessage(line), during, reply)
    } catch (error) {
      this.#faulty(error)
    }
  }

  /** Reads the messages of a batch one by one (MCP 2025-03-26, Base protocol: batching). */
  receiveBatch(line: Line): void {
    for (const member of batchMembers(line)) this.receive(readMessage(member))
  }

  /** Fails the requests that the message claims to answer, because no other answer will come. */
  #unreadable({ error, line }: UnreadableMessage): void {
    const ids = claimedIds(line).filter((id) => this.#inflight.get(id) !== undefined)
    const what = line.includes(NUL) ? 'it is not UTF-8' : error.message
    for (const id of ids)
      this.#failed(id, new TransportError('TRANSPORT_ANSWER', `its answer is invalid: ${what}`))
    this.#owner.malformed(error, line)
  }

  /** Handles a parsed message: the transport parsed it, or it was a member of a batch. */
  receive(frame: ReceivedMessage, during?: RequestId, reply: Reply = this.ownReply): void {
    if (!this.open) return
    const entry = during === undefined ? undefined : this.entry(during)
    switch (frame.kind) {
      case 'unreadable':
        return this.#unreadable(frame)
      case 'request':
        return this.#owner.request(frame, entry, reply, during)
      case 'notification':
        return this.#owner.notification(frame, entry)
      case 'result':
      case 'error':
        return this.#response(frame, during)
    }
  }

  #response(frame: ResponseFrame, during: RequestId | undefined): void {
    const id = frame.id ?? during ?? (this.#hasNotified ? undefined : this.#inflight.only)
    this.#hasNotified = false
    const entry = id === undefined ? undefined : this.#inflight.take(id)
    if (entry === undefined) this.#owner.stray(frame)
    else if (entry instanceof OwnRequest) entry.answered(frame)
    else this.#owner.response?.(frame, entry)
  }

  #failed(id: RequestId | undefined, error: TransportError): void {
    const entry = id === undefined ? undefined : this.#inflight.take(id)
    if (entry instanceof OwnRequest) entry.failed(error)
    else this.#owner.failed(entry, error)
  }

  #oversize(id: RequestId | undefined, bytes: number, isCall: boolean): void {
    if (isCall || id === undefined) return this.#owner.oversize(id, undefined, bytes)
    const entry = this.#inflight.take(id)
    if (!(entry instanceof OwnRequest)) return this.#owner.oversize(undefined, entry, bytes)
    entry.failed(new TransportError('TRANSPORT_IO', `the answer is longer than allowed (${bytes} bytes)`))
  }

  #close(cause: TransportError | undefined): void {
    if (!this.open) return
    this.open = false
    this.#watch.onClosed?.()
    this.failOwn(cause)
    try {
      this.#owner.closed(cause)
    } catch (error) {
      // The connection has ended already, so a second end would reach no handler.
      this.#watch.onFault?.(error)
    }
  }

  /** A fault in one message ends this connection, not the process, which other connections share. */
  #guard(handle: () => void): void {
    try {
      handle()
    } catch (error) {
      this.#faulty(error)
    }
  }

  #faulty(cause: unknown): void {
    this.#abort(new TransportError('TRANSPORT_IO', 'handling a message failed', { cause }))
  }

  #abort(cause: TransportError): void {
    this.#close(cause)
    void this.#connection.close()
  }
}
