// The answer to one request, as JSON or on an event stream.
//
// A stream may be cut before the answer and resumed where it was, as often as the
// server likes (MCP 2025-11-25, Transports: resumability and redelivery).

import { OPEN_OBJECT } from '../../jsonrpc/ascii.js'
import type { TransportError } from '../../jsonrpc/errors.js'
import type { Line } from '../../jsonrpc/line.js'
import { type LongLine, lineOf } from '../../jsonrpc/fast/long-line.js'
import type { RequestId } from '../../jsonrpc/request-id.js'
import type { WholeBody } from '../http1/whole-body.js'
import { LONG_BYTES_MIN } from '../long-lines.js'
import type { HttpAnswer } from './answer.js'
import { contentCodings, isCompressed, mediaType, readEvents, readExcerpt, readWhole } from './body.js'
import { answers } from './envelope.js'
import { HttpExchange } from './exchange.js'
import { failure, incomplete, notAMessage } from './failure.js'
import type { HttpMessages } from './messages.js'
import type { HttpPost } from './post.js'
import type { HttpSession } from './session.js'
import type { SseParser } from '../sse/parser.js'

/** Reads until the answer has come, or cannot come. */
export class HttpReply {
  readonly #id: RequestId
  readonly #messages: HttpMessages
  readonly #session: HttpSession
  readonly #post: HttpPost
  #source: HttpAnswer | undefined
  #resuming: HttpExchange | undefined
  #parser: SseParser | undefined
  #lastEventId: string | undefined
  #answered = false
  #over = false

  constructor(id: RequestId, messages: HttpMessages, post: HttpPost) {
    this.#id = id
    this.#messages = messages
    this.#session = messages.session
    this.#post = post
  }

  take(source: HttpAnswer): void {
    if (!this.#messages.reading) source.read(false)
    this.#source = source
    const type = mediaType(source)
    if (isCompressed(source)) return this.#finish(compressed(source, this.#session))
    if (type === 'text/event-stream') return this.#readEvents(source)
    if (type === 'application/json') return this.#readJson(source)
    const { target } = this.#session
    readExcerpt(source, target.limits.excerptBytesMax, (body) => {
      this.#finish(this.#noAnswer(type, source, body))
    })
  }

  read(on: boolean): void {
    this.#source?.read(on)
  }

  /** Tells nothing any more. */
  stop(): void {
    this.#over = true
    this.#resuming?.cancel()
  }

  #finish(error: TransportError | undefined): void {
    if (this.#over) return
    this.#over = true
    this.#post.finished(this.#answered ? undefined : error)
  }

  #readJson(source: HttpAnswer): void {
    const { answerBytesMax, excerptBytesMax } = this.#session.target.limits
    readWhole(source, answerBytesMax, (body, why, error) => {
      if (this.#over) return
      if (why === 'cut') return this.#finish(incomplete('the answer was cut', error))
      if (body === undefined) {
        const bytes = Number(source.get('content-length') ?? 0)
        this.#messages.oversize(this.#id, Math.max(bytes, answerBytesMax), false)
        return this.#finish(undefined)
      }
      const message = this.#messageIn(body)
      const received = this.#messages.read(message)
      // A batch holds the answer among others; anything else would leave the request waiting.
      if (received.some((each) => answers(each, this.#id))) {
        this.#post.message(message, received)
        return this.#finish(undefined)
      }
      // Who answers something else may be out of step, and the next answer on this connection another's again.
      source.drop()
      const text = lineOf(message).toString('utf8', 0, excerptBytesMax)
      this.#finish(this.#noAnswer('application/json', source, text))
    })
  }

  /** A long one stays in parts, unless it is a batch, which has to be taken apart. */
  #messageIn(body: WholeBody): Line | LongLine {
    const inParts = body.bytes >= LONG_BYTES_MIN && body.firstByte === OPEN_OBJECT
    return inParts ? this.#session.longLines.end(body.parts()) : body.line()
  }

  #noAnswer(type: string, { status }: HttpAnswer, body: string): TransportError {
    const said = { status, body: this.#session.target.discretion.beginning(body) }
    return notAMessage(this.#session.target, type, said)
  }

  #readEvents(source: HttpAnswer): void {
    const sink = {
      event: (type: string, data: Line) => this.#event(type, data),
      long: (type: string, parts: readonly Buffer[]) => this.#event(type, this.#session.longLines.end(parts)),
      oversize: (id: RequestId | undefined, bytes: number, isCall: boolean) =>
        this.#oversize(id, bytes, isCall),
    }
    this.#parser = readEvents(source, this.#session.target.limits.sse, sink, (error) =>
      this.#streamEnded(error),
    )
  }

  #event(type: string, data: Line | LongLine): void {
    if (this.#over || type !== 'message') return
    this.#post.attempts.progressed()
    const received = this.#messages.read(data)
    const isAnswer = !this.#answered && received.some((each) => answers(each, this.#id))
    this.#post.message(data, received)
    if (!isAnswer || this.#over) return
    this.#answered = true
    this.#post.abandon()
  }

  #oversize(id: RequestId | undefined, bytes: number, isCall: boolean): void {
    if (this.#over) return
    this.#messages.oversize(isCall ? id : this.#id, bytes, isCall)
    // The rest of it may be without end, and nobody wants it.
    if (!isCall) this.#finish(undefined)
  }

  #streamEnded(error?: Error): void {
    if (this.#over) return
    this.#source = undefined
    if (this.#answered) return this.#finish(undefined)
    const lastEventId = this.#parser?.lastEventId
    if (lastEventId !== undefined && lastEventId !== this.#lastEventId) this.#post.attempts.progressed()
    this.#lastEventId = lastEventId ?? this.#lastEventId
    // An empty id takes back those before it (HTML, server-sent events).
    const isResumable = this.#lastEventId !== undefined && this.#lastEventId !== ''
    if (isResumable && this.#post.attempts.resume(this.#parser?.retryMs, () => this.#resume())) return
    this.#finish(incomplete('the event stream ended before the answer', error))
  }

  /** Always with GET, though the stream began with a POST. */
  #resume(): void {
    const { url } = this.#session
    const ask = { method: 'GET', url, accept: 'text/event-stream', lastEventId: this.#lastEventId } as const
    this.#resuming = new HttpExchange(this.#session, ask, {
      responded: (source) => this.#resumed(source),
      troubled: ({ status, error }) => (status === undefined ? this.#streamEnded() : this.#finish(error)),
    })
  }

  #resumed(source: HttpAnswer): void {
    const { status } = source
    if (status === 200 && mediaType(source) === 'text/event-stream') return this.take(source)
    source.drop()
    this.#session.learn(source, false)
    if (this.#post.attempts.resumeAfter(source, this.#parser?.retryMs, () => this.#resume())) return
    const why = `the event stream ended before the answer and cannot be resumed (HTTP ${status})`
    this.#finish(failure('TRANSPORT_IO', why))
  }
}

function compressed(source: HttpAnswer, session: HttpSession): TransportError {
  const encoding = session.target.discretion.beginning(contentCodings(source).join(', ').slice(0, 50))
  source.drop()
  return failure(
    'TRANSPORT_ANSWER',
    `its answer is compressed (${encoding}) although none is asked for (Accept-Encoding: identity); have the server, or what stands before it, send it as it is`,
  )
}
