// One HTTP request and the head of its response.

import type { ClientRequest, IncomingMessage, RequestOptions } from 'node:http'
import type { TransportError } from '../../jsonrpc/errors.js'
import type { HttpAgent } from './agent.js'
import type { CredentialHeader, HttpTimers } from './options.js'

/** Why there is no response. */
export interface HttpTrouble {
  /** No byte of the request can have reached the server. */
  readonly neverSent: boolean
  /** In words, with the system's code where it has one. */
  readonly what: string
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

  start(agent: HttpAgent, options: RequestOptions, body: Uint8Array | undefined): void {
    if (this.#settled) return
    try {
      const request = agent.request(options)
      this.#request = request
      request.once('socket', () => this.#watchConnect(request, agent.isTls))
      request.once('response', (response) => this.#respond(response))
      // Errors after the response are the response's as well; here they only must not be unheard.
      request.on('error', (error) => this.#trouble(error))
      if (this.#handler.sent !== undefined) request.once('finish', () => this.#handler.sent?.())
      request.end(body)
    } catch (error) {
      // A header that cannot be sent; whoever sends is not ready yet to hear of it.
      setImmediate(() => this.#trouble(error))
    }
  }

  /** Fails before there is a request. */
  fail(error: TransportError): void {
    this.#settle(() => this.#handler.troubled({ neverSent: true, what: error.message, error }))
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
    this.#settle(() => this.#handler.responded(response))
  }

  #trouble(error: unknown): void {
    this.#settle(() => this.#handler.troubled({ neverSent: !this.#connected, what: whatHappened(error) }))
  }

  #settle(tell: () => void): void {
    if (this.#settled) return
    this.#settled = true
    this.#connecting?.cancel()
    tell()
  }
}

const words: ReadonlyMap<string, string> = new Map([
  ['ECONNREFUSED', 'the connection was refused'],
  ['ENOTFOUND', 'the host name is not known'],
  ['EAI_AGAIN', 'the host name could not be looked up'],
  ['ECONNRESET', 'the connection was cut before an answer'],
  ['EPIPE', 'the connection was cut before an answer'],
  ['EHOSTUNREACH', 'the host is unreachable'],
  ['ENETUNREACH', 'the network is unreachable'],
  ['ETIMEDOUT', 'the connection timed out'],
])

/** An error of a socket in words; addresses of many attempts come as one AggregateError. */
function whatHappened(error: unknown): string {
  const first: unknown = error instanceof AggregateError ? error.errors[0] : error
  if (!(first instanceof Error)) return String(first)
  const code = 'code' in first ? String(first.code) : ''
  const known = words.get(code)
  return known === undefined ? first.message : `${known} (${code})`
}
