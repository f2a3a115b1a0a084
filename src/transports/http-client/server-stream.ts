// The stream on which a server speaks unasked.
//
// MCP, Transports, Streamable HTTP: listening for messages from the server. This standalone stream is opened again after each end.
// A server may have none (405), and calls continue without it.
//
// MCP 2024-11-05, Transports, HTTP with SSE: the only stream of an older server. The first event names the address for messages,
// and the end of the stream is the end of the session.

import type { Line } from '../../jsonrpc/line.js'
import type { LongLine } from '../../jsonrpc/fast/long-line.js'
import type { RequestId } from '../../jsonrpc/request-id.js'
import { resolvedAddress } from '../address.js'
import type { HttpAnswer } from '../http1/client.js'
import { readExcerpt } from './answer.js'
import { type HttpTrouble, failure, incomplete, noAnswer, unreachable } from './failure.js'
import type { HttpLink } from './link.js'
import { retryAfterMs } from './pause.js'
import { ResponseStream, type StreamReader } from './response-stream.js'
import type { HttpSession } from './session.js'

/** The standalone stream of a server, or the one of an older server. */
export class ServerStream implements StreamReader {
  /** Whether it is the stream of an older server, on which all answers come. */
  readonly isOlder: boolean
  readonly #session: HttpSession
  readonly #link: HttpLink
  readonly #stream: ResponseStream
  /** `missing`: the server has refused it. */
  #state: 'closed' | 'open' | 'missing' | 'stopped' = 'closed'
  #hasAddress: boolean
  /** Until an older server must have named the address for messages. */
  #timer: { cancel(): void } | undefined
  #openedAt = 0
  #failures = 0

  constructor(session: HttpSession, link: HttpLink, isOlder: boolean) {
    this.isOlder = isOlder
    this.#session = session
    this.#link = link
    this.#hasAddress = !isOlder
    this.#stream = new ResponseStream(session, link, this)
  }

  /** Whether the server has the standalone stream, as far as is known. */
  get isStandalone(): boolean {
    return !this.isOlder && this.#state === 'open'
  }

  /** Whether messages can be sent: an older server has to name the address for them. */
  get hasAddress(): boolean {
    return this.#hasAddress
  }

  open(afterMs?: number): void {
    if (this.#state === 'stopped') return
    const { timers, reconnectMs } = this.#session.target
    this.#state = 'open'
    this.#openedAt = timers.now() + (afterMs ?? 0)
    if (this.isOlder) this.#awaitAddress()
    // To listen is to read.
    this.#stream.open(this.isOlder ? { retry: { delayMs: reconnectMs, isRepeatable: true } } : { afterMs })
  }

  read(on: boolean): void {
    this.#stream.read(on)
  }

  stop(): void {
    this.#state = 'stopped'
    this.#timer?.cancel()
    this.#stream.stop()
  }

  onBegin(): void {
    // The address for messages may be relative.
    if (this.isOlder) this.#session.url = this.#stream.url
    // Messages before this moment may be lost, unless the server repeats the events after the last one that was seen.
    else if (this.#stream.lastEventId === undefined) this.#link.missed()
  }

  onMessage(message: Line | LongLine): void {
    this.#link.unasked(message)
  }

  onEvent(type: string, data: Line): void {
    if (type === 'endpoint' && !this.#hasAddress) this.#address(data.toString('utf8').trim())
  }

  onOversize(id: RequestId | undefined, bytes: number, isCall: boolean): void {
    this.#link.oversize(id, bytes, isCall)
  }

  onEnd(error?: Error): void {
    if (!this.isOlder) return this.#again(incomplete('it ended', error).message)
    this.#link.end(incomplete('the event stream has ended, and the session with it', error))
  }

  onRefusal(answer: HttpAnswer, body?: string): void {
    if (this.isOlder) return this.#isNotOlder(answer, body)
    const { status } = answer
    answer.drop()
    if (status === 404 && this.#session.id !== undefined && this.#stream.hasBegun) return this.#link.forget()
    // 409: our last stream is not forgotten yet; 429 and 5xx pass as well.
    if (status === 409 || status === 429 || status >= 500)
      return this.#again(`HTTP ${status}`, retryAfterMs(answer, this.#session.target.timers))
    this.#isMissing(status)
  }

  onTrouble(trouble: HttpTrouble): void {
    const { what, status, error } = trouble
    if (!this.isOlder) return status === undefined ? this.#again(what) : this.#isMissing(status)
    if (status !== undefined) this.#link.refusedOlder()
    this.#link.end(error ?? unreachable(this.#session.target, trouble))
  }

  #isMissing(status: number): void {
    this.#state = 'missing'
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

  /** The renewal of a credential, and the time before another attempt, have separate limits. */
  #awaitAddress(): void {
    const { timers, limits } = this.#session.target
    this.#timer = timers.setTimer(limits.acceptMs, () => {
      if (this.#stream.isHeld) return this.#awaitAddress()
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
    this.#timer?.cancel()
    this.#session.url = url
    this.#hasAddress = true
    this.#link.addressed()
  }

  #isNotOlder(answer: HttpAnswer, body: string | undefined): void {
    const { target } = this.#session
    if (body === undefined)
      return readExcerpt(answer, target.limits.excerptBytesMax, (text) => this.#isNotOlder(answer, text))
    this.#link.refusedOlder()
    this.#link.end(noAnswer(target, answer, body))
  }
}
