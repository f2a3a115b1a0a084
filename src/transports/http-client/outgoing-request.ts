// One HTTP request of a session, until its response arrives or it fails.
//
// The request follows redirects within the origin and renews a refused credential once. It is sent again only
// if it cannot take effect twice: no connection was made, the server did not accept it (429, or 503 with
// Retry-After), or it only reads or is an answer, of which the first counts. `retries` limits all attempts.

import { TransportError } from '../../jsonrpc/jsonrpc-errors.js'
import { type HttpAnswer, type ClientSocket, type ClientSocketUser, socketTrouble } from '../http1/client.js'
import { mayCarryTokens } from '../../text/loopback.js'
import { mediaType, readExcerpt, retryAfterMs } from './answer.js'
import { failure, unreachable } from './failure.js'
import type { Credential, CredentialVerdict } from './options.js'
import type { HttpRequestSpec, HttpSession } from './http-session.js'

/** Each attempt that is not cancelled calls exactly one of `responded`, `refused` and `failed`. */
export interface ResponseHandler {
  responded(answer: HttpAnswer): void
  /** The server has refused the request (400 and above). `body` is the beginning of the response. */
  refused(answer: HttpAnswer, body: string): void
  isAnswer?(answer: HttpAnswer, body: string): boolean
  /** There is no usable response. `status` belongs to a refusal for which the credentials returned `error`. */
  failed(error: TransportError, status?: number): void
}

export class OutgoingRequest implements ClientSocketUser {
  /** The address that answers the request. A redirect changes it. */
  url: URL
  readonly #session: HttpSession
  readonly #ask: HttpRequestSpec
  readonly #handler: ResponseHandler
  /** `held`: the request waits for its next attempt, for a credential, or for the verdict on a refusal. */
  #state: 'held' | 'sent' | 'over' = 'held'
  #credential: Credential | undefined
  #socket: ClientSocket | undefined
  /** Fires when the next attempt begins, or when the connection of this attempt is late. */
  #timer: { cancel(): void } | undefined
  #startedAt = 0
  #redirects = 0
  #retried = 0
  #verdicts = 0
  /** Two after an older credential is tried. */
  #verdictsMax = 1
  #isAbandoned = false

  constructor(session: HttpSession, ask: HttpRequestSpec, handler: ResponseHandler) {
    this.#session = session
    this.#ask = ask
    this.#handler = handler
    this.url = ask.url
    if (ask.afterMs === undefined) this.again()
    else this.#after(ask.afterMs)
  }

  /** Whether the request is not sent now, but will be. */
  get isHeld(): boolean {
    return this.#state === 'held'
  }

  /** The response is no longer needed, so the request is not sent again. */
  abandon(): void {
    this.#isAbandoned = true
  }

  /** Closes the connection, and calls the handler no more. */
  cancel(): void {
    this.#state = 'over'
    this.#timer?.cancel()
    this.#socket?.leave(this)
  }

  again(): void {
    this.#state = 'held'
    if (this.#isAbandoned) return this.#fail(failure('TRANSPORT_IO', 'it was cancelled'))
    const { credentials, trace, timers } = this.#session.target
    if (trace !== undefined) this.#startedAt = timers.now()
    const credential = credentials?.credential()
    if (!(credential instanceof Promise)) return this.#send(credential)
    credential.then(
      (found) => {
        if (this.#state === 'held') this.#send(found)
      },
      (error: unknown) => this.#fail(asTransportError(error)),
    )
  }

  /** Sends the request again later, because its response was cut. Returns false if that is not allowed. */
  retryCut(): boolean {
    return this.#retriesTrouble(false)
  }

  #after(delayMs: number): void {
    const { timers, limits } = this.#session.target
    this.#state = 'held'
    this.#timer = timers.setTimer(Math.min(delayMs, limits.retryAfterMsMax), () => this.again())
  }

  #send(credential: Credential | undefined): void {
    const { agent, target } = this.#session
    const { timers, limits } = target
    if (credential !== undefined && !mayCarryTokens(this.url))
      return void setImmediate(() => this.#fail(failure('TRANSPORT_AUTH', plainHttp)))
    this.#state = 'sent'
    this.#credential = credential
    this.#socket = undefined
    try {
      const head = this.#session.headOf(this.#ask, this.url, credential)
      const socket = agent.request(head, this.#ask.body, this)
      this.#socket = socket
      if (socket.isConnected) return
      this.#timer = timers.setTimer(limits.connectMs, () => {
        if (!socket.isConnected) socket.close(new Error(`no connection within ${limits.connectMs} ms`))
      })
    } catch (error) {
      // A header cannot be sent. The caller must return before its handler is called.
      setImmediate(() => this.failed(error))
    }
  }

  // ClientSocketUser: the result of the request.

  responded(answer: HttpAnswer): void {
    if (this.#state !== 'sent') return
    this.#timer?.cancel()
    if (this.#session.target.trace) this.#trace(`HTTP ${answer.status} ${mediaType(answer)}`.trim())
    this.#session.learnCookies(answer)
    const { redirectsMax } = this.#session.target.limits
    const to = this.#session.redirect(answer, this.#ask.method, this.url)
    if (to !== undefined && ++this.#redirects <= redirectsMax) {
      answer.drop()
      this.url = to
      // Later POSTs go to the new address directly.
      if (this.#ask.method === 'POST') this.#session.url = to
      return this.again()
    }
    const verdict = this.#verdictOn(answer)
    if (verdict === undefined) return this.#settle(answer)
    this.#state = 'held'
    answer.read(false)
    void verdict.then((said) => this.#renew(answer, said))
  }

  failed(error: unknown): void {
    if (this.#state !== 'sent') return
    this.#timer?.cancel()
    const neverSent = this.#socket?.isConnected !== true
    const trouble = socketTrouble(error)
    // A failure with a remedy lasts until a person acts.
    if (trouble.remedy === undefined && this.#retriesTrouble(neverSent)) this.#trace(trouble.message)
    else this.#fail(unreachable(this.#session.target, trouble, neverSent))
  }

  /** Asks for the verdict on a refusal; undefined if the refusal is not about a credential that may change. */
  #verdictOn(answer: HttpAnswer): Promise<CredentialVerdict> | undefined {
    const { status } = answer
    const { credentials } = this.#session.target
    if (credentials === undefined || (status !== 401 && status !== 403)) return undefined
    if (++this.#verdicts > this.#verdictsMax) return undefined
    const challenges = answer.fields.all('www-authenticate')
    return credentials.refused(this.#credential, { status, challenges, rpc: this.#ask.rpc })
  }

  #renew(answer: HttpAnswer, said: CredentialVerdict): void {
    if (this.#state !== 'held') return
    if (said === 'other') this.#verdictsMax = 2
    if (said === undefined) {
      answer.read(true)
      return this.#settle(answer)
    }
    answer.drop()
    if (said === 'again' || said === 'other') this.again()
    else this.#fail(said, answer.status)
  }

  #settle(answer: HttpAnswer): void {
    if (answer.status < 400) {
      this.#state = 'over'
      return this.#handler.responded(answer)
    }
    this.#state = 'sent'
    readExcerpt(answer, (body) => {
      if (this.#state !== 'sent') return
      if (this.#handler.isAnswer?.(answer, body) !== true && this.#retriesRefusal(answer)) return
      this.#state = 'over'
      this.#handler.refused(answer, body)
    })
  }

  #fail(error: TransportError, status?: number): void {
    if (this.#state === 'over') return
    this.#state = 'over'
    this.#trace(error.message)
    this.#handler.failed(error, status)
  }

  #retriesTrouble(neverSent: boolean): boolean {
    const { retry } = this.#ask
    if (retry === undefined || this.#isAbandoned) return false
    if (neverSent) this.#session.target.onUnreachable?.()
    return (neverSent || retry.isRepeatable) && this.#retries(retry.delayMs)
  }

  #retriesRefusal(answer: HttpAnswer): boolean {
    const { status } = answer
    const { retry } = this.#ask
    const { patienceMs, limits } = this.#session.target
    const waitMs = retryAfterMs(answer)
    const wasNotTaken = status === 429 || (status === 503 && waitMs !== undefined)
    const isPassing = status === 502 || status === 503 || status === 504
    if (retry === undefined || !(wasNotTaken || (isPassing && retry.isRepeatable))) return false
    if (waitMs !== undefined && waitMs > Math.min(patienceMs, limits.retryAfterMsMax)) return false
    return this.#retries(retry.delayMs, waitMs)
  }

  #retries(delayMs: number, waitMs?: number): boolean {
    const { retries, timers } = this.#session.target
    if (this.#isAbandoned || this.#retried >= retries) return false
    const grownMs = delayMs * 2 ** this.#retried++ * (0.8 + 0.4 * timers.random())
    this.#after(waitMs ?? grownMs)
    return true
  }

  /** Logs at level `debug`, without addresses and header fields, because both may contain credentials. */
  #trace(what: string): void {
    const { trace, timers } = this.#session.target
    if (trace === undefined) return
    const { method, rpc, body } = this.#ask
    const ms = Math.round(timers.now() - this.#startedAt)
    const bytes = body === undefined ? '' : `, ${body.length} bytes out`
    trace(`${method}${rpc === undefined ? '' : ` ${rpc}`}: ${what}${bytes}, ${ms} ms`)
  }
}

function asTransportError(error: unknown): TransportError {
  return error instanceof TransportError ? error : new TransportError('TRANSPORT_AUTH', String(error))
}

const plainHttp = 'Authentication failed: tokens are only sent over https'
