// Why a connection to a server ended: the first known reason is kept.
//
// A server that is being stopped has a while of its own before it is told by a signal, and what it answers until then
// is heard. One that is to come back and answers nothing is stuck: those who wait for it, or for a slot of it, are
// better off with its successor.

import type { TransportError } from '../../jsonrpc/errors.js'
import type { Dialed, DialEnd } from '../contracts/dial.js'
import { UpstreamError, fromTransport } from '../contracts/errors.js'
import type { Timer } from '../../runtime/runtime.js'
import { within } from '../../runtime/within.js'
import type { ServerParts } from './pool-parts.js'

type EndState =
  | { readonly kind: 'open' }
  /** By itself; because the server has forgotten the session; because the proxy has stopped it. */
  | { readonly kind: 'ended' | 'forgotten' | 'stopped'; readonly end: DialEnd }

/** The end of one connection, and its error, which is made when it is first needed. */
export class Ending {
  readonly #dialed: Dialed
  readonly #parts: ServerParts
  #state: EndState = { kind: 'open' }
  /** Runs out when no further answer of a stopping server is waited for. */
  #lastAnswers: Timer | undefined

  constructor(dialed: Dialed, parts: ServerParts) {
    this.#dialed = dialed
    this.#parts = parts
  }

  get isKnown(): boolean {
    return this.#state.kind !== 'open'
  }

  /** As an error for whoever asks. */
  get failure(): UpstreamError {
    const { service } = this.#parts
    const closed = { reason: 'closed', message: `'${service}' closed its connection` } as const
    const { reason, message, details }: DialEnd = this.#state.kind === 'open' ? closed : this.#state.end
    return new UpstreamError(service, reason, message, { details })
  }

  /** The server has forgotten the session, which says nothing of its health. */
  get isForgotten(): boolean {
    return this.#state.kind === 'forgotten'
  }

  /** In a session that is forgotten, and while the server is being stopped, what was asked before may still come to its end. */
  get isHeard(): boolean {
    return this.#state.kind !== 'ended'
  }

  /** Whether it has ended by itself. */
  get isEnded(): boolean {
    return this.#state.kind === 'ended'
  }

  /** Whether the proxy has ended it, before it ended otherwise. */
  get isStopped(): boolean {
    return this.#state.kind === 'stopped'
  }

  because(end: DialEnd): void {
    this.#first('ended', end)
  }

  forgotten(error: TransportError): void {
    this.#first('forgotten', fromTransport(this.#parts.service, error))
  }

  /** `why` is what the calls in flight are told where the server comes back. */
  stopped(why: string | undefined): void {
    const { service } = this.#parts
    const end: DialEnd =
      why === undefined
        ? { reason: 'shutting-down', message: `'${service}' is being stopped` }
        : { reason: 'closed', message: `'${service}' is being restarted: ${why}` }
    this.#first('stopped', end)
  }

  #first(kind: 'ended' | 'forgotten' | 'stopped', end: DialEnd): void {
    if (this.#state.kind === 'open') this.#state = { kind, end }
  }

  /** Calls `over` when the calls in flight on a server that was told to stop wait no longer; `answers` says how many have come. */
  awaitAnswers(comesBack: boolean, answers: () => number, over: () => void): void {
    if (this.#lastAnswers !== undefined) return
    const { limits, runtime } = this.#parts
    const ownMs = limits.ladder.stdinWaitMs
    const before = answers()
    const firstMs = comesBack ? Math.min(limits.ndjson.closeWaitMs, ownMs) : ownMs
    this.#lastAnswers = runtime.setTimer(firstMs, () => {
      if (answers() === before || firstMs === ownMs) return over()
      this.#lastAnswers = runtime.setTimer(ownMs - firstMs, over)
    })
  }

  /** The server is gone. */
  closed(): void {
    this.#lastAnswers?.cancel()
  }

  /** Waits for the exit that explains the end of the connection, but not for long, and not past `deadline`. */
  async explained(deadline: number = Infinity): Promise<void> {
    const { limits, runtime } = this.#parts
    const leftMs = Math.max(0, deadline - runtime.now())
    if (!this.isKnown) await within(this.#dialed.ended, Math.min(limits.exitWaitMs, leftMs), runtime)
  }
}
