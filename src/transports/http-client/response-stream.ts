// The events of a response and of the responses that continue it: of a POST, of the standalone stream of a
// server, or of the only stream of HTTP+SSE (MCP 2025-11-25, Transports: resumability and redelivery).

import type { Line } from '../../jsonrpc/line.js'
import { type LongLine, joinedLine } from '../../jsonrpc/long-line.js'
import type { TransportError } from '../../jsonrpc/jsonrpc-errors.js'
import type { RequestId } from '../../jsonrpc/request-id.js'
import type { HttpAnswer } from '../http1/client.js'
import { SseParser } from '../sse/parser.js'
import { compression, mediaType, readExcerpt, retryAfterMs } from './answer.js'
import type { HttpLink } from './link.js'
import { OutgoingRequest } from './outgoing-request.js'
import type { HttpRequestSpec, HttpSession } from './http-session.js'

/** The owner of a stream. A stopped stream does not call it. */
export interface StreamOwner {
  /** The response to `open` has arrived, and its events follow. */
  onBegin?(): void
  onMessage(message: Line | LongLine): void
  onEvent?(type: string, data: Line): void
  onOversize(id: RequestId | undefined, bytes: number, isCall: boolean): void
  /** The stream has ended, or could not be opened. */
  onCut(cut: StreamCut): void
}

export interface StreamCut {
  readonly what: string
  /** Whether the same stream may be available later. */
  readonly isPassing: boolean
  /** The status of a response that is no stream, or that refused the credentials. */
  readonly status?: number | undefined
  readonly error?: TransportError
  /** The response that is no event stream, and the beginning of its body. */
  readonly refusal?: { readonly answer: HttpAnswer; readonly body: string }
}

export class ResponseStream {
  readonly #session: HttpSession
  readonly #link: HttpLink
  readonly #owner: StreamOwner
  readonly #retry: HttpRequestSpec['retry']
  #request: OutgoingRequest | undefined
  #answer: HttpAnswer | undefined
  #parser: SseParser | undefined
  /** The last event id of the last GET, and the planned time of that GET. */
  #openedAfter: string | undefined
  #openedAt = 0
  /** The address after a redirect within the origin. */
  #movedTo: URL | undefined
  #isStopped = false
  /** The number of times the stream was opened since its last event with a new id. */
  attempts = 0

  /** `retry` applies to the requests that open the stream. */
  constructor(session: HttpSession, link: HttpLink, owner: StreamOwner, retry?: HttpRequestSpec['retry']) {
    this.#session = session
    this.#link = link
    this.#owner = owner
    this.#retry = retry
  }

  get url(): URL {
    return this.#movedTo ?? this.#session.url
  }

  /** Whether the request that opens the stream waits for a credential or for its next attempt. */
  get isHeld(): boolean {
    return this.#request?.isHeld === true
  }

  get hasBegun(): boolean {
    return this.#answer !== undefined
  }

  /** The id after which the stream can be resumed; undefined without an id. */
  get lastEventId(): string | undefined {
    return this.#parser?.lastEventId ?? this.#openedAfter
  }

  /** Requests the events after the last one, always with GET, even if the stream began with a POST. */
  open(afterMs?: number): void {
    if (this.#isStopped) return
    const { lastEventId, url } = this
    this.#openedAfter = lastEventId
    this.#openedAt = this.#session.target.timers.now() + (afterMs ?? 0)
    const retry = this.#retry
    const ask = { method: 'GET', url, accept: 'text/event-stream', lastEventId, afterMs, retry } as const
    const refused = (answer: HttpAnswer, body: string): void => {
      const { status } = answer
      const isPassing = status === 409 || status === 429 || status >= 500
      this.#cut({ what: `HTTP ${status}`, isPassing, status, refusal: { answer, body } })
    }
    this.#request = new OutgoingRequest(this.#session, ask, {
      responded: (answer) => {
        if (answer.status !== 200 || mediaType(answer) !== 'text/event-stream' || compression(answer))
          return readExcerpt(answer, (body) => refused(answer, body))
        this.#movedTo = this.#request?.url
        this.#owner.onBegin?.()
        this.take(answer)
      },
      refused,
      failed: (error, status) =>
        this.#cut({ what: error.message, isPassing: status === undefined, status, error }),
    })
  }

  /** Opens the stream again after a delay that grows until an event has a new id, or until a stream lasts. */
  reopen({ refusal }: StreamCut): number {
    const { timers, limits, reconnectMs } = this.#session.target
    const askedMs = this.#parser?.retryMs ?? reconnectMs
    const grownMs = askedMs * 2 ** Math.min(this.attempts++, 10) * (0.8 + 0.4 * timers.random())
    const namedMs = (refusal && retryAfterMs(refusal.answer)) ?? this.#parser?.retryMs ?? 0
    const leastMs = Math.max(limits.reconnectMsMin, namedMs)
    const delayMs = Math.min(Math.max(grownMs, leastMs), limits.reconnectMsMax)
    this.open(delayMs)
    return delayMs
  }

  take(answer: HttpAnswer): void {
    this.#answer = answer
    if (!this.#link.isReading) answer.read(false)
    const event = (type: string, data: Line | LongLine): void => {
      if (this.#isStopped) return
      if (type === 'message') this.#owner.onMessage(data)
      else this.#owner.onEvent?.(type, joinedLine(data))
    }
    const oversize = (id: RequestId | undefined, bytes: number, isCall: boolean): void => {
      if (!this.#isStopped) this.#owner.onOversize(id, bytes, isCall)
    }
    const end = (error?: Error): void =>
      this.#cut({ what: error === undefined ? 'it ended' : error.message, isPassing: true })
    const parser = new SseParser({ event, oversize }, this.#session.target.limits.sse)
    this.#parser = parser
    answer.reader = { data: (chunk) => parser.push(chunk), end, cut: end }
  }

  read(on: boolean): void {
    this.#answer?.read(on)
  }

  /** Stops the stream, and closes the connection of its response. */
  drop(): void {
    this.stop()
    this.#answer?.drop()
  }

  /** Stops the stream. The owner of a POST drops its response itself. */
  stop(): void {
    this.#isStopped = true
    this.#request?.cancel()
  }

  #cut(cut: StreamCut): void {
    if (this.#isStopped) return
    const { timers, limits } = this.#session.target
    const hasLasted = timers.now() - this.#openedAt > limits.reconnectMsMax
    if (this.lastEventId !== this.#openedAfter || hasLasted) this.attempts = 0
    this.#owner.onCut(cut)
  }
}
