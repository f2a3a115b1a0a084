// One end of a connection that speaks JSON-RPC 2.0.
//
// A peer reads frames and hands each to its owner, lends ids for the requests it sends, and finds who waits
// when an answer comes. It knows no protocol above JSON-RPC, parses no payload, and forwards with `splice`.

import { isBatch } from './batch.js'
import { type ErrorBody, buildError, buildNotification, buildRequest, buildResult } from './build.js'
import type { Connection, FieldReader, MessageHead } from './connection.js'
import { FrameError, TransportError } from './errors.js'
import {
  type Frame,
  LatestTexts,
  type NotificationFrame,
  type RequestFrame,
  type ResponseFrame,
  frameOrError,
  seemsAnswerTo,
} from './frame.js'
import { Forwarder } from './forwarder.js'
import { withId } from './id-edit.js'
import { Inflight } from './inflight.js'
import { type Ties, answerHead, notificationHead, requestHead, untied } from './message-head.js'
import type { Line } from './line.js'
import { readLongFrame } from './fast/long-frame.js'
import type { LongLine } from './fast/long-line.js'
import { type PendingAnswer, OwnRequest, askOwn, endOwn } from './own-request.js'
import type { AnswerWaiter, PeerOptions, PeerOwner } from './peer-owner.js'
import type { MintedId, RequestId } from './request-id.js'
import { type Outgoing, WireParts } from './fast/splice-parts.js'
import { type Edit, SplicedLine } from './splice.js'

export type { PendingAnswer } from './own-request.js'
export type { AnswerWaiter, PeerOptions, PeerOwner, PeerWatch } from './peer-owner.js'

/** Reads, writes and matches the messages of one connection; `E` waits for the answer to a forwarded request. */
export class Peer<E extends AnswerWaiter> {
  readonly #connection: Connection
  readonly #owner: PeerOwner<E>
  readonly #options: PeerOptions
  readonly #inflight: Inflight<E | OwnRequest>
  readonly #forwarder: Forwarder
  readonly #latest = new LatestTexts()
  #closed = false

  constructor(connection: Connection, owner: PeerOwner<E>, options: PeerOptions) {
    this.#connection = connection
    this.#owner = owner
    this.#options = options
    this.#inflight = new Inflight(options.inflightMax)
    this.#forwarder = new Forwarder(options.forwarded, (cause) => this.#abort(cause))
  }

  get open(): boolean {
    return !this.#closed
  }

  /** Begins to deliver; the owner is told of nothing before. */
  start(): void {
    this.#connection.start({
      message: this.#message,
      long: (long, during) => this.#guard(() => this.#long(long, during)),
      frame: (frame, during, field) => this.#guard(() => this.receive(frame, during, field)),
      malformed: (error, line, bytes, during) =>
        this.#guard(() => this.#unreadable(error, line, during, bytes)),
      frameLimits: this.#options.frame,
      gaveUp: (key) => this.#guard(() => this.#owner.gaveUp?.(key)),
      failed: (id, error) => this.#guard(() => this.#failed(id, error)),
      oversize: (id, bytes, isCall) => this.#guard(() => this.#oversize(id, bytes, isCall)),
      missed: () => this.#guard(() => this.#owner.missed?.()),
      drained: () => this.#guard(() => this.#owner.drained?.()),
      ended: () => this.#guard(() => this.#owner.ended()),
      closed: (cause) => this.#close(cause),
      wire: this.#options.wire,
    })
  }

  /**
   * Forwards a request with the owner's edits and an id of this connection.
   *
   * With `lend` the sender's own id stays where it is free, unless the other end has been asked with it before (`again`).
   * Gives nothing when too many are out, or once closed.
   */
  forward(
    frame: RequestFrame,
    edits: readonly Edit[],
    entry: E,
    lend: boolean,
    about?: RequestId,
    again = false,
  ): MintedId | undefined {
    if (this.#closed) return undefined
    const id = this.#inflight.mint(entry, lend ? frame.id : undefined, again)
    if (id === undefined) return undefined
    const all = id === frame.id ? edits : withId(edits, frame.idSpan, id)
    this.send(this.#forwarder.message(frame, all), requestHead(id, frame.method, about))
    return id
  }

  /** Forwards an answer to the request that its sender knows as `id`. */
  answer(frame: ResponseFrame, edits: readonly Edit[], id: RequestId): void {
    this.send(this.answerBytes(frame, edits, id), answerHead(frame.kind, id))
  }

  /** What `answer` sends, for one that leaves later. */
  answerBytes(frame: ResponseFrame, edits: readonly Edit[], id: RequestId): Outgoing {
    return this.#forwarder.message(frame, frame.id === id ? edits : withId(edits, frame.idSpan, id))
  }

  /** Forwards a notification; `about` is the other end's request that it belongs to. */
  pass(frame: NotificationFrame, edits: readonly Edit[], ties: Ties = untied): void {
    this.send(this.#forwarder.message(frame, edits), notificationHead(frame.method, ties))
  }

  /** Splices one item of a list, which leaves inside a message of the proxy's own. */
  item(line: Line, edits: readonly Edit[]): Uint8Array {
    return this.#forwarder.item(line, edits)
  }

  /** Asks something of the proxy's own; `params` is raw JSON. Undefined when too many requests are out. */
  ask(method: string, params?: string): PendingAnswer | undefined {
    return this.#ask(method, (id) => buildRequest(id, method, params))
  }

  /** The same in the bytes of a request that came, with the owner's edits; the answer is the proxy's to read. */
  askFor(frame: RequestFrame, edits: readonly Edit[]): PendingAnswer | undefined {
    return this.#ask(frame.method, (id) => this.#forwarder.message(frame, withId(edits, frame.idSpan, id)))
  }

  /** Stops waiting for the answer to `id`. */
  retire(id: RequestId): void {
    this.#inflight.retire(id)
  }

  entry(id: RequestId): E | undefined {
    const entry = this.#inflight.get(id)
    return entry instanceof OwnRequest ? undefined : entry
  }

  /** The forwarded requests that wait for an answer. */
  *waiting(): IterableIterator<E> {
    for (const entry of this.#inflight.values()) if (!(entry instanceof OwnRequest)) yield entry
  }

  /** `about` is the other end's request that it belongs to. */
  notify(method: string, params?: string, ties: Ties = untied): void {
    this.send(buildNotification(method, params), notificationHead(method, ties))
  }

  /** `result` is raw JSON. */
  reply(id: RequestId, result: string | Uint8Array): void {
    this.send(buildResult(id, result), answerHead('result', id))
  }

  refuse(id: RequestId | undefined, error: ErrorBody, orphan?: 'null' | 'omit'): void {
    this.send(buildError(id, error, orphan), answerHead('error', id))
  }

  send(message: Outgoing, head: MessageHead): void {
    if (this.#closed) return
    const connection = this.#connection
    if (message instanceof Uint8Array) void connection.send(message, head)
    else if (message instanceof SplicedLine && connection.sendSpliced !== undefined)
      void connection.sendSpliced(message, head)
    else if (message instanceof WireParts && connection.sendParts !== undefined)
      void connection.sendParts(message, head)
    else void connection.send(message.joined, head)
  }

  close(atOnce = false): Promise<void> {
    return this.#connection.close(atOnce).finally(() => this.#close(undefined))
  }

  #ask(method: string, message: (id: MintedId) => Outgoing): PendingAnswer | undefined {
    const send = (id: MintedId): void => this.send(message(id), requestHead(id, method))
    return this.#closed ? undefined : askOwn(this.#inflight, send)
  }

  /** Without a guard of its own, which would be a closure for every message. */
  readonly #message = (line: Line, during?: RequestId, bytes: number = line.length): void => {
    if (this.#closed) return
    try {
      if (line[0] !== 0x7b && isBatch(line)) return this.#owner.batch(line)
      const frame = frameOrError(line, this.#options.frame, this.#latest)
      if (frame instanceof FrameError) this.#unreadable(frame, line, during, bytes)
      else this.receive(frame, during)
    } catch (error) {
      this.#faulty(error)
    }
  }

  #unreadable(error: FrameError, line: Line, during: RequestId | undefined, bytes: number): void {
    if (during === undefined || !seemsAnswerTo(line, during)) return this.#owner.malformed(error, line, bytes)
    // On a stream that belongs to one request there will be no other answer to it.
    this.#failed(during, new TransportError('TRANSPORT_ANSWER', `its answer is invalid: ${error.message}`))
  }

  #long(long: LongLine, during: RequestId | undefined): void {
    const frame = readLongFrame(long, this.#options.frame)
    if (frame === undefined) this.#message(long.noise ?? long.line, during, long.length)
    else this.receive(frame, during)
  }

  /** Takes a frame that was read already: a member of a batch. */
  receive(frame: Frame, during?: RequestId, field?: FieldReader): void {
    if (this.#closed) return
    const entry = during === undefined ? undefined : this.entry(during)
    switch (frame.kind) {
      case 'request':
        return this.#owner.request(frame, entry, field)
      case 'notification':
        return this.#owner.notification(frame, entry)
      case 'result':
      case 'error':
        return this.#response(frame)
    }
  }

  #response(frame: ResponseFrame): void {
    const entry = frame.id === undefined ? undefined : this.#inflight.take(frame.id)
    if (entry === undefined) this.#owner.stray(frame)
    else entry.answered(frame)
  }

  #failed(id: RequestId | undefined, error: TransportError): void {
    // The other end may have it all the same: the id is no other request's for a while.
    const entry = id === undefined ? undefined : this.#inflight.retire(id)
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
    if (this.#closed) return
    this.#closed = true
    const unanswered = endOwn(this.#inflight.drain(), cause)
    try {
      this.#owner.closed(unanswered, cause)
    } catch (error) {
      // The connection has ended already, so a second end would tell nobody.
      this.#options.onFault?.(error)
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
