// A connection to a remote server: a POST carries every message of the proxy.
//
// MCP 2025-03-26 to 2025-11-25, Transports, Streamable HTTP. Answers arrive as JSON or as events, and are
// delivered immediately. If one message fails, only its request fails. The connection ends when the server
// has forgotten the session, or when it is unreachable and no other request is in flight.
//
// MCP 2024-11-05, Transports, HTTP with SSE. Answers arrive on the only stream of the server, which names the
// address for POSTs, and whose end is the end of the session. If the transport is unknown, `initialize`
// decides (MCP 2025-03-26, Transports, backwards compatibility): a refusal with 400, 404 or 405 that is not
// JSON-RPC may come from an older server. A refusal with 405 may also be JSON-RPC.

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
  /** Whether the server uses HTTP+SSE. `maybe`: the server may refuse Streamable HTTP. */
  readonly older?: 'yes' | 'maybe'
  /** Reports that the server uses HTTP+SSE, or that it does not. */
  readonly onOlder?: (isOlder: boolean) => void
}

const refusals: readonly unknown[] = [400, 404, 405]

export class HttpLink implements Connection {
  /** Always false: the owner limits its messages by `backlogBytes`. */
  readonly congested = false
  isReading = true
  readonly #onOlder: LinkOptions['onOlder']
  /** Whether a refusal of `initialize` may mean HTTP+SSE. False after the first answer of the server. */
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
  /** The bytes of messages without an answer, which the proxy may send again. */
  backlogBytes = 0
  /** Called when the server has accepted every message that has no answer. */
  #onQuiet: (() => void) | undefined
  /** The message that the server must accept before the proxy sends another. */
  #gate: MessagePost | undefined
  #gateTimer: { cancel(): void } | undefined
  /** Messages that wait for `#gate`, or for the address of an older server. */
  #held: MessagePost[] = []
  #isForgotten = false
  /** Whether messages carry their revision and no session id. */
  #isSessionless = false

  constructor(target: HttpTarget, agent: HttpAgent, { older, onOlder }: LinkOptions = {}) {
    this.#onOlder = onOlder
    this.#mayBeOlder = older === 'maybe'
    this.#session = new HttpSession(target, agent)
    this.#stream = new ServerStream(this.#session, this, older === 'yes')
  }

  /** Answers arrive on the stream of the server, so a POST is done once the server has accepted it. */
  get answersElsewhere(): boolean {
    return this.#stream.isOlder
  }

  /** Whether the server has a standalone stream. The answer to an accepted request (202) may arrive there. */
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
    // Deferred, because the sender must have returned before its handler is called.
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

  /** A message did not arrive, or its answer will not come. */
  failed(post: MessagePost, error: TransportError): void {
    if (this.#mayBeOlder && post.head.method === 'initialize' && isRefusal(error))
      return this.#tryOlder(post, error)
    this.#tellFailed(post, error)
    // Another request in flight shows that the server can be reached.
    const isAlone = this.#posts.size === 1 && !this.answersElsewhere
    if (error.code === 'TRANSPORT_UNREACHABLE' && isAlone) this.end(error)
  }

  /** The server no longer knows the session, and has not processed the message. */
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

  /** Delivers the messages in `message`. `during` is the request whose response stream carried it. */
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

  /** Delivers a message of the server's stream. Such an answer may leave the stream of its request open for ever. */
  onUnsolicited(message: Line | LongLine): void {
    if (this.#isClosed) return
    const received = readMessages(message)
    // Found before the delivery, which may remove the request.
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

  /** The server no longer knows the session: requests in flight may end, and the proxy sends no new ones. */
  forget(): void {
    if (this.#isForgotten || this.#isClosed) return
    this.#isForgotten = true
    this.#stream.stop()
    for (const post of this.#held.splice(0)) this.#refuse(post)
    this.#endWhenIdle()
  }

  /** If a server supports neither transport, its first refusal describes it best. */
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

  /** One POST may overtake another, and a server must process `notifications/initialized` before any call. */
  #post(post: MessagePost): void {
    if (this.#gate !== undefined || !this.#stream.hasAddress) return void this.#held.push(post)
    if (post.head.method === 'notifications/initialized') {
      const { timers, limits } = this.#session.target
      this.#gate = post
      // A server that does not answer this notification is called all the same.
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

  /** The server has not accepted the message, so its sender may send it in the next session. */
  #refuse(post: MessagePost): void {
    this.#tellFailed(post, forgetful())
    post.cancel()
  }

  #endWhenIdle(): void {
    if (this.#posts.size === 0) this.end(forgetful())
  }

  /** The last notifications, such as a cancel, get a moment to arrive. Without an address they are dropped. */
  async #finish(): Promise<void> {
    if (this.#isClosed) return
    for (const post of this.#held.splice(0))
      if (this.#stream.hasAddress && post.head.id === undefined) this.#held.push(post)
      else post.cancel()
    // Always asynchronous, because the caller may be the handler of a message.
    await (this.#isTelling() ? this.#briefly((done) => (this.#onQuiet = done)) : undefined)
    this.#stop()
    if (!this.answersElsewhere && !this.#isForgotten) await this.#deleteSession()
    this.end(undefined)
  }

  /** MCP, Transports: session management. A server may refuse the request (405). */
  async #deleteSession(): Promise<void> {
    const session = this.#session
    if (session.id === undefined) return
    const ask = { method: 'DELETE', url: session.url, accept: '*/*' } as const
    let request: OutgoingRequest | undefined
    await this.#briefly((done) => {
      request = new OutgoingRequest(session, ask, { responded: done, refused: done, failed: done })
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

  /** Whether the tap lets the message pass. It sees bodies as lines, and no headers, which contain credentials. */
  #passes(direction: 'in' | 'out', line: Line): boolean {
    return messagePassesTap(this.#sink, direction, line, (cause) => this.end(cause))
  }
}

/** Whether the error may be the refusal of an older server. A server that refuses the revision has read the message. */
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
