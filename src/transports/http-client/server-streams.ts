// The stream on which a server speaks unasked: the standalone one of Streamable HTTP, and the only one of HTTP+SSE.

import type { Line } from '../../jsonrpc/line.js'
import type { LongLine } from '../../jsonrpc/fast/long-line.js'
import type { RequestId } from '../../jsonrpc/request-id.js'
import { resolvedAddress } from '../address.js'
import type { HttpAnswer } from '../http1/client.js'
import { mediaType, readExcerpt } from './answer.js'
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
import { retryAfterMs } from './pause.js'
import { ResponseStream, type StreamReader } from './response-stream.js'
import type { HttpSession } from './session.js'

/**
 * The stream for unsolicited messages of a server, opened again after each end.
 *
 * MCP, Transports, Streamable HTTP: listening for messages from the server. A server may have none (405). Calls continue without
 * it. The stream is open until it is stopped, or until the server says that it has none.
 */
export class StandaloneStream implements StreamReader {
  /** Messages need no address but that of the server. */
  readonly isAddressed = true
  readonly #session: HttpSession
  readonly #link: HttpLink
  readonly #stream: ResponseStream
  /** Whether the server has this stream, as far as is known. */
  #isOffered = false
  #isStopped = false
  #openedAt = 0
  #failures = 0

  constructor(session: HttpSession, link: HttpLink) {
    this.#session = session
    this.#link = link
    this.#stream = new ResponseStream(session, link, this)
  }

  get isOffered(): boolean {
    return this.#isOffered
  }

  open(afterMs?: number): void {
    if (this.#isStopped) return
    this.#isOffered = true
    this.#openedAt = this.#session.target.timers.now() + (afterMs ?? 0)
    this.#stream.open({ afterMs })
  }

  read(on: boolean): void {
    this.#stream.read(on)
  }

  stop(): void {
    this.#isStopped = true
    this.#isOffered = false
    this.#stream.stop()
  }

  onBegin(): void {
    // Messages before this moment may be lost, unless the server repeats the events after the last one that was seen.
    if (this.#stream.lastEventId === undefined) this.#link.missed()
  }

  onMessage(message: Line | LongLine): void {
    this.#link.unasked(message)
  }

  onOversize(id: RequestId | undefined, bytes: number, isCall: boolean): void {
    this.#link.oversize(id, bytes, isCall)
  }

  onEnd(error?: Error): void {
    this.#again(incomplete('it ended', error).message)
  }

  onRefusal(answer: HttpAnswer): void {
    const { status } = answer
    answer.drop()
    if (status === 404 && this.#session.id !== undefined && this.#stream.hasBegun) return this.#link.forget()
    // 409: our last stream is not forgotten yet; 429 and 5xx pass as well.
    if (status === 409 || status === 429 || status >= 500)
      return this.#again(`HTTP ${status}`, retryAfterMs(answer, this.#session.target.timers))
    this.#isMissing(status)
  }

  onTrouble({ what, status }: HttpTrouble): void {
    if (status === undefined) this.#again(what)
    else this.#isMissing(status)
  }

  #isMissing(status: number): void {
    this.#isOffered = false
    if (status !== 405) this.#log(`the server offers no stream of its own (HTTP ${status})`)
  }

  /** The delay grows while streams end immediately, and is reset by a stream that lasted. */
  #again(why: string, leastMs = 0): void {
    const { timers, limits, reconnectMs, pause } = this.#session.target
    const { retryMs } = this.#stream
    const hasLasted = timers.now() - this.#openedAt > limits.reconnectMsMax
    this.#failures = hasLasted ? 0 : this.#failures + 1
    const grownMs = reconnectMs * 2 ** Math.min(this.#failures - 1, 10) * (0.8 + 0.4 * timers.random())
    // The delay that the server asked for is used, unless its streams end repeatedly.
    const delayMs = retryMs !== undefined && this.#failures <= 3 ? retryMs : Math.max(grownMs, retryMs ?? 0)
    const least = Math.max(limits.reconnectMsMin, pause.leftMs, leastMs)
    const bounded = Math.min(Math.max(delayMs, least), limits.reconnectMsMax)
    this.#log(`the stream of the server: ${why}; again in ${Math.round(bounded)} ms`)
    this.open(bounded)
  }

  #log(message: string): void {
    this.#session.target.log('debug', message)
  }
}

/** The stream of an older server. The first event names the address for messages; its end is the end of the session. */
export class OlderStream implements StreamReader {
  readonly isOffered = false
  readonly #session: HttpSession
  readonly #link: HttpLink
  readonly #stream: ResponseStream
  #opening: { cancel(): void } | undefined
  /** Whether the server has named the address for messages. */
  isAddressed = false

  constructor(session: HttpSession, link: HttpLink) {
    this.#session = session
    this.#link = link
    this.#stream = new ResponseStream(session, link, this)
  }

  open(): void {
    if (this.#link.isClosed) return
    this.#wait()
    // To listen is to read.
    this.#stream.open({ retry: { delayMs: this.#session.target.reconnectMs, isRepeatable: true } })
  }

  read(on: boolean): void {
    this.#stream.read(on)
  }

  stop(): void {
    this.#opening?.cancel()
    this.#stream.stop()
  }

  onBegin(): void {
    // The address for messages may be relative.
    this.#session.url = this.#stream.url
  }

  onMessage(message: Line | LongLine): void {
    this.#link.unasked(message)
  }

  onEvent(type: string, data: Line): void {
    if (type === 'endpoint' && !this.isAddressed) this.#address(data.toString('utf8').trim())
  }

  onOversize(id: RequestId | undefined, bytes: number, isCall: boolean): void {
    this.#link.oversize(id, bytes, isCall)
  }

  onEnd(error?: Error): void {
    this.#link.end(incomplete('the event stream has ended, and the session with it', error))
  }

  onRefusal(answer: HttpAnswer, body?: string): void {
    const { target } = this.#session
    const { status } = answer
    this.#opening?.cancel()
    if (body === undefined && status < 300)
      return readExcerpt(answer, target.limits.excerptBytesMax, (text) => this.onRefusal(answer, text))
    this.#link.refusedOlder()
    if (status < 400 && status >= 300)
      return this.#link.end(redirected(target, status, answer.get('location')))
    const said = { status, body: target.redactor.beginning(body ?? '') }
    this.#link.end(status < 300 ? notAMessage(target, mediaType(answer), said) : refused(target, said))
  }

  onTrouble(trouble: HttpTrouble): void {
    this.#opening?.cancel()
    if (trouble.status !== undefined) this.#link.refusedOlder()
    this.#link.end(trouble.error ?? unreachable(this.#session.target, trouble))
  }

  /** The renewal of a credential, and the time before another attempt, have separate limits. */
  #wait(): void {
    const { timers, limits } = this.#session.target
    this.#opening = timers.setTimer(limits.acceptMs, () => {
      if (this.#stream.isHeld) return this.#wait()
      this.#link.end(failure('TRANSPORT_TIMEOUT', `no event stream within ${limits.acceptMs} ms`))
    })
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
    this.isAddressed = true
    this.#link.addressed()
  }
}
