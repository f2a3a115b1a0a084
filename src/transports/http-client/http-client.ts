// A connection over Streamable HTTP: every message of ours is a POST.
//
// MCP 2025-03-26 to 2025-11-25, Transports, Streamable HTTP. Answers come back as
// JSON or as events, each handed on as it arrives. A message that does not get
// through fails alone; the connection ends when the server has forgotten the
// session, or cannot be reached while nothing else is on its way.

import type { Connection, MessageHead, Sink } from '../../jsonrpc/connection.js'
import { TransportError } from '../../jsonrpc/errors.js'
import type { Line } from '../../jsonrpc/line.js'
import { type Outgoing, joinedWire } from '../../jsonrpc/fast/splice-parts.js'
import type { RequestId } from '../../jsonrpc/request-id.js'
import type { SseParser } from '../sse/parser.js'
import type { HttpAgent } from './agent.js'
import { type HttpAnswer, discard, isEventStream, readEvents } from './answer.js'
import { answeredId } from './envelope.js'
import { HttpExchange } from './exchange.js'
import { incomplete } from './failure.js'
import { HttpMessages } from './messages.js'
import type { HttpTarget } from './options.js'
import { retryAfterMs } from './pause.js'
import { HttpPost, type PostOwner } from './post.js'
import { HttpPosts } from './posts.js'
import { HttpSession } from './session.js'

/** One session with one server. */
export class HttpClientConnection implements Connection, PostOwner {
  readonly #session: HttpSession
  readonly #messages: HttpMessages
  readonly #posts: HttpPosts
  readonly #standalone: StandaloneStream
  #forgotten = false
  /** Its messages say by themselves what they speak. */
  #isSessionless = false
  #closing: Promise<void> | undefined

  constructor(target: HttpTarget, agent: HttpAgent, session: HttpSession = new HttpSession(target, agent)) {
    this.#session = session
    this.#messages = new HttpMessages(session.longLines, (cause) => this.#end(cause))
    this.#posts = new HttpPosts(target, this.#messages, () => this.#ready())
    this.#standalone = new StandaloneStream(
      session,
      this.#messages,
      (line) => this.#unasked(line),
      () => this.#forget(),
    )
  }

  get congested(): boolean {
    return this.#posts.congested
  }

  get backlogBytes(): number {
    return this.#posts.bytes
  }

  start(sink: Sink): void {
    this.#messages.start(sink)
  }

  send(message: Outgoing, head: MessageHead): void {
    if (this.#messages.closed || this.#closing !== undefined) return
    // Without a session, closing the stream of a request cancels it, and no message is sent (MCP 2026-07-28).
    if (head.cancels !== undefined && this.#isSessionless) {
      this.#posts.request(head.cancels)?.cancel()
      return
    }
    const bytes = joinedWire(message)
    const post = new HttpPost(head, bytes, this.#session, this.#messages, this.#posts, this)
    if (head.method === 'initialize') this.#isSessionless = false
    else if (post.mirrored !== undefined) this.#isSessionless = true
    // Later: the sender must have returned before its handler is called.
    if (this.#forgotten) setImmediate(() => this.#refuse(post))
    else this.#posts.send(post)
  }

  read(on: boolean): void {
    this.#messages.reading = on
    this.#posts.read(on)
    this.#standalone.read(on)
  }

  close(): Promise<void> {
    this.#closing ??= this.#finish()
    return this.#closing
  }

  // PostOwner: what becomes of the messages.

  get listens(): boolean {
    return this.#standalone.isOffered
  }

  failed(error: TransportError): void {
    // Other requests in flight show that the server can be reached.
    if (error.code === 'TRANSPORT_UNREACHABLE' && this.#posts.size === 1) this.#end(error)
  }

  forgotten(post: HttpPost, status: number): void {
    this.#forget()
    this.#refuse(post, status)
  }

  ended(): void {
    if (this.#forgotten) this.#endWhenIdle()
  }

  /** A server that answers on its standalone stream may keep the stream of the request open for ever. */
  #unasked(line: Line): void {
    const received = this.#messages.read(line)
    // Before it is delivered: the receiver of the answer may lend the id again.
    const posts = received.map((each) => {
      const id = answeredId(each)
      return id === undefined ? undefined : this.#posts.request(id)
    })
    this.#messages.deliver(line, received, undefined)
    for (const post of posts) post?.cancel()
  }

  #ready(): void {
    if (!this.#forgotten && this.#closing === undefined) this.#standalone.open()
  }

  /** The server did not accept it, so its sender may send it to the next session. */
  #refuse(post: HttpPost, status?: number): void {
    this.#messages.failed(post.head.id, forgetful(status))
    post.cancel()
  }

  /** Requests in flight may end; nothing new is sent. */
  #forget(): void {
    if (this.#forgotten || this.#messages.closed) return
    this.#forgotten = true
    this.#standalone.stop()
    for (const post of this.#posts.takeHeld()) this.#refuse(post)
    this.#endWhenIdle()
  }

  #endWhenIdle(): void {
    if (this.#posts.size === 0) this.#end(forgetful())
  }

  /** The last messages, such as a cancel, get a moment to arrive. */
  async #finish(): Promise<void> {
    if (this.#messages.closed) return
    for (const post of this.#posts.takeHeld()) post.cancel()
    await this.#posts.quiet()
    this.#stop()
    if (!this.#forgotten) await deleteSession(this.#session)
    this.#end(undefined)
  }

  #stop(): void {
    this.#standalone.stop()
    this.#posts.stop()
    this.#session.end()
  }

  #end(cause: TransportError | undefined): void {
    if (this.#messages.closed) return
    this.#messages.close(cause)
    this.#stop()
  }
}

function forgetful(status?: number): TransportError {
  const options = status === undefined ? {} : { details: { status } }
  const how = status === undefined ? '' : ` (HTTP ${status})`
  return new TransportError('TRANSPORT_SESSION', `the server has forgotten the session${how}`, options)
}

/**
 * Ends a session at the server (MCP, Transports: session management).
 *
 * Resolves with the response or after a limit; a server may refuse the request (405).
 */
function deleteSession(session: HttpSession): Promise<void> {
  const { timers, limits } = session.target
  if (session.id === undefined) return Promise.resolve()
  return new Promise((resolve) => {
    const done = (): void => {
      timer.cancel()
      resolve()
    }
    const ask = { method: 'DELETE', url: session.url, accept: '*/*' } as const
    const exchange = new HttpExchange(session, ask, {
      responded: (answer) => {
        discard(answer, limits.excerptBytesMax)
        done()
      },
      troubled: done,
    })
    const timer = timers.setTimer(limits.closeMs, () => {
      exchange.cancel()
      resolve()
    })
  })
}

/**
 * The stream for unsolicited messages of a server, opened again after each end.
 *
 * MCP, Transports, Streamable HTTP: listening for messages from the server. A server may have none (405). Calls continue without
 * it. The stream is open until it is stopped, or until the server says that it has none.
 */
class StandaloneStream {
  readonly #messages: HttpMessages
  readonly #session: HttpSession
  readonly #onMessage: (line: Line) => void
  readonly #onForgotten: () => void
  #exchange: HttpExchange | undefined
  #answer: HttpAnswer | undefined
  #parser: SseParser | undefined
  #timer: { cancel(): void } | undefined
  #lastEventId: string | undefined
  /** The address after a redirect within the origin. */
  #moved: URL | undefined
  #openedAt = 0
  #failures = 0
  #stopped = false
  /** The server has refused it. */
  #isMissing = false

  /** `onForgotten` is called when the server does not know the session any more. */
  constructor(
    session: HttpSession,
    messages: HttpMessages,
    onMessage: (line: Line) => void,
    onForgotten: () => void,
  ) {
    this.#session = session
    this.#messages = messages
    this.#onMessage = onMessage
    this.#onForgotten = onForgotten
  }

  open(): void {
    if (this.#stopped) return
    const url = this.#moved ?? this.#session.url
    const ask = { method: 'GET', url, accept: 'text/event-stream', lastEventId: this.#lastEventId } as const
    this.#openedAt = this.#session.target.timers.now()
    this.#exchange = new HttpExchange(this.#session, ask, {
      responded: (answer) => this.#responded(answer),
      troubled: ({ what, status }) => (status === undefined ? this.#again(what) : this.#none(status)),
    })
  }

  /** Whether the server has this stream, as far as is known. */
  get isOffered(): boolean {
    return this.#exchange !== undefined && !this.#stopped && !this.#isMissing
  }

  read(on: boolean): void {
    this.#answer?.read(on)
  }

  stop(): void {
    this.#stopped = true
    this.#timer?.cancel()
    this.#exchange?.cancel()
  }

  #responded(answer: HttpAnswer): void {
    const { status } = answer
    if (isEventStream(answer)) return this.#listen(answer)
    answer.drop()
    if (status === 404 && this.#session.id !== undefined && this.#answer !== undefined)
      return this.#onForgotten()
    // 409: our last stream is not forgotten yet; 429 and 5xx pass as well.
    if (status === 409 || status === 429 || status >= 500)
      return this.#again(`HTTP ${status}`, retryAfterMs(answer, this.#session.target.timers))
    this.#none(status)
  }

  #none(status: number): void {
    this.#isMissing = true
    if (status !== 405 && !this.#stopped) this.#log(`the server offers no stream of its own (HTTP ${status})`)
  }

  #listen(answer: HttpAnswer): void {
    this.#answer = answer
    this.#moved = this.#exchange?.url
    // Messages before this moment may be lost, unless the server repeats the events after the last one that was seen.
    if (this.#lastEventId === undefined) this.#messages.missed()
    if (!this.#messages.reading) answer.read(false)
    const sink = {
      event: (type: string, data: Line): void => {
        if (!this.#stopped && type === 'message') this.#onMessage(data)
      },
      oversize: (id: RequestId | undefined, bytes: number, isCall: boolean): void => {
        if (!this.#stopped) this.#messages.oversize(id, bytes, isCall)
      },
    }
    this.#parser = readEvents(answer, this.#session.target.limits.sse, sink, (error) =>
      this.#again(incomplete('it ended', error).message),
    )
  }

  /** The delay grows while streams end immediately, and is reset by a stream that lasted. */
  #again(why: string, leastMs = 0): void {
    if (this.#stopped) return
    const { timers, limits, reconnectMs } = this.#session.target
    this.#lastEventId = this.#parser?.lastEventId ?? this.#lastEventId
    const hasLasted = timers.now() - this.#openedAt > limits.reconnectMsMax
    this.#failures = hasLasted ? 0 : this.#failures + 1
    const told = this.#parser?.retryMs
    const grown = reconnectMs * 2 ** Math.min(this.#failures - 1, 10) * (0.8 + 0.4 * timers.random())
    // The delay that the server asked for is used, unless its streams end repeatedly.
    const delayMs = told !== undefined && this.#failures <= 3 ? told : Math.max(grown, told ?? 0)
    const least = Math.max(limits.reconnectMsMin, this.#session.target.pause.leftMs, leastMs)
    const bounded = Math.min(Math.max(delayMs, least), limits.reconnectMsMax)
    this.#log(`the stream of the server: ${why}; again in ${Math.round(bounded)} ms`)
    this.#timer = timers.setTimer(bounded, () => this.open())
  }

  #log(message: string): void {
    this.#session.target.log('debug', message)
  }
}
