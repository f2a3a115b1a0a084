// The events of a response, and of the responses that go on with it: of a POST, of the standalone stream of a server, or of the
// one stream of HTTP+SSE.

import type { Line } from '../../jsonrpc/line.js'
import { type LongLine, joinedLine } from '../../jsonrpc/fast/long-line.js'
import type { RequestId } from '../../jsonrpc/request-id.js'
import type { HttpAnswer } from '../http1/client.js'
import { SseParser } from '../sse/parser.js'
import { isEventStream } from './answer.js'
import type { HttpTrouble } from './failure.js'
import type { HttpLink } from './link.js'
import { OutgoingRequest } from './outgoing-request.js'
import type { HttpAsk, HttpSession } from './session.js'

/** The reader of a stream; it is not called any more once the stream is stopped. */
export interface StreamReader {
  /** `open` has had a response whose events follow. */
  onBegin?(): void
  onMessage(message: Line | LongLine): void
  /** An event of another type. */
  onEvent?(type: string, data: Line): void
  onOversize(id: RequestId | undefined, bytes: number, isCall: boolean): void
  /** A response has ended, perhaps before its end, which `error` may be about. */
  onEnd(error?: Error): void
  /** The response to `open` is no event stream. */
  onRefusal(answer: HttpAnswer, body?: string): void
  onTrouble(trouble: HttpTrouble): void
}

/** One stream of events. */
export class ResponseStream {
  readonly #session: HttpSession
  readonly #link: HttpLink
  readonly #reader: StreamReader
  #request: OutgoingRequest | undefined
  #answer: HttpAnswer | undefined
  #parser: SseParser | undefined
  /** The event after which the present response began. */
  #firstId: string | undefined
  /** The address after a redirect within the origin. */
  #movedTo: URL | undefined
  #isStopped = false

  constructor(session: HttpSession, link: HttpLink, reader: StreamReader) {
    this.#session = session
    this.#link = link
    this.#reader = reader
  }

  get url(): URL {
    return this.#movedTo ?? this.#session.url
  }

  /** Whether the request that opens it waits for a credential, or until it is made again. */
  get isHeld(): boolean {
    return this.#request?.isHeld === true
  }

  /** Whether it has had a response. */
  get hasBegun(): boolean {
    return this.#answer !== undefined
  }

  /** The id after which the stream can be resumed; undefined while it has named none. */
  get lastEventId(): string | undefined {
    return this.#parser?.lastEventId ?? this.#firstId
  }

  /** How long to wait before the stream is opened again; undefined when the server has not said. */
  get retryMs(): number | undefined {
    return this.#parser?.retryMs
  }

  /** Asks for the events after the last one, always with GET, though the stream may have begun with a POST. */
  open(how: Pick<HttpAsk, 'afterMs' | 'retry'> = {}): void {
    if (this.#isStopped) return
    const { lastEventId, url } = this
    const ask = { method: 'GET', url, accept: 'text/event-stream', lastEventId, ...how } as const
    this.#request = new OutgoingRequest(this.#session, ask, {
      responded: (answer) => {
        if (!isEventStream(answer)) return this.#reader.onRefusal(answer)
        this.#movedTo = this.#request?.url
        this.#reader.onBegin?.()
        this.take(answer)
      },
      ...(how.retry && { refused: (answer, body) => this.#reader.onRefusal(answer, body) }),
      troubled: (trouble) => this.#reader.onTrouble(trouble),
    })
  }

  /** Reads the events of this response. */
  take(answer: HttpAnswer): void {
    const reader = this.#reader
    this.#firstId = this.lastEventId
    this.#answer = answer
    if (!this.#link.isReading) answer.read(false)
    const event = (type: string, data: Line | LongLine): void => {
      if (this.#isStopped) return
      if (type === 'message') reader.onMessage(data)
      else reader.onEvent?.(type, joinedLine(data))
    }
    const oversize = (id: RequestId | undefined, bytes: number, isCall: boolean): void => {
      if (!this.#isStopped) reader.onOversize(id, bytes, isCall)
    }
    const end = (error?: Error): void => {
      if (!this.#isStopped) reader.onEnd(error)
    }
    const parser = new SseParser({ event, oversize }, this.#session.target.limits.sse)
    this.#parser = parser
    answer.readBy({ data: (chunk) => answer.worked(parser.push(chunk)), end, cut: end })
  }

  read(on: boolean): void {
    this.#answer?.read(on)
  }

  /** Ends it, and closes the connection of its response. */
  drop(): void {
    this.stop()
    this.#answer?.drop()
  }

  /** Ends it. A response that is no answer to `open` is for the owner of its request to drop. */
  stop(): void {
    this.#isStopped = true
    this.#request?.cancel()
  }
}
