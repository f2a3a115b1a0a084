// A connection to a remote server: every message of ours is a POST.
//
// MCP 2025-03-26 to 2025-11-25, Transports, Streamable HTTP. Answers come back as JSON or as events, each handed on as it arrives. A
// message that does not get through fails alone; the connection ends when the server has forgotten the session, or cannot be
// reached while nothing else is on its way.
//
// MCP 2024-11-05, Transports, HTTP with SSE. Answers come on the one stream of the server, which names the address for the POSTs, and
// whose end is the end of the session. If it may be either, only `initialize` chooses (MCP 2025-03-26, Transports, backwards
// compatibility): if its POST is refused with 400, 404 or 405 and not in JSON-RPC, the address may be that of an older server. A
// server that accepts no POST (405) may refuse it in JSON-RPC.

import type { Message } from '../../jsonrpc/splice.js'
import type { Connection, MessageHead, Sink } from '../../jsonrpc/connection.js'
import type { ReceivedMessage } from '../../jsonrpc/frame.js'
import { TransportError } from '../../jsonrpc/jsonrpc-errors.js'
import { ChurnMap } from '../../jsonrpc/churn-map.js'
import { type LongLine, joinedLine } from '../../jsonrpc/long-line.js'
import type { Line } from '../../jsonrpc/line.js'
import type { RequestId } from '../../jsonrpc/request-id.js'
import { messagePassesTap } from '../tap.js'
import { within } from '../../runtime/deadline.js'
import type { HttpAgent } from '../http1/client.js'
import { answeredId, readMessages, MessagePost } from './message-post.js'
import type { HttpTarget } from './options.js'
import { OutgoingRequest } from './outgoing-request.js'
import { ServerStream } from './server-stream.js'
import { HttpSession } from './http-session.js'

export interface LinkOptions {
  /** Whether the server speaks HTTP+SSE: `maybe` where it may refuse Streamable HTTP. */
  readonly older?: 'yes' | 'maybe'
  /** The server has turned out to speak HTTP+SSE, or not to. */
  readonly onOlder?: (isOlder: boolean) => void
}

const refusals: readonly unknown[] = [400, 404, 405]

/** One session with one server. */
export class HttpLink implements Connection {
  /** Its owner limits what it sends by `backlogBytes`. */
  readonly congested = false
  isReading = true
  readonly #onOlder: LinkOptions['onOlder']
  /** Whether a refusal of `initialize` may mean HTTP+SSE: the server has answered nothing yet. */
  #mayBeOlder: boolean
  /** That refusal, until a server of HTTP+SSE has answered. */
  #refusal: TransportError | undefined
  #session: HttpSession
  #stream: ServerStream
  #sink: Sink | undefined
  #isClosed = false
  #cause: TransportError | undefined
  #closing: Promise<void> | undefined
  readonly #posts = new ChurnMap<number, MessagePost>()
  #number = 0
  /** Of messages that may be sent again, since they are not answered. */
  backlogBytes = 0
  /** Called when the server has taken every message that has no answer. */
  #onQuiet: (() => void) | undefined
  /** The message that the server must take before any other is sent. */
  #gate: MessagePost | undefined
  #gateTimer: { cancel(): void } | undefined
  /** Messages that wait for that, or for the address of an older server. */
  #held: MessagePost[] = []
  #isForgotten = false
  /** Its messages say by themselves what they speak. */
  #isSessionless = false

  constructor(target: HttpTarget, agent: HttpAgent, { older, onOlder }: LinkOptions = {}) {
    this.#onOlder = onOlder
    this.#mayBeOlder = older === 'maybe'
    this.#session = new HttpSession(target, agent)
    this.#stream = new ServerStream(this.#session, this, older === 'yes')
  }

  /** Answers come on the stream of the server, so that a message is done once it is taken. */
  get answersElsewhere(): boolean {
    return this.#stream.isOlder
  }

  /** The server has a separate stream, on which the answer to a request that it has accepted (202) may come. */
  get listens(): boolean {
    return this.#stream.isStandalone
  }

  start(sink: Sink): void {
    this.#sink = sink
    if (this.#isClosed) setImmediate(() => sink.closed(this.#cause))
    else if (this.#stream.isOlder) this.#stream.open()
  }

  send(message: Message, head: MessageHead): void {
    if (this.#isClosed || this.#closing !== undefined) return
    // Without a session, closing the stream of a request cancels it, and no message is sent (MCP 2026-07-28).
    if (head.cancels !== undefined && this.#isSessionless) return this.#request(head.cancels)?.cancel()
    this.#send(head, message.joined)
  }

  #send(head: MessageHead, bytes: Line): void {
    const post = new MessagePost(head, bytes, this.#session, this, ++this.#number)
    this.#posts.set(post.number, post)
    this.backlogBytes += bytes.length
    if (head.method === 'initialize') this.#isSessionless = false
    else if (post.mirrored !== undefined && !this.answersElsewhere) this.#isSessionless = true
    // Later: the sender must have returned before its handler is called.
    if (this.#isForgotten) setImmediate(() => this.#refuse(post))
    else this.#post(post)
  }

  read(on: boolean): void {
    this.isReading = on
    for (const post of this.#posts.values()) post.read(on)
    this.#stream.read(on)
  }

  close(): Promise<void> {
    this.#closing ??= this.#finish()
    return this.#closing
  }

  /** The message did not get through, or its answer will not come. */
  failed(post: MessagePost, error: TransportError): void {
    if (this.#mayBeOlder && post.head.method === 'initialize' && isRefusal(error))
      return this.#tryOlder(post, error)
    this.#tellFailed(post, error)
    // Other requests in flight show that the server can be reached.
    const isAlone = this.#posts.size === 1 && !this.answersElsewhere
    if (error.code === 'TRANSPORT_UNREACHABLE' && isAlone) this.end(error)
  }

  /** The server does not know the session any more, and has not taken the message. */
  forgotten(post: MessagePost, status: number): void {
    this.#tellFailed(post, forgetful(status))
    if (this.answersElsewhere) this.end(forgetful(status))
    else this.forget()
  }

  ended(post: MessagePost): void {
    this.#posts.take(post.number)
    this.backlogBytes -= post.bytes.length
    if (post === this.#gate) this.#openGate()
    if (this.#onQuiet !== undefined && !this.#isTelling()) this.#onQuiet()
    if (this.#isForgotten) this.#endWhenIdle()
  }

  // Messages of the server.

  /** Hands on what was read in `message`; `during` is the request of ours on whose stream it came. */
  deliver(
    message: Line | LongLine,
    received: readonly ReceivedMessage[],
    during: RequestId | undefined,
  ): void {
    if (this.#isClosed) return
    if (this.#sink?.wire !== undefined && !this.#passes('in', joinedLine(message))) return
    if (this.#refusal !== undefined) this.#onOlder?.(true)
    this.#refusal = undefined
    this.#mayBeOlder = false
    for (const each of received)
      if (this.#sink?.received === undefined) this.#sink?.message(each.line, during)
      else this.#sink.received(each, during)
  }

  /** A message on the stream of the server. One that answers there may keep the stream of the request open for ever. */
  unasked(message: Line | LongLine): void {
    if (this.#isClosed) return
    const received = readMessages(message)
    // Before it is delivered: afterwards the request may be gone.
    const posts = this.answersElsewhere ? [] : received.map((each) => this.#request(answeredId(each)))
    this.deliver(message, received, undefined)
    for (const post of posts) post?.cancel()
  }

  oversize(id: RequestId | undefined, bytes: number, isCall: boolean): void {
    if (!this.#isClosed) this.#sink?.oversize(id, bytes, isCall)
  }

  missed(): void {
    if (!this.#isClosed) this.#sink?.missed?.()
  }

  addressed(): void {
    for (const post of this.#held.splice(0)) this.#post(post)
  }

  refusedOlder(): void {
    this.#onOlder?.(false)
  }

  /** The server does not know the session any more: requests in flight may end, and nothing new is sent. */
  forget(): void {
    if (this.#isForgotten || this.#isClosed) return
    this.#isForgotten = true
    this.#stream.stop()
    for (const post of this.#held.splice(0)) this.#refuse(post)
    this.#endWhenIdle()
  }

  /** A server that speaks neither transport is described best by what it said first. */
  end(cause: TransportError | undefined): void {
    if (this.#isClosed) return
    this.#isClosed = true
    this.#cause = cause && (this.#refusal ?? cause)
    this.#sink?.closed(this.#cause)
    this.#stop()
  }

  #request(id: RequestId | undefined): MessagePost | undefined {
    if (id === undefined) return undefined
    return [...this.#posts.values()].find(({ head }) => head.id === id)
  }

  /** Two POSTs may overtake each other, and a server must not be called before it has taken `notifications/initialized`. */
  #post(post: MessagePost): void {
    if (this.#gate !== undefined || !this.#stream.hasAddress) return void this.#held.push(post)
    if (post.head.method === 'notifications/initialized') {
      const { timers, limits } = this.#session.target
      this.#gate = post
      // A server that says nothing to it is called all the same.
      this.#gateTimer = timers.setTimer(limits.readyMs, () => this.#openGate())
    }
    if (!this.#passes('out', post.bytes)) return
    post.send()
    this.#request(post.head.cancels)?.abandon()
  }

  #openGate(): void {
    this.#gateTimer?.cancel()
    this.#gate = undefined
    if (this.#isClosed || this.#isForgotten) return
    if (!this.#stream.isOlder && this.#closing === undefined) this.#stream.open()
    for (const post of this.#held.splice(0)) this.#post(post)
  }

  #tryOlder({ head, bytes }: MessagePost, refusal: TransportError): void {
    const { target, agent } = this.#session
    this.#mayBeOlder = false
    this.#refusal = refusal
    this.#stop()
    this.#session = new HttpSession(target, agent)
    this.#stream = new ServerStream(this.#session, this, true)
    this.#stream.open()
    this.#send(head, bytes)
  }

  #tellFailed({ head }: MessagePost, error: TransportError): void {
    if (!this.#isClosed) this.#sink?.failed?.(head.id, error)
  }

  /** The server did not accept it, so its sender may send it to the next session. */
  #refuse(post: MessagePost): void {
    this.#tellFailed(post, forgetful())
    post.cancel()
  }

  #endWhenIdle(): void {
    if (this.#posts.size === 0) this.end(forgetful())
  }

  /** The last notifications, such as a cancel, get a moment to arrive; those that have no address yet are dropped. */
  async #finish(): Promise<void> {
    if (this.#isClosed) return
    for (const post of this.#held.splice(0))
      if (this.#stream.hasAddress && post.head.id === undefined) this.#held.push(post)
      else post.cancel()
    // Later in any case: the caller may be a receiver of a message.
    await (this.#isTelling() ? this.#briefly((done) => (this.#onQuiet = done)) : undefined)
    this.#stop()
    if (!this.answersElsewhere && !this.#isForgotten) await this.#deleteSession()
    this.end(undefined)
  }

  /** MCP, Transports: session management. A server may refuse it (405). */
  async #deleteSession(): Promise<void> {
    const session = this.#session
    if (session.id === undefined) return
    const ask = { method: 'DELETE', url: session.url, accept: '*/*' } as const
    let request: OutgoingRequest | undefined
    await this.#briefly((done) => {
      request = new OutgoingRequest(session, ask, { responded: done, refused: done, troubled: done })
    })
    request?.cancel()
  }

  async #briefly(begin: (done: () => void) => void): Promise<void> {
    const { timers, limits } = this.#session.target
    await within(new Promise<void>(begin), limits.closeMs, timers)
  }

  #isTelling(): boolean {
    for (const post of this.#posts.values()) if (post.head.id === undefined) return true
    return false
  }

  #stop(): void {
    this.#gateTimer?.cancel()
    this.#stream.stop()
    for (const post of this.#posts.values()) post.cancel()
  }

  /** Whether the message may pass the tap. Bodies are tapped as lines; headers, which hold credentials, are not. */
  #passes(direction: 'in' | 'out', line: Line): boolean {
    return messagePassesTap(this.#sink, direction, line, (cause) => this.end(cause))
  }
}

/** Whether a server of the older transport may refuse like this. One that refuses the revision has read the message. */
function isRefusal({ code, details }: TransportError): boolean {
  const { body, status } = details ?? {}
  if (typeof body === 'string' && /protocol.?version/i.test(body)) return false
  return code === 'TRANSPORT_STATUS' && refusals.includes(status) && (body !== undefined || status === 405)
}

function forgetful(status?: number): TransportError {
  const options = status === undefined ? {} : { details: { status } }
  const how = status === undefined ? '' : ` (HTTP ${status})`
  return new TransportError('TRANSPORT_SESSION', `the server has forgotten the session${how}`, options)
}
