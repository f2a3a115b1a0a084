// The requests of a server right after the handshake, before any call.
//
// A server that asks for roots then, as server-filesystem does, refuses calls until it has them and has looked at the
// folders. Calls wait until no question is open and the server has asked nothing for a moment.

import type { NotificationFrame, RequestFrame } from '../../jsonrpc/frame.js'
import { type RequestId, canonical } from '../../jsonrpc/request-id.js'
import { cancelledId } from '../../mcp/methods.js'
import type { Runtime, Timer } from '../../runtime/runtime.js'

export interface FirstQuestionsLimits {
  /** How long a server asks nothing before calls are sent: after the handshake, and after each answer. */
  readonly quietMs: number
  /** How long a client has to answer. */
  readonly answerMs: number
  /** Questions that wait for a call of the client that they are for. */
  readonly heldMax: number
}

/** The first questions of one connection. */
export class FirstQuestions {
  readonly #limits: FirstQuestionsLimits
  readonly #runtime: Pick<Runtime, 'setTimer'>
  readonly #ask: (frame: RequestFrame) => void
  readonly #onOver: () => void
  readonly #open = new Set<RequestId>()
  /** Those that only a client can answer that has made a call. */
  #held: RequestFrame[] = []
  #timer: Timer

  /** `ask` gets the questions that were kept; `onOver` is called once, when calls may be sent. */
  constructor(
    limits: FirstQuestionsLimits,
    runtime: Pick<Runtime, 'setTimer'>,
    ask: (frame: RequestFrame) => void,
    onOver: () => void,
  ) {
    this.#limits = limits
    this.#runtime = runtime
    this.#ask = ask
    this.#onOver = onOver
    this.#timer = runtime.setTimer(limits.quietMs, () => this.#look())
  }

  asked(id: RequestId): void {
    this.#open.add(canonical(id))
    this.#wait(this.#limits.answerMs, () => this.end())
  }

  /** Keeps a question until there is a call during which it can be asked; false when there are too many. */
  hold(frame: RequestFrame): boolean {
    if (this.#held.length >= this.#limits.heldMax) return false
    this.#open.delete(canonical(frame.id))
    this.#held.push(frame)
    this.#timer.cancel()
    return true
  }

  /** The server has its answer, or wants none any more. */
  answered(id: RequestId): void {
    const key = canonical(id)
    const held = this.#held.filter((frame) => canonical(frame.id) !== key)
    const isKnown = this.#open.delete(key) || held.length < this.#held.length
    this.#held = held
    if (isKnown && this.#isQuiet) this.#wait(this.#limits.quietMs, () => this.#look())
  }

  /** The server has taken a question back. */
  withdrawn(frame: NotificationFrame): void {
    const id = cancelledId(frame)
    if (id !== undefined) this.answered(id)
  }

  /** A call waits, so that what was kept can be asked. */
  askHeld(): void {
    for (const frame of this.#held.splice(0)) this.#ask(frame)
  }

  end(): void {
    this.#timer.cancel()
    this.#onOver()
  }

  #wait(ms: number, then: () => void): void {
    this.#timer.cancel()
    this.#timer = this.#runtime.setTimer(ms, then)
  }

  get #isQuiet(): boolean {
    return this.#open.size === 0 && this.#held.length === 0
  }

  #look(): void {
    if (this.#isQuiet) this.end()
  }
}
