// The requests of a server right after the handshake, before any call.
//
// A server that asks for roots then, as server-filesystem does, refuses calls until it has them and has looked at the
// folders. Calls wait until no question is open and the server has asked nothing for a moment.

import type { RequestFrame } from '../../jsonrpc/frame.js'
import { type RequestId, canonical } from '../../jsonrpc/request-id.js'
import type { Runtime, Timer } from '../../runtime/runtime.js'

/** How long a server asks nothing before calls are sent: it asks for roots as soon as it may. */
const QUIET_MS = 250

/** How long a client has to answer, which it does by itself. */
const ANSWER_MS = 5000

/** Questions that wait for a call of the client that they are for. */
const HELD_MAX = 16

export class FirstQuestions {
  readonly #runtime: Pick<Runtime, 'setTimer'>
  readonly #ask: (frame: RequestFrame) => void
  readonly #onOver: () => void
  readonly #open = new Set<RequestId>()
  /** Those that only a client can answer that has made a call. */
  #held: RequestFrame[] = []
  #timer: Timer

  /** `ask` gets the questions that were kept; `onOver` is called once, when calls may be sent. */
  constructor(runtime: Pick<Runtime, 'setTimer'>, ask: (frame: RequestFrame) => void, onOver: () => void) {
    this.#runtime = runtime
    this.#ask = ask
    this.#onOver = onOver
    this.#timer = runtime.setTimer(QUIET_MS, () => this.#look())
  }

  onCall(id: RequestId): void {
    this.#open.add(canonical(id))
    this.#wait(ANSWER_MS, () => this.end())
  }

  /** Keeps a question until there is a call during which it can be asked; false when there are too many. */
  defer(frame: RequestFrame): boolean {
    if (this.#held.length >= HELD_MAX) return false
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
    if (isKnown && this.#isQuiet) this.#wait(QUIET_MS, () => this.#look())
  }

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
