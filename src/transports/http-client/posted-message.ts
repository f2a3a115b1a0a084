// One message of ours on its way: the POST that carries it, and the response, as JSON or as an event stream.
//
// A stream may be cut before the response has come, and is resumed where it was, as often as the server likes (MCP
// 2025-11-25, Transports: resumability and redelivery).

import { batchMembers, type FrameLimits, isBatch } from '../../jsonrpc/frame.js'
import { claimedIds } from '../../jsonrpc/id-finder.js'
import { type MessageHead, type ReceivedMessage, receivedMessage } from '../../jsonrpc/connection.js'
import type { TransportError } from '../../jsonrpc/jsonrpc-errors.js'
import { readLong } from '../../jsonrpc/fast/long-frame.js'
import { LONG_BYTES_MIN, LongLine, joinedLine } from '../../jsonrpc/fast/long-line.js'
import type { Line } from '../../jsonrpc/line.js'
import { membersAt } from '../../jsonrpc/members.js'
import { type RequestId, canonical } from '../../jsonrpc/request-id.js'
import { setDeadline } from '../../runtime/deadline.js'
import type { Timer } from '../../runtime/runtime.js'
import type { HttpAnswer } from '../http1/client.js'
import { contentCodings, discard, isCompressed, mediaType, readExcerpt, readWhole } from './answer.js'
import {
  type HttpTrouble,
  compressed,
  errorTo,
  failure,
  incomplete,
  noAnswer,
  unreachable,
} from './failure.js'
import { forgetsSession } from './forgotten-session.js'
import type { HttpLink } from './link.js'
import { OutgoingRequest, type RequestHandler } from './outgoing-request.js'
import { ResponseStream, type StreamReader } from './response-stream.js'
import type { HttpSession } from './session.js'

const ACCEPTED = 202
const TOO_MANY = 429

/** The media types of an answer to a POST. */
const ACCEPT = 'application/json, text/event-stream'

/** Sends one message and reads everything that belongs to it. */
export class PostedMessage implements RequestHandler, StreamReader {
  readonly head: MessageHead
  readonly bytes: Line
  /** Its number among those of its connection. */
  readonly number: number
  /** The header fields that repeat what it says; undefined where it is of a session. */
  readonly mirrored: readonly string[] | undefined
  readonly #session: HttpSession
  readonly #link: HttpLink
  /** An answered or abandoned message gets a moment in which the server may end the exchange. */
  #state: 'waits' | 'answered' | 'abandoned' | 'ended' = 'waits'
  /** The POST; undefined before it is sent, and once no more of its response is needed. */
  #request: OutgoingRequest | undefined
  /** The response, where it is JSON. */
  #body: HttpAnswer | undefined
  /** The response, where it is events, and the responses that go on with it. */
  #stream: ResponseStream | undefined
  /** Attempts to resume the stream since its last event, and the event that the last one began after. */
  #resumes = 0
  #resumedAfter: string | undefined
  #timeout: Timer
  /** Whether the system has the whole of it. */
  #isSent = false
  /** Whether it was sent again because the server had named another session meanwhile. */
  #hasFollowed = false

  constructor(head: MessageHead, bytes: Line, session: HttpSession, link: HttpLink, number: number) {
    this.head = head
    this.bytes = bytes
    this.#session = session
    this.#link = link
    this.number = number
    const { target } = session
    const { limits } = target
    this.mirrored = target.mirror?.(bytes, head.method)
    const isEndless = head.method !== undefined && target.isEndless?.(head.method) === true
    const answerMs = isEndless ? limits.endlessMs : limits.answerMs
    this.#timeout = this.#endsAfter(this.#isAnsweredHere ? answerMs : limits.acceptMs)
  }

  send(): void {
    if (this.#state === 'ended') return
    const { url, target } = this.#session
    const { method } = this.head
    // An answer has no method.
    const isRepeatable = method === undefined || target.isRead(method)
    this.#request = new OutgoingRequest(
      this.#session,
      {
        method: 'POST',
        url,
        rpc: method,
        accept: ACCEPT,
        retry: { delayMs: target.retryDelayMs, isRepeatable },
        body: this.bytes,
        mirrored: this.mirrored,
      },
      this,
    )
  }

  /** Stops or resumes reading what comes back. */
  read(on: boolean): void {
    this.#body?.read(on)
    this.#stream?.read(on)
  }

  /** The answer is not needed any more. */
  abandon(): void {
    if (this.#state === 'waits') this.#lingers('abandoned')
  }

  /** Drops everything; only the end is reported. */
  cancel(): void {
    if (this.#state === 'ended') return
    this.#state = 'ended'
    this.#timeout.cancel()
    this.#request?.cancel()
    this.#stream?.stop()
    this.sent()
    this.#link.ended(this)
  }

  #endsAfter(ms: number): Timer {
    const late = (): void => this.#fail(failure('TRANSPORT_TIMEOUT', `no answer within ${ms} ms`))
    return setDeadline(this.#session.target.timers, ms, late)
  }

  /** Whether it is a request whose answer comes in the response to its POST. */
  get #isAnsweredHere(): boolean {
    return this.head.id !== undefined && !this.#link.answersElsewhere
  }

  /** The server gets a moment to end the exchange by itself. A message that is not on its way has none to end. */
  #lingers(state: 'answered' | 'abandoned'): void {
    if (this.#state === 'ended') return
    this.#state = state
    if (this.#request?.isHeld === true || this.#stream?.isHeld === true) return this.cancel()
    this.#request?.abandon()
    this.#timeout.cancel()
    this.#timeout = this.#endsAfter(this.#session.target.limits.lingerMs)
  }

  #fail(error: TransportError): void {
    if (this.#state === 'waits') this.#link.failed(this, error)
    this.cancel()
  }

  // RequestHandler: what becomes of the POST.

  sent(): void {
    if (!this.#isSent) this.#link.sent(this)
    this.#isSent = true
  }

  troubled(trouble: HttpTrouble): void {
    this.#fail(trouble.error ?? unreachable(this.#session.target, trouble))
  }

  responded(answer: HttpAnswer): void {
    const { status } = answer
    const { target } = this.#session
    if (status >= 300) return this.#fail(noAnswer(target, answer, ''))
    if (this.mirrored === undefined) this.#session.learn(answer)
    const type = mediaType(answer)
    const isAnswer = type === 'application/json' || type === 'text/event-stream'
    const comesLater = status === ACCEPTED && this.#link.listens && !isAnswer
    if (!this.#isAnsweredHere || comesLater) return this.#taken(answer)
    if (!this.#link.isReading) answer.read(false)
    if (isCompressed(answer)) {
      answer.drop()
      const codings = contentCodings(answer).join(', ').slice(0, 50)
      this.#finish(compressed(target.redactor.beginning(codings)))
    } else if (type === 'text/event-stream') {
      this.#resumedAfter = undefined
      this.#stream = new ResponseStream(this.#session, this.#link, this)
      this.#stream.take(answer)
    } else {
      this.#body = answer
      if (type === 'application/json') this.#readJson(answer)
      else
        readExcerpt(answer, target.limits.excerptBytesMax, (text) =>
          this.#finish(noAnswer(target, answer, text)),
        )
    }
  }

  /** An error that limits the tool that was called answers the call, and other messages may be sent. */
  isAnswer({ status }: HttpAnswer, body: string): boolean {
    const error = status === TOO_MANY ? errorTo(this.head.id, body) : undefined
    return error !== undefined && this.#session.target.limitsTool?.(error) === true
  }

  refused(answer: HttpAnswer, body: string): void {
    const { head } = this
    const { status } = answer
    const { target } = this.#session
    const error = errorTo(head.id, body)
    const isForgotten = this.#link.answersElsewhere
      ? status === 404
      : forgetsSession(this.#session, head, { status, error, body })
    if (isForgotten) return this.#forgotten(status)
    const isOverruled = head.method !== undefined && target.overrules?.(head.method, status) === true
    if (error === undefined || status === 401 || status === 403 || isOverruled)
      return this.#fail(noAnswer(target, answer, body))
    this.#link.deliver(error.line, this.#link.readMessages(error.line), head.id)
    this.cancel()
  }

  // StreamReader: what comes in events.

  onMessage(message: Line | LongLine): void {
    if (this.#state === 'ended') return
    this.#resumes = 0
    const received = this.#link.readMessages(message)
    if (received.some((each) => this.#forgets(each))) {
      this.#stream?.drop()
      return this.#forgotten(200)
    }
    const isAnswer = this.#state !== 'answered' && received.some((each) => answers(each, this.head.id))
    this.#deliver(message, received)
    if (isAnswer) this.#lingers('answered')
  }

  onOversize(found: RequestId | undefined, bytes: number, isCall: boolean): void {
    this.#link.oversize(isCall ? found : this.head.id, bytes, isCall)
    // An answer that is too long is not read further: it may have no end.
    if (!isCall) this.#finish(undefined)
  }

  onEnd(error?: Error): void {
    const { lastEventId, retryMs } = this.#stream ?? {}
    if (this.#state === 'answered') return this.cancel()
    if (lastEventId !== this.#resumedAfter) this.#resumes = 0
    this.#resumedAfter = lastEventId
    const { limits, reconnectMs, pause } = this.#session.target
    // An empty id resets the ids before it (HTML, server-sent events).
    const isResumable = lastEventId !== undefined && lastEventId !== ''
    if (!isResumable || this.#resumes >= limits.resumesMax)
      return this.#finish(incomplete('the event stream ended before the answer', error))
    const grownMs = (retryMs ?? reconnectMs) * 2 ** this.#resumes++
    this.#stream?.open({ afterMs: Math.max(grownMs, pause.leftMs) })
  }

  /** The stream is not resumed; 409 says that the server has not missed us yet. */
  onRefusal(answer: HttpAnswer): void {
    const { status } = answer
    answer.drop()
    this.#session.target.pause.learn(answer)
    const isPassing = status === 409 || status === TOO_MANY || status >= 500
    if (isPassing && this.#resumes < this.#session.target.limits.resumesMax) return this.onEnd()
    const why = `the event stream ended before the answer and cannot be resumed (HTTP ${status})`
    this.#finish(failure('TRANSPORT_IO', why))
  }

  onTrouble({ status, error }: HttpTrouble): void {
    if (status === undefined) this.onEnd()
    else this.#finish(error)
  }

  /** Everything has been read, or the answer will not come. */
  #finish(error: TransportError | undefined): void {
    if (error === undefined || this.#state === 'answered') return this.cancel()
    // A request whose answer was cut and cannot be resumed is sent again where nothing is done twice by that.
    const isRepeated =
      error.code === 'TRANSPORT_IO' && this.#state === 'waits' && this.#request?.retryCut() === true
    if (!isRepeated) this.#fail(error)
  }

  #readJson(answer: HttpAnswer): void {
    const { answerBytesMax, excerptBytesMax } = this.#session.target.limits
    readWhole(answer, answerBytesMax, (body, why, error) => {
      if (this.#state === 'ended') return
      if (why === 'cut') return this.#finish(incomplete('the answer was cut', error))
      if (body === undefined) {
        const bytes = Number(answer.get('content-length') ?? 0)
        this.#link.oversize(this.head.id, Math.max(bytes, answerBytesMax), false)
        return this.#finish(undefined)
      }
      const received = this.#link.readMessages(body)
      if (received.some((each) => this.#forgets(each))) return this.#forgotten(200)
      // A batch holds the answer among others; anything else would leave the request waiting.
      if (received.some((each) => answers(each, this.head.id))) {
        this.#deliver(body, received)
        return this.#finish(undefined)
      }
      // The server may be out of step, so that its next answer on this connection would be the wrong one too.
      answer.drop()
      const text = joinedLine(body).toString('utf8', 0, excerptBytesMax)
      this.#finish(noAnswer(this.#session.target, answer, text))
    })
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

  /** The body of a response to a notification or to an answer is ignored. */
  #taken(answer: HttpAnswer): void {
    if (mediaType(answer) !== 'text/event-stream') {
      discard(answer, this.#session.target.limits.excerptBytesMax)
      this.#request = undefined
    }
    this.cancel()
  }

  /** The request was not executed. The server may have named another session since it was sent. */
  #forgotten(status: number): void {
    if (this.#state === 'waits' && !this.#hasFollowed && this.#request?.sessionId !== this.#session.id) {
      this.#hasFollowed = true
      return this.#request?.again()
    }
    this.#link.forgotten(this, status)
    this.cancel()
  }

  /** Whether an answer with status 200 says that there is no such session. */
  #forgets(received: ReceivedMessage): boolean {
    if (received.kind !== 'error' || !answers(received, this.head.id)) return false
    return forgetsSession(this.#session, this.head, { status: 200, error: received })
  }
}

/** A version goes into a header, so it has to look like one. */
const headerText = /^[\x21-\x7e]{1,64}$/

/** The messages of a body or of an event: several where it is a batch. */
export function readMessages(
  message: Line | LongLine,
  limits: FrameLimits | undefined,
): readonly ReceivedMessage[] {
  if (message instanceof LongLine) return [readLong(message, limits)]
  if (isBatch(message)) return batchMembers(message).map((line) => receivedMessage(line, limits))
  if (message.length < LONG_BYTES_MIN) return [receivedMessage(message, limits)]
  return [readLong(LongLine.of(message), limits)]
}

/** Whether a message is the answer to that request, or was meant to be. */
export function answers(received: ReceivedMessage, id: RequestId | undefined): boolean {
  if (id === undefined) return false
  const answered = received.kind === 'unreadable' ? claimedIds(received.line) : [answeredId(received)]
  return answered.some((each) => each !== undefined && (each === id || canonical(each) === canonical(id)))
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
