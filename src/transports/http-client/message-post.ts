// One message of the proxy: its POST, and the response, as JSON or as an event stream.

import { batchMembers, isBatch, type ReceivedMessage, readMessage } from '../../jsonrpc/frame.js'
import { claimedIds } from '../../jsonrpc/id-finder.js'
import type { MessageHead } from '../../jsonrpc/connection.js'
import type { TransportError } from '../../jsonrpc/jsonrpc-errors.js'
import { LongLine, joinedLine, readLong } from '../../jsonrpc/long-line.js'
import type { Line } from '../../jsonrpc/line.js'
import { type RequestId, canonical } from '../../jsonrpc/request-id.js'
import { retryIn } from '../../mcp/error-codes.js'
import { requests, statelessRequests } from '../../mcp/methods.js'
import { setDeadline } from '../../runtime/deadline.js'
import type { Timer } from '../../runtime/runtime.js'
import type { HttpAnswer } from '../http1/client.js'
import { EXCERPT_BYTES_MAX, compression, mediaType, readExcerpt, readWhole } from './answer.js'
import { errorTo, failure, noAnswer } from './failure.js'
import { forgetsSession } from './forgotten-session.js'
import type { HttpLink } from './link.js'
import { OutgoingRequest, type ResponseHandler } from './outgoing-request.js'
import { ResponseStream, type StreamCut, type StreamOwner } from './response-stream.js'
import type { HttpSession } from './http-session.js'

const DISCOVER = 'server/discover'

const ACCEPTED = 202
const TOO_MANY = 429

const ACCEPT = 'application/json, text/event-stream'

export class MessagePost implements ResponseHandler, StreamOwner {
  readonly head: MessageHead
  readonly bytes: Line
  readonly number: number
  /** The header fields that repeat parts of the message; undefined for a message of a session. */
  readonly mirrored: readonly string[] | undefined
  readonly #session: HttpSession
  readonly #link: HttpLink
  /** After `answered` or `abandoned`, the server gets a moment to end the exchange. */
  #state: 'waits' | 'answered' | 'abandoned' | 'ended' = 'waits'
  #request: OutgoingRequest | undefined
  /** The response, if it is JSON. */
  #body: HttpAnswer | undefined
  /** The response, if it is an event stream, with the responses that continue it. */
  #stream: ResponseStream | undefined
  #timeout: Timer

  constructor(head: MessageHead, bytes: Line, session: HttpSession, link: HttpLink, number: number) {
    this.head = head
    this.bytes = bytes
    this.#session = session
    this.#link = link
    this.number = number
    const { mirror, limits } = session.target
    this.mirrored = mirror?.(bytes, head.method)
    const isEndless = statelessRequests.get(head.method ?? '')?.staysOpen === true
    const answerMs = isEndless ? limits.endlessMs : limits.answerMs
    this.#timeout = this.#endsAfter(this.#isAnsweredHere ? answerMs : limits.acceptMs)
  }

  send(): void {
    if (this.#state === 'ended') return
    const { url, target } = this.#session
    const { method } = this.head
    // An answer has no method.
    const isRepeatable =
      method === undefined || method === DISCOVER || requests.get(method)?.isReadOnly === true
    const ask = {
      method: 'POST',
      url,
      rpc: method,
      accept: ACCEPT,
      retry: { delayMs: target.retryDelayMs, isRepeatable },
      body: this.bytes,
      mirrored: this.mirrored,
    } as const
    this.#request = new OutgoingRequest(this.#session, ask, this)
  }

  read(on: boolean): void {
    this.#body?.read(on)
    this.#stream?.read(on)
  }

  abandon(): void {
    if (this.#state === 'waits') this.#lingers('abandoned')
  }

  /** Drops the request and its response. The link learns only that the message has ended. */
  cancel(): void {
    if (this.#state === 'ended') return
    this.#state = 'ended'
    this.#timeout.cancel()
    this.#request?.cancel()
    this.#stream?.stop()
    this.#link.ended(this)
  }

  #endsAfter(ms: number): Timer {
    const late = (): void => this.failed(failure('TRANSPORT_TIMEOUT', `no answer within ${ms} ms`))
    return setDeadline(this.#session.target.timers, ms, late)
  }

  /** Whether the response to the POST carries the answer. */
  get #isAnsweredHere(): boolean {
    return this.head.id !== undefined && !this.#link.answersElsewhere
  }

  /** Gives the server a moment to end the exchange by itself, unless no request is in flight. */
  #lingers(state: 'answered' | 'abandoned'): void {
    if (this.#state === 'ended') return
    this.#state = state
    if (this.#request?.isHeld === true || this.#stream?.isHeld === true) return this.cancel()
    this.#request?.abandon()
    this.#timeout.cancel()
    this.#timeout = this.#endsAfter(this.#session.target.limits.lingerMs)
  }

  // ResponseHandler: the result of the POST.

  failed(error: TransportError): void {
    if (this.#state === 'waits') this.#link.failed(this, error)
    this.cancel()
  }

  responded(answer: HttpAnswer): void {
    const { status } = answer
    const { target } = this.#session
    if (status >= 300) return this.failed(noAnswer(target, answer, ''))
    if (this.mirrored === undefined) this.#session.learn(answer)
    const type = mediaType(answer)
    const isAnswer = type === 'application/json' || type === 'text/event-stream'
    const comesLater = status === ACCEPTED && this.#link.listens && !isAnswer
    if (!this.#isAnsweredHere || comesLater) {
      // The body is ignored. The body of an event stream, or one without a length, may never end.
      if (type === 'text/event-stream' || answer.head.framing.kind === 'close') return this.cancel()
      this.#lingers('abandoned')
      return readExcerpt(answer, () => this.cancel())
    }
    if (!this.#link.isReading) answer.read(false)
    const coding = compression(answer)
    if (coding !== undefined) {
      const what = target.redactor.beginning(coding.slice(0, 50))
      this.failed(
        failure('TRANSPORT_ANSWER', `its answer is compressed (${what}) although none is asked for`),
      )
    } else if (type === 'text/event-stream') {
      this.#stream = new ResponseStream(this.#session, this.#link, this)
      this.#stream.take(answer)
    } else {
      this.#body = answer
      if (type === 'application/json') this.#readJson(answer)
      else readExcerpt(answer, (text) => this.failed(noAnswer(target, answer, text)))
    }
  }

  /** A JSON-RPC error of a rate limit is an answer, so the request is not repeated. */
  isAnswer({ status }: HttpAnswer, body: string): boolean {
    const error = status === TOO_MANY ? errorTo(this.head.id, body) : undefined
    return error !== undefined && retryIn(error) !== undefined
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
    // For the first request, these statuses say nothing about the server, even if the body is JSON-RPC.
    const isOverruled = head.method === DISCOVER && (status >= 500 || status === 408 || status === TOO_MANY)
    if (error === undefined || status === 401 || status === 403 || isOverruled)
      return this.failed(noAnswer(target, answer, body))
    this.#link.deliver(error.line, readMessages(error.line), head.id)
    this.cancel()
  }

  // StreamOwner: the events of the response.

  onMessage(message: Line | LongLine): void {
    if (this.#state === 'ended') return
    const received = readMessages(message)
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
    // An oversize answer may never end, so the proxy stops reading it.
    if (!isCall) this.cancel()
  }

  /** Resumes the stream, as long as it delivers new events. */
  onCut(cut: StreamCut): void {
    const { lastEventId = '', attempts = 0 } = this.#stream ?? {}
    if (this.#state === 'answered') return this.cancel()
    // An empty id resets the earlier ids (HTML, server-sent events).
    const isResumable = lastEventId !== '' && attempts < this.#session.target.limits.resumesMax
    if (cut.isPassing && isResumable) return void this.#stream?.reopen(cut)
    if (cut.error !== undefined && !cut.isPassing) return this.failed(cut.error)
    this.#retryCut(`the event stream ended before the answer (${cut.what})`)
  }

  /** Repeats a request whose answer was cut, if the request has no second effect. */
  #retryCut(what: string): void {
    const isRepeated = this.#state === 'waits' && this.#request?.retryCut() === true
    if (!isRepeated) this.failed(failure('TRANSPORT_IO', what))
  }

  #readJson(answer: HttpAnswer): void {
    const { answerBytesMax } = this.#session.target.limits
    readWhole(answer, answerBytesMax, (body, why, error) => {
      if (this.#state === 'ended') return
      if (why === 'cut')
        return this.#retryCut(`the answer was cut${error === undefined ? '' : `: ${error.message}`}`)
      if (body === undefined) {
        const bytes = Number(answer.fields.get('content-length') ?? 0)
        this.#link.oversize(this.head.id, Math.max(bytes, answerBytesMax), false)
        return this.cancel()
      }
      const received = readMessages(body)
      if (received.some((each) => this.#forgets(each))) return this.#forgotten(200)
      // A batch contains the answer among others. Without the answer, the request would wait for ever.
      if (received.some((each) => answers(each, this.head.id))) {
        this.#deliver(body, received)
        return this.cancel()
      }
      // The server may have mixed up its answers, so the connection is not used again.
      answer.drop()
      const text = joinedLine(body).toString('utf8', 0, EXCERPT_BYTES_MAX)
      this.failed(noAnswer(this.#session.target, answer, text))
    })
  }

  #deliver(message: Line | LongLine, received: readonly ReceivedMessage[]): void {
    const { method } = this.head
    if (method === 'initialize') for (const each of received) this.#session.version ??= versionIn(each)
    else if (received.some(({ kind }) => kind === 'result')) {
      this.#session.hasServed = true
      this.#session.target.refusals.onResult(method)
    }
    this.#link.deliver(message, received, this.head.id)
  }

  /** The server has not executed the request. */
  #forgotten(status: number): void {
    this.#link.forgotten(this, status)
    this.cancel()
  }

  /** Whether an answer with status 200 means that the session is lost. */
  #forgets(received: ReceivedMessage): boolean {
    if (received.kind !== 'error' || !answers(received, this.head.id)) return false
    return forgetsSession(this.#session, this.head, { status: 200, error: received })
  }
}

/** The version becomes a header value, so it must be printable. */
const headerText = /^[\x21-\x7e]{1,64}$/

/** Reads the messages of a body or an event; a batch contains several. */
export function readMessages(message: Line | LongLine): readonly ReceivedMessage[] {
  if (message instanceof LongLine) return [readLong(message)]
  const lines = isBatch(message) ? batchMembers(message) : [message]
  return lines.map((line) => readMessage(line))
}

/** Whether a message answers this request, or claims to. */
export function answers(received: ReceivedMessage, id: RequestId | undefined): boolean {
  if (id === undefined) return false
  const answered = received.kind === 'unreadable' ? claimedIds(received.line) : [answeredId(received)]
  return answered.some((each) => each !== undefined && (each === id || canonical(each) === canonical(id)))
}

export function answeredId(received: ReceivedMessage): RequestId | undefined {
  return received.kind === 'result' || received.kind === 'error' ? received.id : undefined
}

function versionIn(received: ReceivedMessage): string | undefined {
  if (received.kind !== 'result') return undefined
  const version = received.members?.string('protocolVersion')
  return version !== undefined && headerText.test(version) ? version : undefined
}
