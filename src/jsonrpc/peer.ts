// One end of a connection that speaks JSON-RPC 2.0.
//
// A peer reads frames and hands each to its owner, lends ids for the requests it
// sends, and finds who waits when an answer comes. It knows no protocol above
// JSON-RPC, parses no payload, and makes every forwarded message with `splice`.

import { buildError, buildNotification, buildRequest, buildResult, type ErrorBody } from './build.js'
import type { Connection, Sink } from './connection.js'
import { FrameError, TransportError } from './errors.js'
import {
  type Frame,
  type FrameLimits,
  type NotificationFrame,
  type RequestFrame,
  type ResponseFrame,
  isBatch,
  readFrame,
} from './frame.js'
import { Inflight } from './inflight.js'
import type { Line } from './line.js'
import type { MintedId, RequestId } from './request-id.js'
import { type Edit, type WireBytes, inOrder, splice } from './splice.js'

/** The owner of a peer: what arrives, and the end. */
export interface PeerOwner<E> {
  request(frame: RequestFrame): void
  notification(frame: NotificationFrame): void
  /** An answer to a forwarded request. */
  response(frame: ResponseFrame, entry: E): void
  /** An answer that nobody waits for: late, or made up. */
  stray(frame: ResponseFrame): void
  /** Several messages in one array. */
  batch(line: Line): void
  /** Bytes that are not one acceptable message. */
  malformed(error: FrameError, line: Uint8Array): void
  /** A message over the limit; `entry` is the request it would have answered. */
  oversize(id: RequestId | undefined, entry: E | undefined, bytes: number): void
  drained(): void
  /** The other end will send nothing more; it may still read. */
  ended(): void
  /** Called once, with the forwarded requests that nobody will answer now. */
  closed(unanswered: readonly E[], cause: TransportError | undefined): void
}

export interface PeerOptions {
  readonly inflightMax: number
  readonly frame?: FrameLimits
  readonly wire?: (direction: 'in' | 'out', bytes: Uint8Array) => void
  readonly forwarded?: (input: Uint8Array, edits: readonly Edit[], output: Uint8Array) => void
}

/** A request of the proxy's own. */
class OwnRequest {
  readonly settle: (outcome: ResponseFrame | TransportError) => void

  constructor(settle: (outcome: ResponseFrame | TransportError) => void) {
    this.settle = settle
  }
}

/** A request of the proxy's own: its id, and the answer to come. */
export interface Asked {
  readonly id: MintedId
  /** Rejects with TransportError when the connection ends first. */
  readonly answer: Promise<ResponseFrame>
}

/** Reads, writes and matches the messages of one connection; `E` is what a forwarded request leaves behind. */
export class Peer<E extends object> {
  readonly #connection: Connection
  readonly #owner: PeerOwner<E>
  readonly #options: PeerOptions
  readonly #inflight: Inflight<E | OwnRequest>
  #closed = false

  constructor(connection: Connection, owner: PeerOwner<E>, options: PeerOptions) {
    this.#connection = connection
    this.#owner = owner
    this.#options = options
    this.#inflight = new Inflight(options.inflightMax)
  }

  get connection(): Connection {
    return this.#connection
  }

  get open(): boolean {
    return !this.#closed
  }

  get inflight(): number {
    return this.#inflight.size
  }

  /** Begins to deliver; the owner is told of nothing before. */
  start(): void {
    const wire = this.#options.wire
    const sink: Sink = {
      message: (line) => this.#guard(() => this.#message(line)),
      oversize: (id, bytes) => this.#guard(() => this.#oversize(id, bytes)),
      drained: () => this.#guard(() => this.#owner.drained()),
      ended: () => this.#guard(() => this.#owner.ended()),
      closed: (cause) => this.#close(cause),
      ...(wire === undefined ? {} : { wire }),
    }
    this.#connection.start(sink)
  }

  /**
   * Forwards a request with the owner's edits and an id of this connection.
   *
   * With `lend` the sender's own id stays where it is free. Gives nothing when
   * too many requests are out.
   */
  forward(frame: RequestFrame, edits: readonly Edit[], entry: E, lend: boolean): MintedId | undefined {
    const id = this.#inflight.mint(entry, lend ? frame.id : undefined)
    if (id === undefined) return undefined
    this.#pass(frame.line, id === frame.id ? edits : withId(edits, frame, id))
    return id
  }

  /** Forwards an answer to the request that its sender knows as `id`. */
  answer(frame: ResponseFrame, edits: readonly Edit[], id: RequestId): void {
    this.send(this.answerBytes(frame, edits, id))
  }

  /** What `answer` sends, for an answer that leaves inside a batch. */
  answerBytes(frame: ResponseFrame, edits: readonly Edit[], id: RequestId): WireBytes {
    return this.#spliced(frame.line, frame.id === id ? edits : withId(edits, frame, id))
  }

  /** Forwards a notification. */
  pass(frame: NotificationFrame, edits: readonly Edit[]): void {
    this.#pass(frame.line, edits)
  }

  /** Splices one item of a list, which leaves inside a message of the proxy's own. */
  item(line: Line, edits: readonly Edit[]): Uint8Array {
    return this.#spliced(line, edits)
  }

  /** Asks something of the proxy's own; `params` is raw JSON. Undefined when too many requests are out. */
  ask(method: string, params?: string): Asked | undefined {
    let asked: OwnRequest | undefined
    const answer = new Promise<ResponseFrame>((resolve, reject) => {
      asked = new OwnRequest((outcome) =>
        outcome instanceof TransportError ? reject(outcome) : resolve(outcome),
      )
    })
    if (asked === undefined || this.#closed) return undefined
    const id = this.#inflight.mint(asked)
    if (id === undefined) return undefined
    this.send(buildRequest(id, method, params))
    return { id, answer }
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

  notify(method: string, params?: string): void {
    this.send(buildNotification(method, params))
  }

  /** `result` is raw JSON. */
  reply(id: RequestId, result: string | Uint8Array): void {
    this.send(buildResult(id, result))
  }

  refuse(id: RequestId | undefined, error: ErrorBody, orphan?: 'null' | 'omit'): void {
    this.send(buildError(id, error, orphan))
  }

  send(bytes: WireBytes): void {
    if (!this.#closed) void this.#connection.send(bytes)
  }

  async close(): Promise<void> {
    await this.#connection.close()
    this.#close(undefined)
  }

  #pass(line: Line, edits: readonly Edit[]): void {
    this.send(this.#spliced(line, edits))
  }

  #spliced(line: Line, edits: readonly Edit[]): WireBytes {
    const ordered = inOrder(edits)
    const output = splice(line, ordered)
    if (this.#options.forwarded !== undefined) this.#audit(line, ordered, output)
    return output
  }

  /** A tap that fails must not let traffic pass. */
  #audit(line: Line, edits: readonly Edit[], output: WireBytes): void {
    try {
      this.#options.forwarded?.(line, edits, output)
    } catch (error) {
      this.#close(new TransportError('TRANSPORT_TAP', 'the forward tap failed', { cause: error }))
      void this.#connection.close()
    }
  }

  #message(line: Line): void {
    if (this.#closed) return
    if (line[0] !== 0x7b && isBatch(line)) return this.#owner.batch(line)
    let frame: Frame
    try {
      frame = readFrame(line, this.#options.frame)
    } catch (error) {
      if (!(error instanceof FrameError)) throw error
      return this.#owner.malformed(error, line)
    }
    this.receive(frame)
  }

  /** Takes a frame that was read already: a member of a batch. */
  receive(frame: Frame): void {
    switch (frame.kind) {
      case 'request':
        return this.#owner.request(frame)
      case 'notification':
        return this.#owner.notification(frame)
      case 'result':
      case 'error':
        return this.#response(frame)
    }
  }

  #response(frame: ResponseFrame): void {
    const entry = frame.id === undefined ? undefined : this.#inflight.take(frame.id)
    if (entry === undefined) this.#owner.stray(frame)
    else if (entry instanceof OwnRequest) entry.settle(frame)
    else this.#owner.response(frame, entry)
  }

  #oversize(id: RequestId | undefined, bytes: number): void {
    const entry = id === undefined ? undefined : this.#inflight.take(id)
    if (!(entry instanceof OwnRequest)) return this.#owner.oversize(id, entry, bytes)
    entry.settle(new TransportError('TRANSPORT_IO', `the answer is longer than allowed (${bytes} bytes)`))
  }

  #close(cause: TransportError | undefined): void {
    if (this.#closed) return
    this.#closed = true
    const unanswered: E[] = []
    const error = cause ?? new TransportError('TRANSPORT_CLOSED', 'the connection is closed')
    for (const entry of this.#inflight.drain()) {
      if (entry instanceof OwnRequest) entry.settle(error)
      else unanswered.push(entry)
    }
    this.#owner.closed(unanswered, cause)
  }

  /** A fault in handling one message ends this connection, never the process that others share. */
  #guard(handle: () => void): void {
    try {
      handle()
    } catch (error) {
      const cause = new TransportError('TRANSPORT_IO', 'handling a message failed', { cause: error })
      this.#close(cause)
      void this.#connection.close()
    }
  }
}

function withId(
  edits: readonly Edit[],
  frame: { readonly line: Line; readonly idSpan: { start: number; end: number } | undefined },
  id: RequestId,
): readonly Edit[] {
  if (frame.idSpan === undefined) return edits
  const edit: Edit = { ...frame.idSpan, bytes: Buffer.from(id), why: 'id' }
  return edits.length === 0 ? [edit] : [...edits, edit]
}
