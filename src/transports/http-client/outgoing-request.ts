// One HTTP request of a session, until there is a response to it or none will come.
//
// A redirect within the origin is followed, and a request whose credential was refused is made once more where
// there may be a better one: neither got to the server behind. The response to the last request counts.

import { TransportError } from '../../jsonrpc/jsonrpc-errors.js'
import { type HttpAnswer, type ClientSocket, type ClientSocketUser, socketTrouble } from '../http1/client.js'
import { discard, mediaType } from './answer.js'
import { paused, takenBack, type HttpTrouble } from './failure.js'
import type { Credential, CredentialVerdict } from './options.js'
import type { HttpAsk, HttpSession } from './session.js'

/** Exactly one of the two is called, unless the request is cancelled. */
export interface RequestHandler {
  /** Whether its credential was renewed already, by this request or by one before it. */
  isRenewed?: boolean
  /** The response is not needed any more: the request is not repeated elsewhere or with another credential. */
  isAbandoned?(): boolean
  responded(answer: HttpAnswer): void
  troubled(trouble: HttpTrouble): void
  /** The system has taken the whole request. */
  sent?(): void
}

/** A request that is on its way. */
export class OutgoingRequest implements ClientSocketUser {
  /** The address that the response comes from. */
  url: URL
  readonly #session: HttpSession
  readonly #ask: HttpAsk
  readonly #handler: RequestHandler
  /** The credential that it was sent with, if credentials may change. */
  #credential: Credential | undefined
  #channel: ClientSocket | undefined
  /** Earlier responses, whose bodies may still come. */
  readonly #discarded: HttpAnswer[] = []
  #connecting: { cancel(): void } | undefined
  /** Until a pause is over that the server has asked for meanwhile. */
  #pausing: { cancel(): void } | undefined
  #startedAt = 0
  #redirects = 0
  #isHeld = false
  #hasTriedOther = false
  #settled = false
  #cancelled = false

  /** Sends the request; it can be cancelled from now on. */
  constructor(session: HttpSession, ask: HttpAsk, handler: RequestHandler) {
    this.#session = session
    this.#ask = ask
    this.#handler = handler
    this.url = ask.url
    this.#begin()
  }

  /** Whether the request waits for a credential. */
  get isHeld(): boolean {
    return this.#isHeld
  }

  /** Tells nothing any more and drops the connection. */
  cancel(): void {
    this.#settled = true
    this.#cancelled = true
    this.#connecting?.cancel()
    this.#pausing?.cancel()
    this.#session.agent.forget(this)
    this.#channel?.leave(this)
    for (const answer of this.#discarded) answer.drop()
  }

  #begin(): void {
    const { credentials, trace, timers } = this.#session.target
    if (trace !== undefined) this.#startedAt = timers.now()
    const credential = credentials?.credential({ method: this.#ask.method, url: this.url })
    if (!(credential instanceof Promise)) return this.#send(credential)
    this.#isHeld = true
    credential.then(
      (known) => this.#send(known),
      (error: unknown) => this.#failed(asTransportError(error)),
    )
  }

  /** The same once more, and not before the time of a `Retry-After`. */
  #again(): void {
    const { pause, patienceMs, timers } = this.#session.target
    const { leftMs } = pause
    if (this.#handler.isAbandoned?.() === true) return this.#failed(takenBack())
    if (leftMs === 0) return this.#begin()
    if (leftMs > patienceMs) return this.#failed(paused(this.#session.target))
    this.#isHeld = true
    this.#pausing = timers.setTimer(leftMs, () => this.#again())
  }

  #send(credential: Credential | undefined): void {
    if (this.#settled) return
    const { agent } = this.#session
    this.#isHeld = false
    this.#credential = credential
    this.#channel = undefined
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
    this.#connecting = timers.setTimer(limits.connectMs, () => channel.close(late))
  }

  connected(): void {
    this.#connecting?.cancel()
  }

  sent(): void {
    if (!this.#cancelled) this.#handler.sent?.()
  }

  responded(answer: HttpAnswer): void {
    if (this.#settled) return
    this.#connecting?.cancel()
    if (this.#session.target.trace !== undefined) this.#traceAnswer(answer)
    this.#session.learnCookies(answer, this.url)
    const { redirectsMax } = this.#session.target.limits
    const to = this.#session.redirect(answer, this.#ask.method, this.url)
    if (to !== undefined && ++this.#redirects <= redirectsMax) {
      this.#discard(answer)
      this.url = to
      // Later POSTs go to the new address directly.
      if (this.#ask.method === 'POST') this.#session.url = to
      return this.#again()
    }
    const verdict = this.#verdictOn(answer)
    if (verdict === undefined) return this.#settle(answer)
    this.#isHeld = true
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
    if (credentials === undefined || this.#handler.isRenewed === true || (status !== 401 && status !== 403))
      return undefined
    this.#handler.isRenewed = true
    const challenges = answer.all('www-authenticate')
    return credentials.refused(this.#credential, { status, challenges, rpc: this.#ask.rpc })
  }

  #renew(answer: HttpAnswer, said: CredentialVerdict): void {
    if (this.#settled) return
    this.#isHeld = false
    if (said === undefined) this.#settle(answer)
    else this.#discard(answer)
    answer.read(true)
    // A credential that was there before does not count as renewed, once.
    if (said === 'other' && !this.#hasTriedOther) {
      this.#hasTriedOther = true
      this.#handler.isRenewed = false
    }
    if (said === 'again' || said === 'other') this.#again()
    else if (said !== undefined) this.#failed(said, answer.status)
  }

  #discard(answer: HttpAnswer): void {
    this.#discarded.push(answer)
    discard(answer, this.#session.target.limits.excerptBytesMax)
  }

  #settle(answer: HttpAnswer): void {
    this.#settled = true
    this.#handler.responded(answer)
  }

  /** Credentials that are not there will not be there in a second either. */
  #failed(error: TransportError, status?: number): void {
    const about = status === undefined ? {} : { status }
    this.#trouble({ what: error.message, remedy: undefined, lasts: true, neverSent: true, error, ...about })
  }

  #trouble(trouble: HttpTrouble): void {
    if (this.#settled) return
    this.#settled = true
    this.#isHeld = false
    this.#connecting?.cancel()
    this.#trace(trouble.what)
    this.#handler.troubled(trouble)
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

/**
 * Ends a session at the server (MCP, Transports: session management).
 *
 * Resolves with the response or after a limit; a server may refuse the request (405).
 */
export function deleteSession(session: HttpSession): Promise<void> {
  const { timers, limits } = session.target
  if (session.id === undefined) return Promise.resolve()
  return new Promise((resolve) => {
    const done = (): void => {
      timer.cancel()
      resolve()
    }
    const ask = { method: 'DELETE', url: session.url, accept: '*/*' } as const
    const request = new OutgoingRequest(session, ask, {
      responded: (answer) => {
        discard(answer, limits.excerptBytesMax)
        done()
      },
      troubled: done,
    })
    const timer = timers.setTimer(limits.closeMs, () => {
      request.cancel()
      resolve()
    })
  })
}
