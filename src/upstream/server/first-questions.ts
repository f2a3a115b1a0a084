// The requests of a server right after the handshake, before any call.
//
// A server that asks for roots then, such as server-filesystem, refuses calls until it has the roots and has
// read the folders. Calls wait until no request is open and the server has been quiet for a moment.

import type { RequestFrame } from '../../jsonrpc/frame.js'
import { type RequestId, canonical } from '../../jsonrpc/request-id.js'
import type { Runtime, Timer } from '../../runtime/runtime.js'

/** How long a server must be quiet before calls are sent. A server asks for roots as soon as it may. */
const QUIET_MS = 250

/** How long a client has to answer, which needs no person. */
const ANSWER_MS = 5000

/** The most questions that wait for a call of their client. */
const HELD_MAX = 16

export class FirstQuestions {
  readonly #runtime: Pick<Runtime, 'setTimer'>
  readonly #ask: (frame: RequestFrame) => void
  readonly #onOver: () => void
  readonly #open = new Set<RequestId>()
  /** Questions that wait for a call, because only the client of a call can answer them. */
  #held: RequestFrame[] = []
  #timer: Timer

  /** `ask` gets the deferred questions; `onOver` is called once, when calls may be sent. */
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

  /** Keeps a question until a call exists during which it can be asked; false if there are too many. */
  defer(frame: RequestFrame): boolean {
    if (this.#held.length >= HELD_MAX) return false
    this.#open.delete(canonical(frame.id))
    this.#held.push(frame)
    this.#timer.cancel()
    return true
  }

  /** The server has its answer, or has withdrawn its request. */
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
