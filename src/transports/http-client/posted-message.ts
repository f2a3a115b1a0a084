// One message of ours on its way: the POST that carries it, and the response, as JSON or as an event stream.
//
// A stream may be cut before the response has come, and is resumed where it was, as often as the server likes (MCP
// 2025-11-25, Transports: resumability and redelivery).

import { OPEN_OBJECT } from '../../jsonrpc/ascii.js'
import { isBatch, splitBatch, type FrameLimits, frameOrError, seemsAnswerTo } from '../../jsonrpc/frame.js'
import { type MessageHead, type ReceivedMessage, receivedMessage } from '../../jsonrpc/connection.js'
import type { TransportError } from '../../jsonrpc/jsonrpc-errors.js'
import { readLongFrame } from '../../jsonrpc/fast/long-frame.js'
import { LongLine, joinedLine } from '../../jsonrpc/fast/long-line.js'
import type { Line } from '../../jsonrpc/line.js'
import { membersAt } from '../../jsonrpc/members.js'
import { type RequestId, canonical } from '../../jsonrpc/request-id.js'
import type { Wait, Waiting, Waits } from '../../runtime/timeout-queue.js'
import { type UnfinishedLine, withoutMark } from '../unfinished-line.js'
import type { HttpAnswer } from '../http1/client.js'
import {
  contentCodings,
  discard,
  isCompressed,
  mediaType,
  readEvents,
  readExcerpt,
  readWhole,
} from './answer.js'
import {
  type HttpTrouble,
  compressed,
  errorTo,
  failure,
  forgetsSession,
  saysNoSession,
  incomplete,
  notAMessage,
  paused,
  redirected,
  refused,
  unreachable,
} from './failure.js'
import { LONG_BYTES_MIN, type LongLines } from '../long-lines.js'
import type { SseParser } from '../sse/parser.js'
import type { HttpLink } from './link.js'
import { OutgoingRequest, type RequestHandler } from './outgoing-request.js'
import { Attempts } from './retries.js'
import type { HttpSession } from './session.js'

const ACCEPTED = 202
const TOO_MANY = 429

/** The media types of an answer to a POST. */
const ACCEPT = 'application/json, text/event-stream'

/** Sends one message and reads everything that belongs to it. */
export class PostedMessage {
  readonly head: MessageHead
  readonly bytes: Line
  /** Its number among those of its connection. */
  readonly number: number
  /** The header fields that repeat what it says; undefined where it is of a session. */
  readonly mirrored: readonly string[] | undefined
  readonly #session: HttpSession
  readonly #link: HttpLink
  /** One for all attempts: a credential is renewed once. */
  readonly #handler: RequestHandler = {
    isRenewed: false,
    isAbandoned: () => !this.#awaited,
    sent: () => this.#sent(),
    responded: (answer) => this.#responded(answer),
    troubled: (trouble) => this.#troubled(trouble),
  }
  readonly #timeout: Waiting = { waited: () => this.#timedOut() }
  /** Undefined until something goes wrong; counts the attempts to resume a response too. */
  #attempts: Attempts | undefined
  #request: OutgoingRequest | undefined
  /** The session that the last attempt named, and whether a newer one was tried after it. */
  #sessionId: string | undefined
  #hasFollowed = false
  /** The response that is being read, and its events. */
  #source: HttpAnswer | undefined
  #parser: SseParser | undefined
  #lastEventId: string | undefined
  /** Whether the answer has come; the stream that brought it may go on. */
  #isAnswered = false
  /** The queue of timeouts that it waits in, and its place there. */
  #waits: Waits
  #wait: Wait
  /** Whether the sender still waits for an answer. */
  #awaited = true
  /** Whether the system has the whole of it. */
  #isSent = false
  #ended = false

  constructor(head: MessageHead, bytes: Line, session: HttpSession, link: HttpLink, number: number) {
    this.head = head
    this.bytes = bytes
    this.#session = session
    this.#link = link
    this.number = number
    const { target, waits } = session
    this.mirrored = target.mirror?.(bytes, head.method)
    const isEndless = head.method !== undefined && target.isEndless?.(head.method) === true
    const answer = isEndless ? waits.endless : waits.answer
    this.#waits = head.id === undefined || this.#elsewhere ? waits.accept : answer
    this.#wait = this.#waits.begin(this.#timeout)
  }

  send(): void {
    if (this.#ended) return
    if (this.#session.target.pause.leftMs > 0) {
      if (this.#attempted.afterPause(() => this.send())) return
      // Later: the sender must have returned before its handler is called.
      return void setImmediate(() => this.#fail(paused(this.#session.target)))
    }
    const ask = {
      method: 'POST',
      rpc: this.head.method,
      url: this.#session.url,
      accept: ACCEPT,
      body: this.bytes,
      mirrored: this.mirrored,
    } as const
    this.#sessionId = this.#session.id
    this.#request = new OutgoingRequest(this.#session, ask, this.#handler)
  }

  /** Stops or resumes reading what comes back. */
  read(on: boolean): void {
    this.#source?.read(on)
  }

  /** The answer is not needed any more; the server gets a moment to end the exchange by itself. */
  abandon(): void {
    this.#awaited = false
    if (this.#attempts?.waiting === true || this.#request?.isHeld === true) return this.cancel()
    this.#waits.cancel(this.#wait)
    if (this.#ended) return
    this.#waits = this.#session.waits.linger
    this.#wait = this.#waits.begin(this.#timeout)
  }

  /** Drops everything; only the end is reported. */
  cancel(): void {
    if (this.#ended) return
    this.#ended = true
    this.#waits.cancel(this.#wait)
    this.#attempts?.stop()
    this.#request?.cancel()
    this.#sent()
    this.#link.ended(this)
  }

  get #elsewhere(): boolean {
    return this.#link.answersElsewhere
  }

  #sent(): void {
    if (!this.#isSent) this.#link.sent(this)
    this.#isSent = true
  }

  /** Nothing has come for too long. */
  #timedOut(): void {
    this.#fail(failure('TRANSPORT_TIMEOUT', `no answer within ${this.#waits.lengthMs} ms`))
  }

  #fail(error: TransportError): void {
    if (this.#ended) return
    if (this.#awaited) this.#link.failed(this, error)
    this.cancel()
  }

  #troubled(trouble: HttpTrouble): void {
    // A request without a waiting sender is not repeated.
    if (this.#awaited && this.#attempted.afterTrouble(trouble, () => this.send())) return
    this.#fail(trouble.error ?? unreachable(this.#session.target, trouble))
  }

  #responded(answer: HttpAnswer): void {
    const { status } = answer
    const isSuccess = status >= 200 && status < 300
    // The body says what is limited.
    if (status !== TOO_MANY) this.#session.learn(answer, this.mirrored === undefined && isSuccess)
    if (status >= 300 && status < 400)
      return this.#fail(redirected(this.#session.target, status, answer.get('location')))
    if (!isSuccess) return this.#refused(answer)
    if (this.head.id === undefined || this.#elsewhere) return this.#taken(answer)
    if (status === ACCEPTED && this.#link.listens && !mayAnswer(answer)) return this.#taken(answer)
    this.#lastEventId = undefined
    this.#take(answer, this.head.id)
  }

  get #attempted(): Attempts {
    this.#attempts ??= new Attempts(this.#session.target, this.head.method)
    return this.#attempts
  }

  /** Reads a response to the request `id`; `cancel` ends the reading. */
  #take(source: HttpAnswer, id: RequestId): void {
    if (!this.#link.isReading) source.read(false)
    this.#source = source
    const type = mediaType(source)
    const { limits, redactor } = this.#session.target
    if (isCompressed(source)) {
      const coding = redactor.beginning(contentCodings(source).join(', ').slice(0, 50))
      source.drop()
      this.#finish(compressed(coding))
    } else if (type === 'text/event-stream') this.#readEvents(source, id)
    else if (type === 'application/json') this.#readJson(source, id)
    else readExcerpt(source, limits.excerptBytesMax, (body) => this.#noAnswer(type, source, body))
  }

  /** Everything has been read, or the answer will not come. */
  #finish(error: TransportError | undefined): void {
    if (this.#ended) return
    if (error === undefined || this.#isAnswered) return this.cancel()
    // An answer that was cut and cannot be resumed is asked for anew where nothing is done twice by that.
    const wasCut = error.code === 'TRANSPORT_IO' && this.#awaited
    const cut = { neverSent: false, lasts: false }
    if (!wasCut || !this.#attempted.afterTrouble(cut, () => this.send())) this.#fail(error)
  }

  #noAnswer(type: string, { status }: HttpAnswer, body: string): void {
    const { target } = this.#session
    this.#finish(notAMessage(target, type, { status, body: target.redactor.beginning(body) }))
  }

  #readJson(source: HttpAnswer, id: RequestId): void {
    const { answerBytesMax, excerptBytesMax } = this.#session.target.limits
    readWhole(source, answerBytesMax, (body, why, error) => {
      if (this.#ended) return
      if (why === 'cut') return this.#finish(incomplete('the answer was cut', error))
      if (body === undefined) {
        const bytes = Number(source.get('content-length') ?? 0)
        this.#link.oversize(id, Math.max(bytes, answerBytesMax), false)
        return this.#finish(undefined)
      }
      const message = this.#messageIn(body)
      const received = this.#link.readMessages(message)
      // A batch holds the answer among others; anything else would leave the request waiting.
      if (received.some((each) => this.#forgets(each))) return this.#forgotten(200)
      if (received.some((each) => answers(each, id))) {
        this.#deliver(message, received)
        return this.#finish(undefined)
      }
      // The server may be out of step, so that its next answer on this connection would be the wrong one too.
      source.drop()
      this.#noAnswer('application/json', source, joinedLine(message).toString('utf8', 0, excerptBytesMax))
    })
  }

  /** A long message stays in parts, unless it is a batch, which has to be taken apart. */
  #messageIn(body: UnfinishedLine): Line | LongLine {
    const isInParts = body.bytes >= LONG_BYTES_MIN && body.firstByte === OPEN_OBJECT
    return isInParts ? this.#session.longLines.end(body.give()) : withoutMark(body.take())
  }

  #deliver(message: Line | LongLine, received: readonly ReceivedMessage[]): void {
    const { method } = this.head
    if (method === 'initialize') for (const each of received) this.#session.version ??= versionIn(each)
    else if (received.some(({ kind }) => kind === 'result')) {
      this.#session.hasServed = true
      this.#session.target.refusals.given(method)
    }
    this.#link.deliver(message, received, this.head.id)
  }

  #readEvents(source: HttpAnswer, id: RequestId): void {
    const sink = {
      event: (type: string, data: Line) => this.#event(type, data, id),
      long: (type: string, parts: readonly Buffer[]) =>
        this.#event(type, this.#session.longLines.end(parts), id),
      oversize: (found: RequestId | undefined, bytes: number, isCall: boolean) => {
        if (this.#ended) return
        this.#link.oversize(isCall ? found : id, bytes, isCall)
        // An answer that is too long is not read further: it may have no end.
        if (!isCall) this.#finish(undefined)
      },
    }
    const { sse } = this.#session.target.limits
    this.#parser = readEvents(source, sse, sink, (error) => this.#streamEnded(id, error))
  }

  #event(type: string, data: Line | LongLine, id: RequestId): void {
    if (this.#ended || type !== 'message') return
    this.#attempted.progressed()
    const received = this.#link.readMessages(data)
    if (received.some((each) => this.#forgets(each))) {
      this.#source?.drop()
      return this.#forgotten(200)
    }
    const isAnswer = !this.#isAnswered && received.some((each) => answers(each, id))
    this.#deliver(data, received)
    if (!isAnswer || this.#ended) return
    this.#isAnswered = true
    this.abandon()
  }

  #streamEnded(id: RequestId, error?: Error): void {
    if (this.#ended) return
    this.#source = undefined
    if (this.#isAnswered) return this.#finish(undefined)
    const lastEventId = this.#parser?.lastEventId
    if (lastEventId !== undefined && lastEventId !== this.#lastEventId) this.#attempted.progressed()
    this.#lastEventId = lastEventId ?? this.#lastEventId
    // An empty id resets the ids before it (HTML, server-sent events).
    const isResumable = this.#lastEventId !== undefined && this.#lastEventId !== ''
    if (isResumable && this.#attempted.resume(this.#parser?.retryMs, () => this.#resume(id))) return
    this.#finish(incomplete('the event stream ended before the answer', error))
  }

  /** Always with GET, though the stream began with a POST. */
  #resume(id: RequestId): void {
    const { url } = this.#session
    const ask = { method: 'GET', url, accept: 'text/event-stream', lastEventId: this.#lastEventId } as const
    this.#request = new OutgoingRequest(this.#session, ask, {
      responded: (source) => this.#resumed(source, id),
      troubled: ({ status, error }) => (status === undefined ? this.#streamEnded(id) : this.#finish(error)),
    })
  }

  #resumed(source: HttpAnswer, id: RequestId): void {
    const { status } = source
    if (status === 200 && mediaType(source) === 'text/event-stream') return this.#take(source, id)
    source.drop()
    this.#session.learn(source, false)
    if (this.#attempted.resumeAfter(source, this.#parser?.retryMs, () => this.#resume(id))) return
    const why = `the event stream ended before the answer and cannot be resumed (HTTP ${status})`
    this.#finish(failure('TRANSPORT_IO', why))
  }

  /** The body of a response to a notification or to an answer is ignored. */
  #taken(answer: HttpAnswer): void {
    if (mediaType(answer) !== 'text/event-stream') {
      discard(answer, this.#session.target.limits.excerptBytesMax)
      this.#request = undefined
    }
    this.cancel()
  }

  #refused(answer: HttpAnswer): void {
    const { limits, limitsTool } = this.#session.target
    readExcerpt(answer, limits.excerptBytesMax, (body) => {
      const error = answer.status === TOO_MANY ? errorTo(this.head.id, body) : undefined
      const isOfTool = error !== undefined && limitsTool?.(error) === true
      if (answer.status === TOO_MANY && !isOfTool) this.#session.learn(answer, false)
      if (this.#ended) return
      if (isOfTool) return this.#stands(answer, body)
      // A request that was cancelled in flight is not sent again.
      if (this.#awaited && this.#attempted.afterRefusal(answer, () => this.send())) return
      this.#stands(answer, body)
    })
  }

  /** No attempt is left: the sender gets the refusal. */
  #stands({ status }: HttpAnswer, body: string): void {
    if (this.#isForgotten(status, body)) return this.#forgotten(status)
    const { target } = this.#session
    const isOverruled =
      this.head.method !== undefined && target.overrules?.(this.head.method, status) === true
    const isNoAnswer = status === 401 || status === 403 || isOverruled
    const answer = isNoAnswer ? undefined : errorTo(this.head.id, body)?.line
    if (answer === undefined) {
      const said = { status, body: this.#session.target.redactor.beginning(body) }
      return this.#fail(refused(this.#session.target, said))
    }
    this.#link.deliver(answer, this.#link.readMessages(answer), this.head.id)
    this.cancel()
  }

  /** The request was not executed. The server may have named another session since it was sent. */
  #forgotten(status: number): void {
    if (this.#awaited && !this.#hasFollowed && this.#sessionId !== this.#session.id) {
      this.#hasFollowed = true
      return this.send()
    }
    this.#link.forgotten(this, status)
    this.cancel()
  }

  /** Whether an answer with status 200 says that there is no such session, in one that the server has served. */
  #forgets(received: ReceivedMessage): boolean {
    const { method, id } = this.head
    if (!this.#session.hasServed || this.#session.id === undefined || method === undefined) return false
    if (received.kind !== 'error' || id === undefined || !answers(received, id)) return false
    const { refusals, refusesRequest } = this.#session.target
    return saysNoSession(received, 200, refusesRequest) && !refusals.isAnswer(method, this.#session)
  }

  #isForgotten(status: number, body: string): boolean {
    if (this.#elsewhere) return status === 404
    if (this.#session.id === undefined || this.head.method === 'initialize') return false
    const { refusesRequest, refusals, isList } = this.#session.target
    if (!forgetsSession(status, body, { id: this.head.id, refusesRequest })) return false
    const { method } = this.head
    const isOfList = status === 404 && method !== undefined && isList(method)
    return !isOfList || !refusals.isAnswer(method, this.#session)
  }
}

/** Whether the body may be an answer. */
function mayAnswer(answer: HttpAnswer): boolean {
  return ['application/json', 'text/event-stream'].includes(mediaType(answer))
}

/** A version goes into a header, so it has to look like one. */
const headerText = /^[\x21-\x7e]{1,64}$/

/** The messages of a body or of an event: several where it is a batch. */
export function readMessages(
  message: Line | LongLine,
  longLines: LongLines,
  limits: FrameLimits | undefined,
): readonly ReceivedMessage[] {
  if (message instanceof LongLine) return [readLong(message, limits)]
  if (isBatch(message)) return membersOf(message).map((line) => readOne(line, limits))
  return [
    message.length < LONG_BYTES_MIN ? readOne(message, limits) : readLong(longLines.whole(message), limits),
  ]
}

function readLong(long: LongLine, limits: FrameLimits | undefined): ReceivedMessage {
  return readLongFrame(long, limits) ?? readOne(long.noise ?? long.line, limits, long.length)
}

function readOne(line: Line, limits: FrameLimits | undefined, bytes?: number): ReceivedMessage {
  return receivedMessage(frameOrError(line, limits), line, bytes)
}

/** A batch that is broken is one message, which cannot be read. */
function membersOf(line: Line): readonly Line[] {
  try {
    return splitBatch(line)
  } catch {
    return [line]
  }
}

/** Whether a message is the answer to that request, or was meant to be. */
export function answers(received: ReceivedMessage, id: RequestId): boolean {
  if (received.kind === 'unreadable') return seemsAnswerTo(received.line, id)
  const answered = answeredId(received)
  return answered !== undefined && (answered === id || canonical(answered) === canonical(id))
}

/** The request that an answer is to. */
export function answeredId(received: ReceivedMessage): RequestId | undefined {
  return received.kind === 'result' || received.kind === 'error' ? received.id : undefined
}

/** The version that the answer to an `initialize` settles on. */
function versionIn(received: ReceivedMessage): string | undefined {
  if (received.kind !== 'result') return undefined
  const version = membersAt(received.line, received.result)?.string('protocolVersion')
  return version !== undefined && headerText.test(version) ? version : undefined
}
