// One end of a connection that speaks JSON-RPC 2.0.
//
// A peer reads frames and hands each to its owner, mints ids for the requests it sends, and finds who waits
// when an answer comes. It knows no protocol above JSON-RPC, parses no payload, and forwards with `splice`.

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
import {
  type Connection,
  type MessageHead,
  type Relation,
  type Reply,
  type Sink,
  unrelated,
} from './connection.js'
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

/** The owner of a peer: what arrives, and the end. `E` is a request that the owner has forwarded. */
export interface PeerOwner<E> {
  /**
   * `during` is our request on whose own stream it came, where the transport has such streams, and `stream` its id, also
   * when it is over.
   */
  request(frame: RequestFrame, during: E | undefined, reply: Reply, stream?: RequestId): void
  /** The other end has cancelled a request by closing its response. */
  gaveUp?(reply: Reply): void
  notification(frame: NotificationFrame, during: E | undefined): void
  /** The answer to a forwarded request; absent for an owner that forwards none. */
  response?(frame: ResponseFrame, entry: E): void
  /** An answer without a request that waits for it: late, or made up. */
  stray(frame: ResponseFrame): void
  /** Several messages in one array, whose answers are one message. */
  batch(line: Line, reply: Reply): void
  malformed(error: FrameError, line: Uint8Array): void
  /** A message of ours did not get through; `entry` is the request that it was. */
  failed(entry: E | undefined, error: TransportError): void
  /** A message over the limit: `id` is its own if it was a request, `entry` is the request it would have answered. */
  oversize(id: RequestId | undefined, entry: E | undefined, bytes: number): void
  /** Earlier unsolicited messages of the peer may be lost. */
  missed?(): void
  /** The queue to the peer is empty again after it was congested. */
  drained?(): void
  /** The other end will send nothing more; it may still read. */
  ended(): void
  /** Called once; no forwarded request is answered any more. */
  closed(cause: TransportError | undefined): void
}

export interface PeerOptions {
  readonly inflightMax: number
  readonly watch?: PeerWatch
}

/** The observers of a connection. The taps may change while it is open, so they are read for each message. */
export interface PeerWatch {
  readonly wire?: Sink['wire']
  /** `splice(input, edits)` is what leaves. */
  readonly forwarded?: ((input: Line, edits: readonly Edit[]) => void) | undefined
  /** Is given what the owner throws at the end of the connection, where nothing else can report it. */
  readonly onFault?: ((error: unknown) => void) | undefined
  /** The connection has ended; called once. */
  readonly onClosed?: (() => void) | undefined
}

/** A request of the proxy's own: its id, and the answer to come. */
export interface PendingAnswer {
  readonly id: RequestId
  /** Rejects with TransportError when the connection ends first. */
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
    // The end must not become an unhandled rejection where the request was abandoned.
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
  /** A notification has left since the last answer, so an error without an id may be about the notification. */
  #hasNotified = false
  open = true

  constructor(connection: Connection, owner: PeerOwner<E>, { inflightMax, watch = {} }: PeerOptions) {
    this.#connection = connection
    this.#owner = owner
    this.#watch = watch
    this.#inflight = new Inflight(inflightMax, connection.idPrefix)
  }

  /** Begins to deliver; no handler of the owner is called before. */
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
   * Forwards a request with the owner's edits and an id of this connection, which is its progress token too, where it has one.
   * Returns undefined when too many are out, or once closed.
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

  /** Forwards an answer to the request that its sender knows as `id`. */
  answer(frame: ResponseFrame, edits: readonly Edit[], id: RequestId): void {
    this.ownReply.answer(this.answerBytes(frame, edits, id), frame.kind)
  }

  /** The bytes that `answer` sends, for an answer that leaves later. */
  answerBytes(frame: RequestFrame | ResponseFrame, edits: readonly Edit[], id: RequestId): Message {
    return this.#spliced(frame, frame.id === id ? edits : withId(edits, frame, id))
  }

  pass(frame: NotificationFrame, edits: readonly Edit[], relation: Relation = unrelated): void {
    this.#notify(this.#spliced(frame, edits), frame.method, relation)
  }

  /** Splices one item of a list, which leaves inside a message of the proxy's own. */
  item(line: Line, edits: readonly Edit[]): Uint8Array {
    const hasBreaks = hasLineBreaks(line)
    if (this.#watch.forwarded !== undefined) this.#show(line, edits, hasBreaks)
    return splice(hasBreaks ? toOneLine(line) : line, inOrder(edits)).joined
  }

  /** Asks something of the proxy's own; `params` is raw JSON. Undefined when too many requests are out. */
  ask(method: string, params?: string): PendingAnswer | undefined {
    return this.#ask(method, (id) => buildRequest(id, method, params))
  }

  /** The same in the bytes of a request that came, with the owner's edits; the answer is the proxy's to read. */
  askFor(frame: RequestFrame, edits: readonly Edit[]): PendingAnswer | undefined {
    return this.#ask(frame.method, (id) => this.#spliced(frame, withId(edits, frame, id)))
  }

  /** Fails the proxy's own requests that wait for an answer. */
  failOwn(cause?: TransportError): void {
    for (const id of this.#inflight.ids)
      if (this.#inflight.get(id) instanceof OwnRequest)
        this.#failed(id, cause ?? new TransportError('TRANSPORT_CLOSED', 'the connection is closed'))
  }

  /** Stops waiting for the answer to `id`. */
  retire(id: RequestId): void {
    this.#inflight.take(id)
  }

  /** The requests of the owner that wait for an answer. */
  get forwarded(): E[] {
    return this.#inflight.ids.flatMap((id) => this.entry(id) ?? [])
  }

  entry(id: RequestId): E | undefined {
    const entry = this.#inflight.get(id)
    return entry instanceof OwnRequest ? undefined : entry
  }

  notify(method: string, params?: string, relation: Relation = unrelated): void {
    this.#notify(buildNotification(method, params), method, relation)
  }

  /** `result` is raw JSON, in one piece or in parts. */
  reply(id: RequestId, result: string | readonly Uint8Array[]): void {
    this.ownReply.answer(buildResult(id, result), 'result')
  }

  refuse(id: RequestId | undefined, error: ErrorBody, orphan?: 'null' | 'omit'): void {
    this.ownReply.answer(buildError(id, error, orphan), 'error')
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

  /** Every forwarded message is made here: shown to the tap, spliced, and kept on one line. */
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

  /** The guard is inlined here, since a guard as a function would be a closure for every message. */
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

  /** Takes the messages of a batch one by one (MCP 2025-03-26, Base protocol: batching). */
  receiveBatch(line: Line): void {
    for (const member of batchMembers(line)) this.receive(readMessage(member))
  }

  /** Ends the requests that the message claims to answer, since no other answer will come. */
  #unreadable({ error, line }: UnreadableMessage): void {
    const ids = claimedIds(line).filter((id) => this.#inflight.get(id) !== undefined)
    const what = line.includes(NUL) ? 'it is not UTF-8' : error.message
    for (const id of ids)
      this.#failed(id, new TransportError('TRANSPORT_ANSWER', `its answer is invalid: ${what}`))
    this.#owner.malformed(error, line)
  }

  /** Takes a message that was read already: by the transport, or as a member of a batch. */
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

  /** A fault in handling one message ends this connection, never the process that others share. */
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
