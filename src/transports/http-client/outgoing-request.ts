// One HTTP request of a session, until there is a response to it or none will come.
//
// The request follows redirects within the origin, renews a refused credential once, and is sent again where it cannot take
// effect twice: no connection was made, the server said that it had not accepted the request (429, 503 with Retry-After), or
// the request only reads, or is an answer, of which the first counts. All attempts are within `retries`, and none is made
// before the time of `Retry-After`.

import { TransportError } from '../../jsonrpc/jsonrpc-errors.js'
import { type HttpAnswer, type ClientSocket, type ClientSocketUser, socketTrouble } from '../http1/client.js'
import { discard, mediaType, readExcerpt } from './answer.js'
import { failure, paused, type HttpTrouble } from './failure.js'
import type { Credential, CredentialVerdict } from './options.js'
import { retryAfterMs } from './pause.js'
import type { HttpAsk, HttpSession } from './session.js'

/** Exactly one of `responded`, `refused` and `troubled` is called for each time that it is sent, unless it is cancelled. */
export interface RequestHandler {
  responded(answer: HttpAnswer): void
  /** The server has refused it (400 and above), and it is not sent again. Without this method `responded` gets refusals. */
  refused?(answer: HttpAnswer, body: string): void
  /** Whether a refusal is the answer that was wanted. */
  isAnswer?(answer: HttpAnswer, body: string): boolean
  troubled(trouble: HttpTrouble): void
  /** The system has taken the whole request. */
  sent?(): void
}

/** Until the next attempt, for a credential, on its way, for the verdict on a refused credential; then over. */
type State = 'waits' | 'credential' | 'sent' | 'verdict' | 'settled' | 'cancelled'

/** A request that is on its way. */
export class OutgoingRequest implements ClientSocketUser {
  /** The address that the response comes from. */
  url: URL
  /** The session that the last attempt named. */
  sessionId: string | undefined
  readonly #session: HttpSession
  readonly #ask: HttpAsk
  readonly #handler: RequestHandler
  #state: State = 'waits'
  /** The credential that it was sent with, if credentials may change. */
  #credential: Credential | undefined
  #channel: ClientSocket | undefined
  /** Earlier responses, whose bodies may still come. */
  readonly #discarded: HttpAnswer[] = []
  /** Until the next attempt begins, or until the connection of this one is late. */
  #timer: { cancel(): void } | undefined
  #startedAt = 0
  #redirects = 0
  #retried = 0
  #verdicts = 0
  /** One more once a credential is tried that was there before. */
  #verdictsMax = 1
  #isAbandoned = false

  /** Sends the request; it can be cancelled from now on. */
  constructor(session: HttpSession, ask: HttpAsk, handler: RequestHandler) {
    this.#session = session
    this.#ask = ask
    this.#handler = handler
    this.url = ask.url
    if (ask.afterMs !== undefined) this.#after(ask.afterMs)
    else if (ask.retry !== undefined) this.again()
    else this.#prove()
  }

  /** Whether it is not on its way now, but will be. */
  get isHeld(): boolean {
    return this.#state === 'waits' || this.#state === 'credential' || this.#state === 'verdict'
  }

  /** The response is not needed any more: the request is not sent again. */
  abandon(): void {
    this.#isAbandoned = true
  }

  /** Calls its handler no more and drops the connection. */
  cancel(): void {
    this.#state = 'cancelled'
    this.#timer?.cancel()
    this.#channel?.leave(this)
    for (const answer of this.#discarded) answer.drop()
  }

  /** Sends it once more, but not before the time of a `Retry-After`. */
  again(): void {
    const { target } = this.#session
    const { leftMs } = target.pause
    this.#state = 'waits'
    if (this.#isAbandoned) return this.#failed(failure('TRANSPORT_IO', 'it was taken back'))
    if (leftMs === 0) return this.#prove()
    if (leftMs <= target.patienceMs) return this.#after(leftMs)
    // Later: the caller must have returned before its handler is called.
    setImmediate(() => this.#failed(paused(target)))
  }

  /** Sends it again later, since its response was cut; false where it must not be. */
  retryCut(): boolean {
    return this.#retriesTrouble({ neverSent: false, lasts: false })
  }

  #after(delayMs: number): void {
    const { timers, limits } = this.#session.target
    this.#state = 'waits'
    this.#timer?.cancel()
    this.#timer = timers.setTimer(Math.min(delayMs, limits.retryAfterMsMax), () => this.again())
  }

  #prove(): void {
    const { credentials, trace, timers } = this.#session.target
    if (trace !== undefined) this.#startedAt = timers.now()
    const credential = credentials?.credential({ method: this.#ask.method, url: this.url })
    if (!(credential instanceof Promise)) return this.#send(credential)
    this.#state = 'credential'
    credential.then(
      (known) => {
        if (this.#state === 'credential') this.#send(known)
      },
      (error: unknown) => this.#failed(asTransportError(error)),
    )
  }

  #send(credential: Credential | undefined): void {
    const { agent, id } = this.#session
    this.#state = 'sent'
    this.#credential = credential
    this.#channel = undefined
    this.sessionId = id
    try {
      agent.request(this.#session.headOf(this.#ask, this.url, credential), this.#ask.body, this)
    } catch (error) {
      // A header cannot be sent. The caller must have returned before it is called back.
      setImmediate(() => this.failed(error))
    }
  }

  // ClientSocketUser: what becomes of the request.

  gets(channel: ClientSocket): void {
    this.#channel = channel
    if (channel.isConnected) return
    const { timers, limits } = this.#session.target
    const late = new Error(`no connection within ${limits.connectMs} ms`)
    this.#timer = timers.setTimer(limits.connectMs, () => channel.close(late))
  }

  connected(): void {
    this.#timer?.cancel()
  }

  sent(): void {
    if (this.#state !== 'cancelled') this.#handler.sent?.()
  }

  responded(answer: HttpAnswer): void {
    if (this.#state !== 'sent') return
    this.#timer?.cancel()
    if (this.#session.target.trace !== undefined) this.#traceAnswer(answer)
    this.#session.learnCookies(answer, this.url)
    const { redirectsMax } = this.#session.target.limits
    const to = this.#session.redirect(answer, this.#ask.method, this.url)
    if (to !== undefined && ++this.#redirects <= redirectsMax) {
      this.#discard(answer)
      this.url = to
      // Later POSTs go to the new address directly.
      if (this.#ask.method === 'POST') this.#session.url = to
      return this.again()
    }
    const verdict = this.#verdictOn(answer)
    if (verdict === undefined) return this.#settle(answer)
    this.#state = 'verdict'
    answer.read(false)
    void verdict.then((said) => this.#renew(answer, said))
  }

  failed(error: unknown): void {
    const neverSent = this.#channel?.isConnected !== true
    this.#trouble({ ...socketTrouble(error), neverSent })
  }

  /** The verdict on a refusal; undefined when it is not about a credential that may change. */
  #verdictOn(answer: HttpAnswer): Promise<CredentialVerdict> | undefined {
    const { status } = answer
    const { credentials } = this.#session.target
    if (credentials === undefined || (status !== 401 && status !== 403)) return undefined
    if (++this.#verdicts > this.#verdictsMax) return undefined
    const challenges = answer.all('www-authenticate')
    return credentials.refused(this.#credential, { status, challenges, rpc: this.#ask.rpc })
  }

  #renew(answer: HttpAnswer, said: CredentialVerdict): void {
    if (this.#state !== 'verdict') return
    if (said === 'other') this.#verdictsMax = 2
    answer.read(true)
    if (said === undefined) return this.#settle(answer)
    this.#discard(answer)
    if (said === 'again' || said === 'other') this.again()
    else this.#failed(said, answer.status)
  }

  #discard(answer: HttpAnswer): void {
    this.#discarded.push(answer)
    discard(answer, this.#session.target.limits.excerptBytesMax)
  }

  #settle(answer: HttpAnswer): void {
    const isRefusal = answer.status >= 400 && this.#handler.refused !== undefined
    this.#state = isRefusal ? 'sent' : 'settled'
    if (!isRefusal) return this.#handler.responded(answer)
    readExcerpt(answer, this.#session.target.limits.excerptBytesMax, (body) => this.#refused(answer, body))
  }

  #refused(answer: HttpAnswer, body: string): void {
    if (this.#state !== 'sent') return
    if (this.#handler.isAnswer?.(answer, body) !== true) {
      this.#session.target.pause.learn(answer)
      if (this.#retriesRefusal(answer)) return
    }
    this.#state = 'settled'
    this.#handler.refused?.(answer, body)
  }

  /** Credentials that are not there will not be there in a second either. */
  #failed(error: TransportError, status?: number): void {
    const about = status === undefined ? {} : { status }
    this.#trouble({ what: error.message, remedy: undefined, lasts: true, neverSent: true, error, ...about })
  }

  #trouble(trouble: HttpTrouble): void {
    if (this.#state === 'settled' || this.#state === 'cancelled') return
    this.#timer?.cancel()
    this.#trace(trouble.what)
    if (this.#retriesTrouble(trouble)) return
    this.#state = 'settled'
    this.#handler.troubled(trouble)
  }

  #retriesTrouble({ neverSent, lasts }: Pick<HttpTrouble, 'neverSent' | 'lasts'>): boolean {
    const { retry } = this.#ask
    if (lasts || retry === undefined || this.#isAbandoned) return false
    if (neverSent) this.#session.target.onUnreachable?.()
    return (neverSent || retry.isRepeatable) && this.#retry(retry.delayMs)
  }

  #retriesRefusal(answer: HttpAnswer): boolean {
    const { status } = answer
    const { retry } = this.#ask
    const { patienceMs, limits, timers } = this.#session.target
    const waitMs = retryAfterMs(answer, timers)
    const wasNotTaken = status === 429 || (status === 503 && waitMs !== undefined)
    const isPassing = status === 502 || status === 503 || status === 504
    if (retry === undefined || !(wasNotTaken || (isPassing && retry.isRepeatable))) return false
    if (wasNotTaken && waitMs !== undefined && waitMs > Math.min(patienceMs, limits.retryAfterMsMax))
      return false
    return this.#retry(retry.delayMs, waitMs)
  }

  #retry(delayMs: number, waitMs?: number): boolean {
    const { retries, timers } = this.#session.target
    if (this.#isAbandoned || this.#retried >= retries) return false
    const grownMs = delayMs * 2 ** this.#retried++ * (0.8 + 0.4 * timers.random())
    this.#after(waitMs ?? grownMs)
    return true
  }

  #traceAnswer(answer: HttpAnswer): void {
    const type = mediaType(answer)
    const head = `HTTP ${answer.status}${type === '' ? '' : ` ${type}`}`
    const bytesOut = this.#ask.body?.length ?? 0
    // A stream may go on for hours.
    if (type === 'text/event-stream') this.#trace(`${head}, begins`)
    answer.whenClosed(() => this.#trace(`${head}, ${bytesOut} bytes out, ${answer.bytes} bytes in`))
  }

  /** A line at level `debug`. It has no address and no header field, because both may hold credentials. */
  #trace(what: string): void {
    const { trace, timers } = this.#session.target
    const { method, rpc } = this.#ask
    const ms = Math.round(timers.now() - this.#startedAt)
    trace?.(`${method}${rpc === undefined ? '' : ` ${rpc}`}: ${what}, ${ms} ms`)
  }
}

function asTransportError(error: unknown): TransportError {
  return error instanceof TransportError ? error : new TransportError('TRANSPORT_AUTH', String(error))
}
