// A connection over the older HTTP+SSE pair: one event stream in, POSTs out.
//
// MCP 2024-11-05, Transports, HTTP with SSE. The first event names the address for
// the POSTs; the end of the stream is the end of the session.

import type { Connection, MessageHead, Sink } from '../../jsonrpc/connection.js'
import type { TransportError } from '../../jsonrpc/errors.js'
import type { Line } from '../../jsonrpc/line.js'
import type { RequestId } from '../../jsonrpc/request-id.js'
import { type Outgoing, joinedWire } from '../../jsonrpc/fast/splice-parts.js'
import { resolvedAddress } from './address.js'
import type { HttpAgent } from './agent.js'
import { type HttpAnswer, isEventStream, mediaType, readEvents, readExcerpt } from './answer.js'
import { Attempts } from './attempts.js'
import { HttpMessages } from './messages.js'
import { HttpExchange } from './exchange.js'
import {
  failure,
  incomplete,
  notAMessage,
  redirected,
  refused,
  unreachable,
  type HttpTrouble,
} from './failure.js'
import type { HttpTarget } from './options.js'
import { HttpPost, type PostOwner } from './post.js'
import { HttpPosts } from './posts.js'
import { HttpSession } from './session.js'

/** One session with one server. */
export class SseClientConnection implements Connection, PostOwner {
  readonly answersElsewhere = true
  readonly #target: HttpTarget
  readonly #session: HttpSession
  readonly #messages: HttpMessages
  readonly #posts: HttpPosts
  readonly #attempts: Attempts
  #exchange: HttpExchange | undefined
  /** The address of the stream; a redirect within the origin changes it. */
  #url: URL
  #answer: HttpAnswer | undefined
  #opening: { cancel(): void } | undefined
  /** Messages that wait for the address. */
  #held: HttpPost[] | undefined = []
  #closing: Promise<void> | undefined
  readonly #refused: () => void

  /** `refused` is called when the server answers something else than an event stream. */
  constructor(
    target: HttpTarget,
    agent: HttpAgent,
    session: HttpSession = new HttpSession(target, agent),
    refused: () => void = () => {},
  ) {
    this.#target = target
    this.#url = target.url
    this.#session = session
    this.#refused = refused
    this.#messages = new HttpMessages(session.longLines, (cause) => this.#end(cause))
    this.#posts = new HttpPosts(target, this.#messages)
    // To listen is to read.
    this.#attempts = new Attempts({ ...target, retryDelayMs: target.reconnectMs, isRead: () => true }, '')
  }

  get congested(): boolean {
    return this.#posts.congested
  }

  get backlogBytes(): number {
    return this.#posts.bytes
  }

  start(sink: Sink): void {
    this.#messages.start(sink)
    this.#listen()
  }

  send(message: Outgoing, head: MessageHead): void {
    if (this.#messages.closed || this.#closing !== undefined) return
    const bytes = joinedWire(message)
    const post = new HttpPost(head, bytes, this.#session, this.#messages, this.#posts, this)
    if (this.#held === undefined) this.#posts.send(post)
    else this.#held.push(post)
  }

  read(on: boolean): void {
    this.#messages.reading = on
    this.#posts.read(on)
    this.#answer?.read(on)
  }

  close(): Promise<void> {
    this.#closing ??= this.#finish()
    return this.#closing
  }

  // PostOwner

  forgotten(post: HttpPost, status: number): void {
    const error = failure('TRANSPORT_SESSION', 'the server has forgotten the session', { status })
    this.#messages.failed(post.head.id, error)
    this.#end(error)
  }

  #listen(): void {
    if (this.#messages.closed) return
    this.#wait()
    this.#exchange = new HttpExchange(
      this.#session,
      { method: 'GET', url: this.#url, accept: 'text/event-stream' },
      {
        responded: (answer) => this.#responded(answer),
        troubled: (trouble) => this.#troubled(trouble),
      },
    )
  }

  /** The renewal of a credential has a separate limit. */
  #wait(): void {
    const { timers, limits } = this.#target
    this.#opening?.cancel()
    this.#opening = timers.setTimer(limits.acceptMs, () => {
      if (this.#exchange?.isHeld === true) return this.#wait()
      this.#end(failure('TRANSPORT_TIMEOUT', `no event stream within ${limits.acceptMs} ms`))
    })
  }

  #troubled(trouble: HttpTrouble): void {
    this.#opening?.cancel()
    if (this.#attempts.afterTrouble(trouble, () => this.#listen())) return
    if (trouble.status !== undefined) this.#refused()
    this.#end(trouble.error ?? unreachable(this.#target, trouble))
  }

  #responded(answer: HttpAnswer): void {
    const { status } = answer
    const type = mediaType(answer)
    this.#session.learn(answer, false)
    if (isEventStream(answer)) return this.#read(answer)
    if (status >= 300 && status < 400) {
      this.#refused()
      return this.#end(redirected(this.#target, status, answer.get('location')))
    }
    readExcerpt(answer, this.#target.limits.excerptBytesMax, (text) => {
      const body = this.#target.discretion.beginning(text)
      this.#opening?.cancel()
      if (this.#attempts.afterRefusal(answer, () => this.#listen())) return
      this.#refused()
      const said = { status, body }
      const isSuccess = status >= 200 && status < 300
      this.#end(isSuccess ? notAMessage(this.#target, type, said) : refused(this.#target, said))
    })
  }

  #read(answer: HttpAnswer): void {
    this.#answer = answer
    this.#url = this.#exchange?.url ?? this.#url
    // The address for messages may be relative.
    this.#session.url = this.#url
    if (!this.#messages.reading) answer.read(false)
    const sink = {
      event: (type: string, data: Line) => this.#event(type, data),
      long: (type: string, parts: readonly Buffer[]) => {
        if (type === 'message') this.#messages.message(this.#session.longLines.end(parts), undefined)
      },
      oversize: (id: RequestId | undefined, bytes: number, isCall: boolean) =>
        this.#messages.oversize(id, bytes, isCall),
    }
    readEvents(answer, this.#target.limits.sse, sink, (error) => {
      this.#end(incomplete('the event stream has ended, and the session with it', error))
    })
  }

  #event(type: string, data: Line): void {
    if (type === 'message') return this.#messages.message(data, undefined)
    if (type === 'endpoint' && this.#held !== undefined) this.#open(data.toString('utf8').trim())
  }

  /** An address elsewhere would get our credentials. */
  #open(address: string): void {
    const base = this.#session.url
    const url = resolvedAddress(address, base)
    if (url?.origin !== base.origin) {
      const where = url === undefined ? 'an address that is none' : `an address at ${url.origin}`
      return this.#end(failure('TRANSPORT_ANSWER', `it names ${where} for messages, which is refused`))
    }
    this.#opening?.cancel()
    this.#session.url = url
    const held = this.#held ?? []
    this.#held = undefined
    for (const post of held) this.#posts.send(post)
  }

  /** The last messages, such as a cancel, get a moment to arrive. */
  async #finish(): Promise<void> {
    // The server may never name an address, so messages that need one are dropped.
    for (const post of this.#posts.takeHeld()) post.cancel()
    if (this.#held === undefined) await this.#posts.quiet()
    this.#end(undefined)
  }

  #end(cause: TransportError | undefined): void {
    if (this.#messages.closed) return
    this.#opening?.cancel()
    this.#attempts.stop()
    this.#messages.close(cause)
    this.#exchange?.cancel()
    this.#posts.stop()
    this.#session.end()
  }
}
