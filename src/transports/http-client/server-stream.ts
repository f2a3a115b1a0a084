// The stream on which a server sends unsolicited messages.
//
// MCP, Transports, Streamable HTTP: listening for messages from the server. The proxy opens this standalone
// stream again after each end. A server may have no such stream (405), and calls continue without it.
//
// MCP 2024-11-05, Transports, HTTP with SSE: the only stream of an older server. Its first event names the
// address for messages, and its end is the end of the session.

import type { Line } from '../../jsonrpc/line.js'
import type { LongLine } from '../../jsonrpc/long-line.js'
import type { RequestId } from '../../jsonrpc/request-id.js'
import { resolvedAddress } from '../address.js'
import { failure, noAnswer } from './failure.js'
import type { HttpLink } from './link.js'
import { ResponseStream, type StreamCut, type StreamOwner } from './response-stream.js'
import type { HttpSession } from './http-session.js'

export class ServerStream implements StreamOwner {
  /** Whether this is the stream of an older server, which carries all answers. */
  readonly isOlder: boolean
  readonly #session: HttpSession
  readonly #link: HttpLink
  readonly #stream: ResponseStream
  /** Whether the server has the standalone stream, as far as the proxy knows. */
  isStandalone = false
  /** Whether messages can be sent. An older server must name the address for them first. */
  hasAddress: boolean
  /** Fires if an older server names no address for messages in time. */
  #timer: { cancel(): void } | undefined

  constructor(session: HttpSession, link: HttpLink, isOlder: boolean) {
    this.isOlder = isOlder
    this.#session = session
    this.#link = link
    this.hasAddress = !isOlder
    const retry = { delayMs: session.target.reconnectMs, isRepeatable: true }
    this.#stream = new ResponseStream(session, link, this, isOlder ? retry : undefined)
  }

  open(): void {
    this.isStandalone = !this.isOlder
    if (this.isOlder) this.#awaitAddress()
    this.#stream.open()
  }

  read(on: boolean): void {
    this.#stream.read(on)
  }

  stop(): void {
    this.isStandalone = false
    this.#timer?.cancel()
    this.#stream.stop()
  }

  onBegin(): void {
    // The address for messages may be relative.
    if (this.isOlder) this.#session.url = this.#stream.url
    // Earlier messages may be lost, unless the server repeats the events after the last received one.
    else if (this.#stream.lastEventId === undefined) this.#link.missed()
  }

  onMessage(message: Line | LongLine): void {
    this.#link.onUnsolicited(message)
  }

  onEvent(type: string, data: Line): void {
    if (type === 'endpoint' && !this.hasAddress) this.#address(data.toString('utf8').trim())
  }

  onOversize(id: RequestId | undefined, bytes: number, isCall: boolean): void {
    this.#link.oversize(id, bytes, isCall)
  }

  onCut(cut: StreamCut): void {
    const { what, isPassing, status, error, refusal } = cut
    const { target, id } = this.#session
    if (this.isOlder) {
      if (status !== undefined) this.#link.refusedOlder()
      if (refusal !== undefined) return this.#link.end(noAnswer(target, refusal.answer, refusal.body))
      return this.#link.end(
        error ?? failure('TRANSPORT_IO', 'the event stream has ended, and the session with it'),
      )
    }
    if (status === 404 && id !== undefined && this.#stream.hasBegun) return this.#link.forget()
    this.isStandalone = isPassing
    if (isPassing) {
      const delayMs = this.#stream.reopen(cut)
      target.log('debug', `the stream of the server: ${what}; again in ${Math.round(delayMs)} ms`)
    } else if (status !== 405) target.log('debug', `the server offers no stream of its own (HTTP ${status})`)
  }

  /** The renewal of a credential, and the delay before another attempt, have separate limits. */
  #awaitAddress(): void {
    const { timers, limits } = this.#session.target
    this.#timer = timers.setTimer(limits.acceptMs, () => {
      if (this.#stream.isHeld) return this.#awaitAddress()
      this.#link.end(failure('TRANSPORT_TIMEOUT', `no event stream within ${limits.acceptMs} ms`))
    })
  }

  /** Another origin would get the proxy's credentials. */
  #address(address: string): void {
    const base = this.#session.url
    const url = resolvedAddress(address, base)
    if (url?.origin !== base.origin) {
      const where = url === undefined ? 'an invalid address' : `an address at ${url.origin}`
      return this.#link.end(failure('TRANSPORT_ANSWER', `it names ${where} for messages, which is refused`))
    }
    this.#timer?.cancel()
    this.#session.url = url
    this.hasAddress = true
    this.#link.addressed()
  }
}
