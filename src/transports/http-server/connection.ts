// The connection of one client that speaks over many requests.
//
// Each message leaves on exactly one response (MCP 2025-03-26, Transports,
// Multiple connections): what belongs to a request on the response to its POST,
// all else on the client's standalone stream, where it waits until there is one.

import { BriefMap } from '../../jsonrpc/fast/brief-map.js'
import type { Connection, MessageHead, Sink } from '../../jsonrpc/connection.js'
import type { TransportError } from '../../jsonrpc/errors.js'
import type { Frame } from '../../jsonrpc/frame.js'
import { type RequestId, canonical } from '../../jsonrpc/request-id.js'
import type { Wire, WireParts } from '../../jsonrpc/fast/splice-parts.js'
import type { WireBytes } from '../../jsonrpc/splice.js'
import { Exchange, type ExchangeOwner, type Post } from './exchange.js'
import { Inbox } from './inbox.js'
import { cancelledBy } from './message.js'
import type { HttpResponse } from './response.js'
import type { Fields } from './status-line.js'
import type { HttpStreams, ListenState } from './streams.js'
import type { Waits } from '../../runtime/waits.js'

export interface ConnectionParts {
  readonly streams: HttpStreams
  readonly waits: Waits
  /** Fields of every response. */
  headers(): Fields
  /** The answer to `initialize` is an error; called before it leaves. */
  refused(): void
  /** Nothing is being answered any more. */
  idle(): void
  closed(): void
}

/** One client of Streamable HTTP. */
export class StreamableConnection implements Connection {
  readonly #parts: ConnectionParts
  readonly #streams: HttpStreams
  readonly #inbox = new Inbox((cause) => this.#end(cause))
  readonly #exchanges = new BriefMap<RequestId, Exchange>()
  readonly #exchanging: ExchangeOwner
  /** The key of the `initialize` that is being answered. */
  #opening: RequestId | undefined
  #opened = false

  constructor(parts: ConnectionParts) {
    this.#parts = parts
    this.#streams = parts.streams
    this.#streams.onDrained = () => this.#inbox.drained()
    this.#exchanging = {
      waits: parts.waits,
      headers: () => parts.headers(),
      openStream: (response) => this.#streams.open(response, parts.headers()),
      sending: (response) => this.#streams.sending(response),
      done: (exchange) => this.#forget(exchange),
    }
  }

  get congested(): boolean {
    return this.#streams.congestion.on
  }

  get backlogBytes(): number {
    return this.#streams.backlogBytes
  }

  get open(): boolean {
    return this.#inbox.open
  }

  /** Whether somebody listens, or waits for an answer. */
  get busy(): boolean {
    return this.#exchanges.size > 0 || this.#streams.attached
  }

  /** Resolves when the next body may be read; undefined when it may be now. */
  get paused(): Promise<void> | undefined {
    return this.#inbox.paused
  }

  start(sink: Sink): void {
    this.#inbox.start(sink)
  }

  send(message: WireBytes, head: MessageHead): Promise<void> {
    return this.#send(message, head)
  }

  sendParts(parts: WireParts, head: MessageHead): Promise<void> {
    return this.#send(parts, head)
  }

  read(on: boolean): void {
    this.#inbox.read(on)
  }

  close(atOnce = false): Promise<void> {
    this.#end(undefined)
    if (atOnce) this.#streams.abandon()
    return Promise.resolve()
  }

  /** The session ends as soon as what was asked is answered. */
  leave(): void {
    this.#inbox.ended()
  }

  /** Whether one of these requests is being answered already. */
  knows(keys: readonly RequestId[]): boolean {
    return keys.some((key) => this.#exchanges.has(key))
  }

  /** Takes what a POST brought, and answers its requests on its response. */
  post(frames: readonly Frame[], post: Post): void {
    const exchange = new Exchange(post, this.#exchanging)
    post.hold?.begin()
    for (const key of post.keys) this.#exchanges.set(key, exchange)
    if (post.opens) this.#opening = post.keys[0]
    this.take(frames)
  }

  /** Takes messages; a request among them must have been posted. */
  take(frames: readonly Frame[]): void {
    this.#inbox.deliver(() => {
      for (const frame of frames) this.#deliver(frame)
    })
  }

  /** Opens the standalone stream, or resumes the one that holds this event. */
  listen(response: HttpResponse, lastEventId: string | undefined): ListenState {
    return this.#streams.listen(response, this.#parts.headers(), lastEventId)
  }

  #send(wire: Wire, head: MessageHead): Promise<void> {
    if (this.#inbox.passesOut(wire)) this.#route(wire, head)
    this.#streams.measure()
    return this.#streams.congestion.relieved
  }

  #deliver(frame: Frame): void {
    if (!this.#inbox.frame(frame)) return
    const key = cancelledBy(frame)
    // A session that obeys says no more about that request, and does so at once; `initialize` cannot be cancelled.
    if (key === undefined || key === this.#opening) return
    this.#exchanges.take(key)?.unanswered()
  }

  #route(message: Wire, { kind, about }: MessageHead): void {
    const key = about === undefined ? undefined : canonical(about)
    const exchange = key === undefined ? undefined : this.#exchanges.get(key)
    if (key === undefined) return this.#streams.aside(message)
    const isAnswer = kind === 'result' || kind === 'error'
    if (exchange === undefined) {
      // The standalone stream carries no answers (MCP 2025-03-26, Transports, ListenState).
      if (!isAnswer) this.#streams.aside(message)
      return
    }
    if (isAnswer) return this.#answer(exchange, key, message, kind === 'error')
    if (!exchange.during(message)) this.#streams.aside(message)
  }

  #answer(exchange: Exchange, key: RequestId, message: Wire, isError: boolean): void {
    this.#exchanges.take(key)
    if (key === this.#opening) {
      this.#opening = undefined
      // A second `initialize` is refused to a session that goes on.
      if (isError && !this.#opened) this.#parts.refused()
      this.#opened ||= !isError
    }
    exchange.answer(message)
  }

  #forget(exchange: Exchange): void {
    const { keys, hold } = exchange.post
    hold?.end()
    for (const key of keys) if (this.#exchanges.get(key) === exchange) this.#exchanges.take(key)
    if (this.#exchanges.size === 0) this.#parts.idle()
  }

  #end(cause: TransportError | undefined): void {
    this.#inbox.close(cause, () => {
      if (this.#exchanges.size > 0) for (const exchange of new Set(this.#exchanges.values())) exchange.end()
      this.#streams.close()
      this.#parts.closed()
    })
  }
}
