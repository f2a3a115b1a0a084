// The stream for unsolicited messages of a server, opened again after each end.
//
// MCP, Transports, Streamable HTTP: listening for messages from the server. A server may have none (405). Calls continue without it.

import type { Line } from '../../jsonrpc/line.js'
import type { RequestId } from '../../jsonrpc/request-id.js'
import type { SseParser } from '../sse/parser.js'
import { type HttpAnswer, isEventStream, readEvents } from './answer.js'
import { HttpExchange } from './exchange.js'
import { incomplete } from './failure.js'
import { retryAfterMs } from './pause.js'
import type { HttpMessages } from './messages.js'
import type { HttpSession } from './session.js'

/** The owner of the connection. */
export interface StandaloneHandler {
  message(line: Line): void
  /** The server does not know the session any more. */
  forgotten(): void
}

/** Listens until it is stopped, or the server says that it has nothing to say. */
export class StandaloneStream {
  readonly #messages: HttpMessages
  readonly #session: HttpSession
  readonly #handler: StandaloneHandler
  #exchange: HttpExchange | undefined
  #answer: HttpAnswer | undefined
  #parser: SseParser | undefined
  #timer: { cancel(): void } | undefined
  #lastEventId: string | undefined
  /** The address after a redirect within the origin. */
  #moved: URL | undefined
  #openedAt = 0
  #failures = 0
  #stopped = false

  constructor(messages: HttpMessages, handler: StandaloneHandler) {
    this.#messages = messages
    this.#session = messages.session
    this.#handler = handler
  }

  open(): void {
    if (this.#stopped) return
    const url = this.#moved ?? this.#session.url
    const ask = { method: 'GET', url, accept: 'text/event-stream', lastEventId: this.#lastEventId } as const
    this.#openedAt = this.#session.target.timers.now()
    this.#exchange = new HttpExchange(this.#session, ask, {
      responded: (answer) => this.#responded(answer),
      troubled: ({ what, status }) => (status === undefined ? this.#again(what) : this.#none(status)),
    })
  }

  read(on: boolean): void {
    this.#answer?.read(on)
  }

  stop(): void {
    this.#stopped = true
    this.#timer?.cancel()
    this.#exchange?.cancel()
  }

  #responded(answer: HttpAnswer): void {
    const { status } = answer
    if (isEventStream(answer)) return this.#listen(answer)
    answer.drop()
    if (status === 404 && this.#session.id !== undefined && this.#answer !== undefined)
      return this.#handler.forgotten()
    // 409: our last stream is not forgotten yet; 429 and 5xx pass as well.
    if (status === 409 || status === 429 || status >= 500)
      return this.#again(`HTTP ${status}`, retryAfterMs(answer, this.#session.target.timers))
    this.#none(status)
  }

  #none(status: number): void {
    if (status !== 405 && !this.#stopped) this.#log(`the server offers no stream of its own (HTTP ${status})`)
  }

  #listen(answer: HttpAnswer): void {
    this.#answer = answer
    this.#moved = this.#exchange?.url
    // Messages before this moment may be lost, unless the server repeats the events after the last one that was seen.
    if (this.#lastEventId === undefined) this.#messages.missed()
    if (!this.#messages.reading) answer.read(false)
    const sink = {
      event: (type: string, data: Line): void => {
        if (!this.#stopped && type === 'message') this.#handler.message(data)
      },
      oversize: (id: RequestId | undefined, bytes: number, isCall: boolean): void => {
        if (!this.#stopped) this.#messages.oversize(id, bytes, isCall)
      },
    }
    this.#parser = readEvents(answer, this.#session.target.limits.sse, sink, (error) =>
      this.#again(incomplete('it ended', error).message),
    )
  }

  /** The delay grows while streams end immediately, and is reset by a stream that lasted. */
  #again(why: string, leastMs = 0): void {
    if (this.#stopped) return
    const { timers, limits, reconnectMs } = this.#session.target
    this.#lastEventId = this.#parser?.lastEventId ?? this.#lastEventId
    const hasLasted = timers.now() - this.#openedAt > limits.reconnectMsMax
    this.#failures = hasLasted ? 0 : this.#failures + 1
    const told = this.#parser?.retryMs
    const grown = reconnectMs * 2 ** Math.min(this.#failures - 1, 10) * (0.8 + 0.4 * timers.random())
    // The delay that the server asked for is used, unless its streams end repeatedly.
    const delayMs = told !== undefined && this.#failures <= 3 ? told : Math.max(grown, told ?? 0)
    const least = Math.max(limits.reconnectMsMin, this.#session.target.pause.leftMs, leastMs)
    const bounded = Math.min(Math.max(delayMs, least), limits.reconnectMsMax)
    this.#log(`the stream of the server: ${why}; again in ${Math.round(bounded)} ms`)
    this.#timer = timers.setTimer(bounded, () => this.open())
  }

  #log(message: string): void {
    this.#session.target.log('debug', message)
  }
}
