// One call on its way to a server and back.

import type { RequestId } from '../jsonrpc/request-id.js'
import type { Call } from '../mcp/call.js'
import type { Runtime, Timer } from './host.js'

/** Below this, a deadline is not moved again: progress may come thousands of times a second. */
const EXTEND_EVERY_MS = 50

/** What a link remembers of a call, and the clock that limits it. */
export class Flight {
  readonly call: Call
  /** Raw JSON of the progress token that the server was given. */
  token: string | undefined
  readonly #runtime: Runtime
  readonly #expire: (why: string) => void
  #id: RequestId | undefined
  #timer: Timer | undefined
  #timeoutMs = 0
  #startedAt = 0
  #extendedAt = 0
  #totalMs = 0

  constructor(call: Call, runtime: Runtime, expire: (why: string) => void) {
    this.call = call
    this.#runtime = runtime
    this.#expire = expire
  }

  /** The id that the server knows it by. */
  get id(): RequestId {
    return this.#id ?? this.call.frame.id
  }

  start(id: RequestId, timeoutMs: number, totalMs: number): void {
    this.#id = id
    this.#timeoutMs = timeoutMs
    this.#totalMs = totalMs
    this.#startedAt = this.#runtime.now()
    this.#extendedAt = this.#startedAt
    this.#arm(timeoutMs)
  }

  /** The server is at work: the deadline moves, but never past the total. */
  extend(): void {
    const now = this.#runtime.now()
    if (now - this.#extendedAt < EXTEND_EVERY_MS) return
    this.#extendedAt = now
    this.#timer?.cancel()
    this.#arm(Math.min(this.#timeoutMs, this.#startedAt + this.#totalMs - now))
  }

  stop(): void {
    this.#timer?.cancel()
    this.#timer = undefined
  }

  #arm(delayMs: number): void {
    this.#timer = this.#runtime.setTimer(Math.max(0, delayMs), () => this.#expire(this.#why()))
  }

  #why(): string {
    const elapsedMs = Math.round(this.#runtime.now() - this.#startedAt)
    if (elapsedMs >= this.#totalMs) return `no answer within the total of ${this.#totalMs} ms`
    return `no answer or progress within ${this.#timeoutMs} ms`
  }
}
