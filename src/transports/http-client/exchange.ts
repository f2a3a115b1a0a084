// One HTTP request and the head of its response.

import type { ClientRequest, IncomingMessage } from 'node:http'
import type { TransportError } from '../../jsonrpc/errors.js'
import { endWith } from '../end-with.js'
import type { HttpAgent, RequestPlace } from './agent.js'
import type { CredentialHeader, HttpTimers } from './options.js'
import { type SocketTrouble, socketTrouble } from './trouble.js'

/** Why there is no response. */
export interface HttpTrouble extends SocketTrouble {
  /** No byte of the request can have reached the server. */
  readonly neverSent: boolean
  /** There was no request, since its credentials cannot be had. */
  readonly error?: TransportError
}

/** Exactly one of the two is told, unless the exchange is cancelled. */
export interface ExchangeHandler {
  responded(response: IncomingMessage): void
  troubled(trouble: HttpTrouble): void
  /** The system has taken the whole request. */
  sent?(): void
}

const unanswered = new Error('the connection was closed without an answer')

/** A request that is on its way. */
export class HttpExchange {
  /** What it was sent with, where that may change. */
  credential: CredentialHeader | undefined
  readonly #handler: ExchangeHandler
  readonly #timers: HttpTimers
  readonly #connectMs: number
  #request: ClientRequest | undefined
  #connecting: { cancel(): void } | undefined
  #connected = false
  #settled = false

  constructor(handler: ExchangeHandler, timers: HttpTimers, connectMs: number) {
    this.#handler = handler
    this.#timers = timers
    this.#connectMs = connectMs
  }

  start(agent: HttpAgent, to: RequestPlace, body: Uint8Array | undefined): void {
    if (this.#settled) return
    try {
      const request = agent.request(to)
      this.#request = request
      // Each comes once: `once` would cost a function more.
      request.on('socket', () => this.#watchConnect(request, agent.isTls))
      request.on('response', (response) => this.#respond(response))
      // Errors after the response are the response's as well; here they only must not be unheard.
      request.on('error', (error) => this.#trouble(error))
      // An answer that switches protocols ends in nothing else.
      request.on('close', () => this.#trouble(unanswered))
      if (this.#handler.sent !== undefined) request.on('finish', () => this.#handler.sent?.())
      endWith(request, body)
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

  /** Tells nothing any more and drops the socket. */
  cancel(): void {
    this.#settled = true
    this.#connecting?.cancel()
    this.#request?.destroy()
  }

  #watchConnect(request: ClientRequest, isTls: boolean): void {
    const { socket } = request
    if (request.reusedSocket || socket === null || (!isTls && !socket.connecting)) {
      this.#connected = true
      return
    }
    const late = new Error(`no connection within ${this.#connectMs} ms`)
    this.#connecting = this.#timers.setTimer(this.#connectMs, () => request.destroy(late))
    socket.once(isTls ? 'secureConnect' : 'connect', () => {
      this.#connected = true
      this.#connecting?.cancel()
    })
  }

  #respond(response: IncomingMessage): void {
    if (this.#settles()) this.#handler.responded(response)
  }

  #trouble(error: unknown): void {
    const neverSent = !this.#connected
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
