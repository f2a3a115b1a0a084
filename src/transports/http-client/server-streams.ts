// The stream on which a server speaks unasked: the standalone one of Streamable HTTP, and the only one of HTTP+SSE.

import type { Line } from '../../jsonrpc/line.js'
import type { RequestId } from '../../jsonrpc/request-id.js'
import type { SseParser, SseSink } from '../sse/parser.js'
import { resolvedAddress } from '../address.js'
import type { HttpAnswer } from '../http1/client.js'
import { isEventStream, mediaType, readEvents, readExcerpt } from './answer.js'
import {
  type HttpTrouble,
  failure,
  incomplete,
  notAMessage,
  redirected,
  refused,
  unreachable,
} from './failure.js'
import type { HttpLink } from './link.js'
import { OutgoingRequest } from './outgoing-request.js'
import { Attempts, retryAfterMs } from './retries.js'
import type { HttpSession } from './session.js'

/**
 * The stream for unsolicited messages of a server, opened again after each end.
 *
 * MCP, Transports, Streamable HTTP: listening for messages from the server. A server may have none (405). Calls continue without
 * it. The stream is open until it is stopped, or until the server says that it has none.
 */
export class StandaloneStream {
  /** Messages need no address but that of the server. */
  readonly isAddressed = true
  readonly #session: HttpSession
  readonly #link: HttpLink
  #request: OutgoingRequest | undefined
  #answer: HttpAnswer | undefined
  #parser: SseParser | undefined
  #timer: { cancel(): void } | undefined
  #lastEventId: string | undefined
  /** The address after a redirect within the origin. */
  #moved: URL | undefined
  #openedAt = 0
  #failures = 0
  #isStopped = false
  /** The server has refused it. */
  #isMissing = false

  constructor(session: HttpSession, link: HttpLink) {
    this.#session = session
    this.#link = link
  }

  /** Whether the server has this stream, as far as is known. */
  get isOffered(): boolean {
    return this.#request !== undefined && !this.#isStopped && !this.#isMissing
  }

  open(): void {
    if (this.#isStopped) return
    const url = this.#moved ?? this.#session.url
    const ask = { method: 'GET', url, accept: 'text/event-stream', lastEventId: this.#lastEventId } as const
    this.#openedAt = this.#session.target.timers.now()
    this.#request = new OutgoingRequest(this.#session, ask, {
      responded: (answer) => this.#responded(answer),
      troubled: ({ what, status }) => (status === undefined ? this.#again(what) : this.#none(status)),
    })
  }

  read(on: boolean): void {
    this.#answer?.read(on)
  }

  stop(): void {
    this.#isStopped = true
    this.#timer?.cancel()
    this.#request?.cancel()
  }

  #responded(answer: HttpAnswer): void {
    const { status } = answer
    if (isEventStream(answer)) return this.#listen(answer)
    answer.drop()
    if (status === 404 && this.#session.id !== undefined && this.#answer !== undefined)
      return this.#link.forget()
    // 409: our last stream is not forgotten yet; 429 and 5xx pass as well.
    if (status === 409 || status === 429 || status >= 500)
      return this.#again(`HTTP ${status}`, retryAfterMs(answer, this.#session.target.timers))
    this.#none(status)
  }

  #none(status: number): void {
    this.#isMissing = true
    if (status !== 405 && !this.#isStopped)
      this.#log(`the server offers no stream of its own (HTTP ${status})`)
  }

  #listen(answer: HttpAnswer): void {
    this.#answer = answer
    this.#moved = this.#request?.url
    // Messages before this moment may be lost, unless the server repeats the events after the last one that was seen.
    if (this.#lastEventId === undefined) this.#link.missed()
    if (!this.#link.isReading) answer.read(false)
    const { sse } = this.#session.target.limits
    this.#parser = readEvents(
      answer,
      sse,
      unaskedBy(this.#link, () => !this.#isStopped),
      (error) => this.#again(incomplete('it ended', error).message),
    )
  }

  /** The delay grows while streams end immediately, and is reset by a stream that lasted. */
  #again(why: string, leastMs = 0): void {
    if (this.#isStopped) return
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

/** The stream of an older server. The first event names the address for messages; its end is the end of the session. */
export class OlderStream {
  readonly isOffered = false
  readonly #session: HttpSession
  readonly #link: HttpLink
  readonly #attempts: Attempts
  #request: OutgoingRequest | undefined
  #answer: HttpAnswer | undefined
  /** The address of the stream; a redirect within the origin changes it. */
  #url: URL
  #opening: { cancel(): void } | undefined
  #isAddressed = false

  constructor(session: HttpSession, link: HttpLink) {
    const { target } = session
    this.#session = session
    this.#link = link
    this.#url = target.url
    // To listen is to read.
    this.#attempts = new Attempts({ ...target, retryDelayMs: target.reconnectMs, isRead: () => true }, '')
  }

  /** Whether the server has named the address for messages. */
  get isAddressed(): boolean {
    return this.#isAddressed
  }

  open(): void {
    if (this.#link.isClosed) return
    this.#wait()
    const ask = { method: 'GET', url: this.#url, accept: 'text/event-stream' } as const
    this.#request = new OutgoingRequest(this.#session, ask, {
      responded: (answer) => this.#responded(answer),
      troubled: (trouble) => this.#troubled(trouble),
    })
  }

  read(on: boolean): void {
    this.#answer?.read(on)
  }

  stop(): void {
    this.#opening?.cancel()
    this.#attempts.stop()
    this.#request?.cancel()
  }

  /** The renewal of a credential has a separate limit. */
  #wait(): void {
    const { timers, limits } = this.#session.target
    this.#opening?.cancel()
    this.#opening = timers.setTimer(limits.acceptMs, () => {
      if (this.#request?.isHeld === true) return this.#wait()
      this.#link.end(failure('TRANSPORT_TIMEOUT', `no event stream within ${limits.acceptMs} ms`))
    })
  }

  #troubled(trouble: HttpTrouble): void {
    this.#opening?.cancel()
    if (this.#attempts.afterTrouble(trouble, () => this.open())) return
    if (trouble.status !== undefined) this.#link.refusedOlder()
    this.#link.end(trouble.error ?? unreachable(this.#session.target, trouble))
  }

  #responded(answer: HttpAnswer): void {
    const { status } = answer
    const { target } = this.#session
    const type = mediaType(answer)
    this.#session.learn(answer, false)
    if (isEventStream(answer)) return this.#read(answer)
    if (status >= 300 && status < 400) {
      this.#link.refusedOlder()
      return this.#link.end(redirected(target, status, answer.get('location')))
    }
    readExcerpt(answer, target.limits.excerptBytesMax, (text) => {
      this.#opening?.cancel()
      if (this.#attempts.afterRefusal(answer, () => this.open())) return
      this.#link.refusedOlder()
      const said = { status, body: target.redactor.beginning(text) }
      const isSuccess = status >= 200 && status < 300
      this.#link.end(isSuccess ? notAMessage(target, type, said) : refused(target, said))
    })
  }

  #read(answer: HttpAnswer): void {
    this.#answer = answer
    this.#url = this.#request?.url ?? this.#url
    // The address for messages may be relative.
    this.#session.url = this.#url
    if (!this.#link.isReading) answer.read(false)
    const unasked = unaskedBy(this.#link, () => true)
    const sink: SseSink = {
      ...unasked,
      event: (type, data) => {
        if (type === 'endpoint' && !this.#isAddressed) this.#address(data.toString('utf8').trim())
        else unasked.event(type, data)
      },
      long: (type, parts) => {
        if (type === 'message') this.#link.unasked(this.#session.longLines.end(parts))
      },
    }
    readEvents(answer, this.#session.target.limits.sse, sink, (error) =>
      this.#link.end(incomplete('the event stream has ended, and the session with it', error)),
    )
  }

  /** An address elsewhere would get our credentials. */
  #address(address: string): void {
    const base = this.#session.url
    const url = resolvedAddress(address, base)
    if (url?.origin !== base.origin) {
      const where = url === undefined ? 'an address that is none' : `an address at ${url.origin}`
      return this.#link.end(failure('TRANSPORT_ANSWER', `it names ${where} for messages, which is refused`))
    }
    this.#opening?.cancel()
    this.#session.url = url
    this.#isAddressed = true
    this.#link.addressed()
  }
}

function unaskedBy(link: HttpLink, isWanted: () => boolean): SseSink {
  return {
    event: (type: string, data: Line) => {
      if (isWanted() && type === 'message') link.unasked(data)
    },
    oversize: (id: RequestId | undefined, bytes: number, isCall: boolean) => {
      if (isWanted()) link.oversize(id, bytes, isCall)
    },
  }
}
