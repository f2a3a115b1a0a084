// One HTTP request and the head of its response.

import type { TransportError } from '../../jsonrpc/errors.js'
import type { AgentUser, HttpAgent, RequestPlace } from './agent.js'
import type { HttpAnswer } from './answer.js'
import type { Channel } from './channel.js'
import type { Credential } from './credentials.js'
import type { HttpTimers } from './options.js'
import { type SocketTrouble, socketTrouble } from './trouble.js'

/** Why there is no response. */
export interface HttpTrouble extends SocketTrouble {
  /** No byte of the request can have reached the server. */
  readonly neverSent: boolean
  /** There was no request, since its credentials cannot be had. */
  readonly error?: TransportError
}

/** Exactly one of the two is called, unless the exchange is cancelled. */
export interface ExchangeHandler {
  responded(answer: HttpAnswer): void
  troubled(trouble: HttpTrouble): void
  /** The system has taken the whole request. */
  sent?(): void
}

/** A request that is on its way. */
export class HttpExchange implements AgentUser {
  /** What it was sent with, where that may change. */
  credential: Credential | undefined
  readonly #handler: ExchangeHandler
  readonly #timers: HttpTimers
  readonly #connectMs: number
  #agent: HttpAgent | undefined
  #channel: Channel | undefined
  #connecting: { cancel(): void } | undefined
  #settled = false
  #cancelled = false

  constructor(handler: ExchangeHandler, timers: HttpTimers, connectMs: number) {
    this.#handler = handler
    this.#timers = timers
    this.#connectMs = connectMs
  }

  start(agent: HttpAgent, to: RequestPlace, body: Uint8Array | undefined): void {
    if (this.#settled) return
    this.#agent = agent
    try {
      agent.request(to, body, this)
    } catch (error) {
      // A header that cannot be sent; whoever sends is not ready yet to hear of it.
      setImmediate(() => this.#trouble(error))
    }
  }

  /** Fails before there is a request. */
  fail(error: TransportError): void {
    // Credentials that are not there will not be there in a second either.
    const trouble = { what: error.message, remedy: undefined, lasts: true, neverSent: true, error }
    if (this.#settles()) this.#handler.troubled(trouble)
  }

  /** Tells nothing any more and drops the connection. */
  cancel(): void {
    this.#settled = true
    this.#cancelled = true
    this.#connecting?.cancel()
    this.#agent?.forget(this)
    this.#channel?.leave(this)
  }

  // AgentUser: what becomes of the request.

  gets(channel: Channel): void {
    this.#channel = channel
    if (channel.isConnected) return
    const late = new Error(`no connection within ${this.#connectMs} ms`)
    this.#connecting = this.#timers.setTimer(this.#connectMs, () => channel.close(late))
  }

  connected(): void {
    this.#connecting?.cancel()
  }

  sent(): void {
    if (!this.#cancelled) this.#handler.sent?.()
  }

  responded(answer: HttpAnswer): void {
    if (this.#settles()) this.#handler.responded(answer)
  }

  failed(error: Error): void {
    this.#trouble(error)
  }

  #trouble(error: unknown): void {
    const neverSent = this.#channel?.isConnected !== true
    if (this.#settles()) this.#handler.troubled({ ...socketTrouble(error), neverSent })
  }

  /** Whether this is the first to be told of. */
  #settles(): boolean {
    if (this.#settled) return false
    this.#settled = true
    this.#connecting?.cancel()
    return true
  }
}
