// The end of a session: nothing new is accepted, running calls may finish, then the connection is closed.

import type { TransportError } from '../../jsonrpc/jsonrpc-errors.js'
import { Deferred } from '../../runtime/deferred.js'
import type { Runtime, Timer } from '../../runtime/runtime.js'
import type { Revision } from '../../mcp/revisions.js'

/** How a session ended. */
export interface SessionEnd {
  /** 0, unless the client sent `exit` without `shutdown`. */
  readonly exitCode: number
  readonly cause: TransportError | undefined
}

/** Whether a session ends, since when, and how. */
export class Draining {
  /** Comes when the session begins to end. */
  readonly begun: Deferred<void> = new Deferred()
  /** Comes when everything is answered, though the client may not have read it yet. */
  readonly answered: Deferred<void> = new Deferred()
  /** Comes when the connection is closed and the client's servers are left. */
  readonly ended: Deferred<SessionEnd> = new Deferred()
  readonly #runtime: Pick<Runtime, 'now' | 'setTimer'>
  readonly #giveUp: () => void
  #timer: Timer | undefined
  #endsAt = Infinity
  #exitCode = 0
  #isLast = false
  #answer: (() => void) | undefined

  /** `giveUp` answers what still runs when patience is over. */
  constructor(runtime: Pick<Runtime, 'now' | 'setTimer'>, giveUp: () => void) {
    this.#runtime = runtime
    this.#giveUp = giveUp
  }

  /** Whether a `shutdown` waits for its answer. */
  get owesAnswer(): boolean {
    return this.#answer !== undefined
  }

  /** The client will end the session; `answer` is called when no call runs any more; see `wait`. */
  announce(graceMs: number, answer: () => void): void {
    this.wait(graceMs)
    this.#answer = answer
  }

  /** The first call counts; a later one, or one after `announce`, only when it has less patience. */
  begin(exitCode: number, graceMs: number): void {
    this.wait(graceMs)
    if (this.#isLast) return
    this.#isLast = true
    this.#exitCode = exitCode
    this.begun.resolve()
  }

  /** Nothing runs any more; true when the session ends with that. */
  rest(): boolean {
    this.#answer?.()
    this.#answer = undefined
    if (this.#isLast) this.finish()
    return this.#isLast
  }

  /** Nothing is left to be answered. */
  finish(): void {
    this.#isLast = true
    this.#endsAt = -Infinity
    this.#timer?.cancel()
    this.begun.resolve()
    this.answered.resolve()
  }

  /** The connection is closed, and its servers are left. */
  end(cause: TransportError | undefined): void {
    this.ended.resolve({ exitCode: this.#exitCode, cause })
  }

  /** Running calls have this much time from now, unless they had less before. */
  wait(graceMs: number): void {
    const endsAt = this.#runtime.now() + graceMs
    if (endsAt >= this.#endsAt) return
    this.#endsAt = endsAt
    this.#timer?.cancel()
    this.#timer = this.#runtime.setTimer(graceMs, this.#giveUp)
  }
}

// A session, for the program that attached it.

/** One client of the proxy. */
export interface AttachedSession {
  /** The protocol revision that the client speaks: negotiated, or assumed until then. */
  readonly revision: Revision
  /** Resolves when the client begins to leave; what it asked is still being answered. */
  readonly leaving: Promise<void>
  /** Resolves when the client is gone: its end of file, its `exit`, or a broken connection. */
  readonly ended: Promise<SessionEnd>
}
