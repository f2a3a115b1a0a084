// One message of ours on its way: the POST that carries it, and what becomes of it.

import type { MessageHead } from '../../jsonrpc/connection.js'
import type { TransportError } from '../../jsonrpc/errors.js'
import type { Line } from '../../jsonrpc/line.js'
import type { LongLine } from '../../jsonrpc/fast/long-line.js'
import type { RequestId } from '../../jsonrpc/request-id.js'
import type { WireBytes } from '../../jsonrpc/splice.js'
import type { Wait, Waiting, Waits } from '../../runtime/waits.js'
import type { HttpAnswer } from './answer.js'
import { Attempts } from './attempts.js'
import { discard, mediaType, readExcerpt } from './body.js'
import { type ReceivedMessage, versionIn } from './envelope.js'
import { type ExchangeHandler, HttpExchange } from './exchange.js'
import { errorTo, failure, forgetsSession, paused, redirected, refused, unreachable } from './failure.js'
import { HttpReply } from './reply.js'
import type { HttpMessages } from './messages.js'
import type { HttpSession } from './session.js'
import type { HttpTrouble } from './trouble.js'

/** Hears what a message of its connection means for the others. */
export interface PostOwner {
  /** The message did not get through, or its answer will not come; the sink was told. */
  failed?(error: TransportError): void
  /** The server does not know the session any more, and has not taken the message. */
  forgotten(post: HttpPost, status: number): void
  /** Called once, after any of the others; nothing comes after it. */
  ended?(post: HttpPost): void
}

/** What an answer to a POST may be. */
const ACCEPT = 'application/json, text/event-stream'

/** Sends one message and reads everything that belongs to it. */
export class HttpPost implements ExchangeHandler, Waiting {
  /** Undefined for an answer. */
  readonly method: string | undefined
  /** Undefined for a notification and for an answer. */
  readonly id: RequestId | undefined
  /** Our request that it gives up. */
  readonly cancels: RequestId | undefined
  readonly bytes: WireBytes
  /** The header fields that repeat what it says; undefined where it is of a session. */
  readonly mirrored: readonly string[] | undefined
  /** Its number among those of its connection. */
  number = 0
  /** Whether the system has the whole of it. */
  isSent = false
  isRenewed = false
  readonly #messages: HttpMessages
  readonly #session: HttpSession
  readonly #owner: PostOwner
  /** Undefined until something goes wrong. */
  #attempts: Attempts | undefined
  #exchange: HttpExchange | undefined
  #reply: HttpReply | undefined
  /** What it waits in, and its place there. */
  #waits: Waits
  #wait: Wait
  readonly #elsewhere: boolean
  /** Whether anybody still waits for an answer. */
  #awaited = true
  #ended = false

  /** `elsewhere`: answers come on another stream, so that a message is done once it is taken. */
  constructor(
    head: MessageHead,
    bytes: WireBytes,
    messages: HttpMessages,
    owner: PostOwner,
    elsewhere = false,
  ) {
    this.#elsewhere = elsewhere
    this.method = head.method
    this.id = head.id
    this.cancels = head.cancels
    this.bytes = bytes
    this.#messages = messages
    this.#session = messages.session
    this.#owner = owner
    const { target, waits } = this.#session
    this.mirrored = target.mirror?.(bytes, head.method)
    const isEndless = head.method !== undefined && target.isEndless?.(head.method) === true
    const answer = isEndless ? waits.endless : waits.answer
    this.#waits = this.id === undefined || elsewhere ? waits.accept : answer
    this.#wait = this.#waits.begin(this)
    messages.add(this)
  }

  send(): void {
    if (this.#ended) return
    if (this.#session.target.pause.leftMs > 0) {
      if (this.attempts.afterPause(() => this.send())) return
      // Later: whoever sends is not ready yet to hear that it failed.
      return void setImmediate(() => this.#fail(paused(this.#session.target)))
    }
    const ask = {
      method: 'POST',
      rpc: this.method,
      url: this.#session.url,
      accept: ACCEPT,
      body: this.bytes,
      mirrored: this.mirrored,
    } as const
    this.#exchange = new HttpExchange(this.#session, ask, this)
  }

  /** Stops or resumes reading what comes back. */
  read(on: boolean): void {
    this.#reply?.read(on)
  }

  get isAbandoned(): boolean {
    return !this.#awaited
  }

  /** Nobody waits for the answer any more; the server gets a moment to end the exchange by itself. */
  abandon(): void {
    this.#awaited = false
    if (this.#attempts?.waiting === true || this.#exchange?.isHeld === true) return this.cancel()
    this.#waits.cancel(this.#wait)
    if (this.#ended) return
    this.#waits = this.#session.waits.linger
    this.#wait = this.#waits.begin(this)
  }

  /** Drops everything; nobody is told anything but the end. */
  cancel(): void {
    if (this.#ended) return
    this.#ended = true
    this.#waits.cancel(this.#wait)
    this.#attempts?.stop()
    this.#reply?.stop()
    this.#exchange?.cancel()
    this.#messages.ended(this)
    this.#owner.ended?.(this)
  }

  // Waiting: nothing has come for too long.

  waited(): void {
    this.#fail(failure('TRANSPORT_TIMEOUT', `no answer within ${this.#waits.lengthMs} ms`))
  }

  // ExchangeHandler: what becomes of the request.

  sent(): void {
    this.#messages.sent(this)
  }

  #fail(error: TransportError): void {
    if (this.#ended) return
    if (this.#awaited) {
      this.#messages.failed(this.id, error)
      this.#owner.failed?.(error)
    }
    this.cancel()
  }

  troubled(trouble: HttpTrouble): void {
    // Nobody asks again for an answer that nobody waits for.
    if (this.#awaited && this.attempts.afterTrouble(trouble, () => this.send())) return
    this.#fail(trouble.error ?? unreachable(this.#session.target, trouble))
  }

  responded(answer: HttpAnswer): void {
    const { status } = answer
    const isSuccess = status >= 200 && status < 300
    this.#session.learn(answer, this.method === 'initialize' && isSuccess)
    if (isSuccess) this.#session.target.listRefusals.given(this.method)
    if (status >= 300 && status < 400)
      return this.#fail(redirected(this.#session.target, status, answer.get('location')))
    if (!isSuccess) return this.#refused(answer)
    if (this.id === undefined || this.#elsewhere) return this.#taken(answer)
    this.#reply = new HttpReply(this.id, this.#messages, this)
    this.#reply.take(answer)
  }

  // What the answer brings.

  /** Counts the attempts to get the rest of it too. */
  get attempts(): Attempts {
    this.#attempts ??= new Attempts(this.#session.target, this.method)
    return this.#attempts
  }

  /** The server says something; `received` is what was read in `message`. */
  message(message: Line | LongLine, received: readonly ReceivedMessage[]): void {
    if (this.method === 'initialize') for (const each of received) this.#session.version ??= versionIn(each)
    this.#messages.deliver(message, received, this.id)
  }

  /** Everything has been read, or the answer will not come. */
  finished(error: TransportError | undefined): void {
    if (error === undefined) return this.cancel()
    // An answer that was cut and cannot be resumed is asked for anew where nothing is done twice by that.
    const wasCut = error.code === 'TRANSPORT_IO' && this.#awaited
    const cut = { neverSent: false, lasts: false }
    if (!wasCut || !this.attempts.afterTrouble(cut, () => this.send())) this.#fail(error)
  }

  /** What the server says to a notification or to an answer of ours means nothing. */
  #taken(answer: HttpAnswer): void {
    if (mediaType(answer) !== 'text/event-stream') {
      discard(answer, this.#session.target.limits.excerptBytesMax)
      this.#exchange = undefined
    }
    this.cancel()
  }

  #refused(answer: HttpAnswer): void {
    readExcerpt(answer, this.#session.target.limits.excerptBytesMax, (body) => {
      if (this.#ended) return
      // What was taken back while it was on its way is not sent again.
      if (this.#awaited && this.attempts.afterRefusal(answer, () => this.send())) return
      this.#stands(answer, body)
    })
  }

  /** There is no other attempt: whoever waits is told of the refusal. */
  #stands({ status }: HttpAnswer, body: string): void {
    if (this.#isForgotten(status, body)) {
      this.#owner.forgotten(this, status)
      return this.cancel()
    }
    const { target } = this.#session
    const isOverruled = this.method !== undefined && target.overrules?.(this.method, status) === true
    const isNoAnswer = status === 401 || status === 403 || isOverruled
    const answer = isNoAnswer ? undefined : errorTo(this.id, body)?.line
    if (answer === undefined) {
      const said = { status, body: this.#session.target.discretion.beginning(body) }
      return this.#fail(refused(this.#session.target, said))
    }
    this.#messages.message(answer, this.id)
    this.cancel()
  }

  #isForgotten(status: number, body: string): boolean {
    if (this.#elsewhere) return status === 404
    if (this.#session.id === undefined || this.method === 'initialize') return false
    if (!forgetsSession(status, body, { id: this.id, refusesRequest: this.#session.target.refusesRequest }))
      return false
    return status !== 404 || !this.#session.target.listRefusals.isAnswer(this.method, this.#session)
  }
}
