// Why a connection to a server ended: the first known reason is kept.

import type { TransportError } from '../../jsonrpc/errors.js'
import type { Dialed, DialEnd } from '../contracts/dial.js'
import { UpstreamError, fromTransport } from '../contracts/errors.js'
import type { Runtime } from '../../runtime/runtime.js'
import { within } from '../../runtime/within.js'

export interface EndingParts {
  readonly service: string
  readonly dialed: Dialed
  readonly runtime: Runtime
  /** How long the end of a connection waits for the exit that explains it. */
  readonly exitWaitMs: number
}

/** The end of one connection, and its error, which is made when it is first needed. */
export class Ending {
  readonly #parts: EndingParts
  #end: DialEnd | undefined
  #isForgotten = false
  #isStopped = false

  constructor(parts: EndingParts) {
    this.#parts = parts
  }

  get known(): boolean {
    return this.#end !== undefined
  }

  /** As an error for whoever asks. */
  get failure(): UpstreamError {
    const { service } = this.#parts
    const { reason, message, details } = this.#end ?? {
      reason: 'closed',
      message: `'${service}' closed its connection`,
    }
    return new UpstreamError(service, reason, message, { details })
  }

  /** The server has forgotten the session, which says nothing of its health. */
  get isForgotten(): boolean {
    return this.#isForgotten
  }

  /** In a session that is forgotten, and while the server is being stopped, what was asked before may still come to its end. */
  get isHeard(): boolean {
    return !this.known || this.#isForgotten || this.#isStopped
  }

  /** Whether the proxy has ended it, before it ended otherwise. */
  get isStopped(): boolean {
    return this.#isStopped
  }

  because(end: DialEnd): void {
    this.#end ??= end
  }

  forgotten(error: TransportError): void {
    this.#isForgotten ||= !this.known
    this.because(fromTransport(this.#parts.service, error))
  }

  /** `why` is what the calls in flight are told where the server comes back. */
  stopped(why: string | undefined): void {
    const { service } = this.#parts
    this.#isStopped ||= !this.known
    if (why === undefined) this.because({ reason: 'shutting-down', message: `'${service}' is being stopped` })
    else this.because({ reason: 'closed', message: `'${service}' is being restarted: ${why}` })
  }

  /** Waits for the exit that explains the end of the connection, but not for long, and not past `deadline`. */
  async explained(deadline: number = Infinity): Promise<void> {
    const { dialed, exitWaitMs, runtime } = this.#parts
    const leftMs = Math.max(0, deadline - runtime.now())
    if (this.#end === undefined) await within(dialed.ended, Math.min(exitWaitMs, leftMs), runtime)
  }
}
