// A connection over Streamable HTTP: every message of ours is a POST.
//
// MCP 2025-03-26 to 2025-11-25, Transports, Streamable HTTP. Answers come back as
// JSON or as events, each handed on as it arrives. A message that does not get
// through fails alone; the connection ends when the server has forgotten the
// session, or cannot be reached while nothing else is on its way.

import type { Connection, MessageHead, Sink } from '../../jsonrpc/connection.js'
import { TransportError } from '../../jsonrpc/errors.js'
import type { Line } from '../../jsonrpc/line.js'
import { type LongLine, lineOf } from '../../jsonrpc/fast/long-line.js'
import type { RequestId } from '../../jsonrpc/request-id.js'
import type { WireBytes } from '../../jsonrpc/splice.js'
import type { HttpAgent } from './agent.js'
import { IncomingMessages } from './incoming-messages.js'
import { OutgoingMessages } from './outgoing-messages.js'
import { answeredId, versionIn } from './envelope.js'
import { discard } from './body.js'
import { HttpExchange } from './exchange.js'
import type { HttpTarget } from './options.js'
import { HttpPost, type PostOwner } from './post.js'
import { HttpSession } from './session.js'
import { StandaloneStream } from './standalone.js'

/** One session with one server. */
export class HttpClientConnection implements Connection, PostOwner {
  readonly #target: HttpTarget
  readonly #session: HttpSession
  readonly #standalone: StandaloneStream
  readonly #departures: OutgoingMessages
  readonly #arrivals = new IncomingMessages((cause) => this.#end(cause))
  /** What must be taken before anything else is sent, and what waits for that. */
  #gate: HttpPost | undefined
  #patience: { cancel(): void } | undefined
  #held: HttpPost[] = []
  #reading = true
  #forgotten = false
  #closing: Promise<void> | undefined

  constructor(target: HttpTarget, agent: HttpAgent, session: HttpSession = new HttpSession(target, agent)) {
    this.#target = target
    this.#session = session
    this.#departures = new OutgoingMessages(target.limits.backlogBytesHigh, () => this.#arrivals.drained())
    this.#standalone = new StandaloneStream(this.#session, {
      isReading: () => this.#reading,
      message: (line) => this.#unasked(line),
      oversize: (id, bytes, isCall) => this.#arrivals.oversize(id, bytes, isCall),
      missed: () => this.#arrivals.missed(),
      forgotten: () => this.#forget(),
    })
  }

  get congested(): boolean {
    return this.#departures.congested
  }

  get backlogBytes(): number {
    return this.#departures.bytes
  }

  start(sink: Sink): void {
    this.#arrivals.start(sink)
  }

  send(bytes: WireBytes, head: MessageHead): Promise<void> {
    if (this.#arrivals.closed || this.#closing !== undefined) return Promise.resolve()
    const post = new HttpPost(head, bytes, this.#session, this)
    this.#departures.add(post)
    // Later: whoever sends is not ready yet to hear that it failed.
    if (this.#forgotten) setImmediate(() => this.#refuse(post))
    else if (this.#gate !== undefined) this.#held.push(post)
    else this.#post(post)
    return this.#departures.relieved
  }

  read(on: boolean): void {
    this.#reading = on
    this.#departures.read(on)
    this.#standalone.read(on)
  }

  close(): Promise<void> {
    this.#closing ??= this.#finish()
    return this.#closing
  }

  // PostOwner: what becomes of the messages.

  isReading(): boolean {
    return this.#reading
  }

  message(message: Line | LongLine, post: HttpPost): void {
    if (post.method === 'initialize') this.#session.version ??= versionIn(lineOf(message))
    this.#arrivals.message(message, post.id)
  }

  oversize(id: RequestId | undefined, bytes: number, isCall: boolean): void {
    this.#arrivals.oversize(id, bytes, isCall)
  }

  sent(post: HttpPost): void {
    this.#departures.sent(post)
  }

  failed(post: HttpPost, error: TransportError): void {
    this.#arrivals.failed(post.id, error)
    // Others that are on their way say that the server is there after all.
    if (error.code === 'TRANSPORT_UNREACHABLE' && this.#departures.size === 1) this.#end(error)
  }

  forgotten(post: HttpPost, status: number): void {
    this.#refuse(post, status)
    this.#forget()
  }

  ended(post: HttpPost): void {
    this.#departures.ended(post)
    if (this.#gate === post) this.#openGate()
    if (this.#forgotten) this.#endWhenIdle()
  }

  /** Where a server answers on its own stream, the one of the request may stay open for ever. */
  #unasked(line: Line): void {
    const id = answeredId(line)
    // Before it is told: whoever hears the answer may lend the id again.
    const post = id === undefined ? undefined : this.#departures.request(id)
    this.#arrivals.message(line, undefined)
    post?.cancel()
  }

  #post(post: HttpPost): void {
    if (!this.#arrivals.watch('out', post.bytes)) return
    // Two POSTs may overtake each other, and a server must not be called before it is ready.
    if (post.method === 'notifications/initialized') this.#closeGate(post)
    post.send()
    if (post.cancels !== undefined) this.#departures.request(post.cancels)?.abandon()
  }

  /** A server that says nothing to it is called all the same. */
  #closeGate(post: HttpPost): void {
    const { timers, limits } = this.#target
    this.#gate = post
    this.#patience = timers.setTimer(limits.readyMs, () => this.#openGate())
  }

  #openGate(): void {
    this.#patience?.cancel()
    this.#gate = undefined
    const held = this.#held
    this.#held = []
    if (this.#arrivals.closed || this.#forgotten || this.#closing !== undefined) return
    this.#standalone.open()
    for (const post of held) this.#post(post)
  }

  /** It was not taken: whoever sent it may send it to the next session. */
  #refuse(post: HttpPost, status?: number): void {
    this.#arrivals.failed(post.id, forgetful(status))
    post.cancel()
  }

  /** What is still on its way may come to its end; nothing new is sent. */
  #forget(): void {
    if (this.#forgotten || this.#arrivals.closed) return
    this.#forgotten = true
    this.#standalone.stop()
    for (const post of this.#held) this.#refuse(post)
    this.#endWhenIdle()
  }

  #endWhenIdle(): void {
    if (this.#departures.size === 0) this.#end(forgetful())
  }

  /** What was said last, a cancel perhaps, gets a moment to arrive. */
  async #finish(): Promise<void> {
    if (this.#arrivals.closed) return
    await this.#departures.quiet(this.#target.timers, this.#target.limits.closeMs)
    this.#stop()
    if (!this.#forgotten) await deleteSession(this.#session)
    this.#end(undefined)
  }

  #stop(): void {
    this.#patience?.cancel()
    this.#standalone.stop()
    this.#departures.cancel()
    this.#session.end()
  }

  #end(cause: TransportError | undefined): void {
    if (this.#arrivals.closed) return
    this.#arrivals.close(cause)
    this.#stop()
  }
}

function forgetful(status?: number): TransportError {
  const options = status === undefined ? {} : { details: { status } }
  const how = status === undefined ? '' : ` (HTTP ${status})`
  return new TransportError('TRANSPORT_SESSION', `the server has forgotten the session${how}`, options)
}

/** Tells the server of the end of a session (MCP, Transports: session management). Resolves when it has heard it, or has taken too long; a server may not care (405). */
function deleteSession(session: HttpSession): Promise<void> {
  const { timers, limits } = session.target
  if (session.id === undefined) return Promise.resolve()
  return new Promise((resolve) => {
    const ask = { method: 'DELETE', url: session.url, accept: '*/*' } as const
    const exchange = new HttpExchange(session, ask, {
      responded: (answer) => {
        timer.cancel()
        discard(answer, limits.excerptBytesMax)
        resolve()
      },
      troubled: () => {
        timer.cancel()
        resolve()
      },
    })
    const timer = timers.setTimer(limits.closeMs, () => {
      exchange.cancel()
      resolve()
    })
  })
}
