// The messages of one connection: those of the server, which go to the owner of the connection and to the tap, and
// ours that are on their way.

import type { ReceivedMessage, Sink } from '../../jsonrpc/connection.js'
import type { TransportError } from '../../jsonrpc/errors.js'
import { BriefMap } from '../../jsonrpc/fast/brief-map.js'
import { type LongLine, joinedLine } from '../../jsonrpc/fast/long-line.js'
import type { Line } from '../../jsonrpc/line.js'
import type { RequestId } from '../../jsonrpc/request-id.js'
import { messagePassesTap } from '../tap.js'
import { readMessages } from './envelope.js'
import type { HttpPost } from './post.js'
import type { HttpSession } from './session.js'

/** Passes on what the server says until the connection has closed, and keeps every message of ours until its end. */
export class HttpMessages {
  readonly session: HttpSession
  readonly #broken: (cause: TransportError) => void
  readonly #posts = new BriefMap<number, HttpPost>()
  /** Our requests by their ids; of two with one id, which was given back and lent again, the later one. */
  readonly #requests = new BriefMap<RequestId, HttpPost>()
  congested = false
  #sink: Sink | undefined
  #closed = false
  /** Why it has closed. */
  #cause: TransportError | undefined
  #reading = true
  #last = 0
  #unsentBytes = 0
  #quiet: (() => void) | undefined

  /** `broken` is called when the tap fails, since no traffic may pass without it. */
  constructor(session: HttpSession, broken: (cause: TransportError) => void) {
    this.session = session
    this.#broken = broken
  }

  get closed(): boolean {
    return this.#closed
  }

  /** Whether the owner takes messages now. */
  get reading(): boolean {
    return this.#reading
  }

  /** How many of ours are on their way. */
  get size(): number {
    return this.#posts.size
  }

  /** How much of ours the server has not taken. */
  get bytes(): number {
    return this.#unsentBytes
  }

  start(sink: Sink): void {
    this.#sink = sink
    if (this.#closed) setImmediate(() => sink.closed(this.#cause))
  }

  /** Stops or resumes reading what comes back. */
  readAll(on: boolean): void {
    this.#reading = on
    for (const post of this.#posts.values()) post.read(on)
  }

  close(cause: TransportError | undefined): void {
    if (this.#closed) return
    this.#closed = true
    this.#cause = cause
    this.#sink?.closed(cause)
  }

  /** Gives up what is on its way. */
  stop(): void {
    for (const post of this.#posts.values()) post.cancel()
    this.congested = false
    this.session.end()
  }

  // Messages of the server.

  /** Reads a body or an event, for callers that look into it before it is delivered. */
  read(message: Line | LongLine): readonly ReceivedMessage[] {
    return readMessages(message, this.session.longLines, this.#sink?.frameLimits)
  }

  /** Hands on what was read in `message`; `during` is the request of ours on whose stream it came. */
  deliver(
    message: Line | LongLine,
    received: readonly ReceivedMessage[],
    during: RequestId | undefined,
  ): void {
    if (this.#closed) return
    if (this.#sink?.wire !== undefined && !this.#passes('in', joinedLine(message))) return
    for (const each of received)
      if (this.#sink?.received === undefined) this.#sink?.message(each.line, during)
      else this.#sink.received(each, during)
  }

  /** Reads what the server says and hands it on. */
  message(message: Line | LongLine, during: RequestId | undefined): void {
    if (!this.#closed) this.deliver(message, this.read(message), during)
  }

  oversize(id: RequestId | undefined, bytes: number, isCall: boolean): void {
    if (!this.#closed) this.#sink?.oversize(id, bytes, isCall)
  }

  failed(id: RequestId | undefined, error: TransportError): void {
    if (!this.#closed) this.#sink?.failed?.(id, error)
  }

  missed(): void {
    if (!this.#closed) this.#sink?.missed?.()
  }

  // Messages to the server.

  add(post: HttpPost): void {
    post.number = ++this.#last
    this.#posts.set(post.number, post)
    if (post.id !== undefined) this.#requests.set(post.id, post)
    this.#unsentBytes += post.bytes.length
    if (this.#unsentBytes > this.session.target.limits.backlogBytesHigh) this.congested = true
  }

  post(post: HttpPost): void {
    if (!this.#passes('out', post.bytes)) return
    post.send()
    if (post.cancels !== undefined) this.request(post.cancels)?.abandon()
  }

  /** The system has the whole message. */
  sent(post: HttpPost): void {
    if (post.isSent) return
    post.isSent = true
    this.#unsentBytes -= post.bytes.length
    const isRelieved = this.#unsentBytes <= this.session.target.limits.backlogBytesHigh
    if (!isRelieved || !this.congested) return
    this.congested = false
    if (!this.#closed) this.#sink?.drained()
  }

  ended(post: HttpPost): void {
    this.sent(post)
    this.#posts.take(post.number)
    if (post.id !== undefined && this.#requests.get(post.id) === post) this.#requests.take(post.id)
    if (this.#quiet !== undefined && !this.#isTelling()) this.#quiet()
  }

  /** The request of ours that is known by this id. */
  request(id: RequestId): HttpPost | undefined {
    return this.#requests.get(id)
  }

  /** Waits until nothing is on its way that expects no answer (a cancel, or an answer of ours), but not for long. */
  async quiet(): Promise<void> {
    if (!this.#isTelling()) return
    const { timers, limits } = this.session.target
    await new Promise<void>((resolve) => {
      const timer = timers.setTimer(limits.closeMs, resolve)
      this.#quiet = () => {
        timer.cancel()
        resolve()
      }
    })
  }

  #isTelling(): boolean {
    for (const post of this.#posts.values()) if (post.id === undefined) return true
    return false
  }

  /** Whether the message may pass. Bodies are tapped as lines; headers, which hold credentials, are not. */
  #passes(direction: 'in' | 'out', line: Line): boolean {
    return messagePassesTap(this.#sink, direction, line, this.#broken)
  }
}
