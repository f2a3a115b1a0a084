// From a client's `initialize` to its answer: what came behind it waits here, in order.
//
// JSON-RPC leaves the order of answers free. A client that writes several messages
// at once reads the answer to `initialize` first all the same, since it says which
// protocol the others are in.

import type { Call } from '../../mcp/call.js'
import type { SessionLimits } from '../../limits.js'
import type { Runtime, Timer } from '../../runtime/runtime.js'

export interface OpeningParts {
  readonly limits: Pick<SessionLimits, 'callsMax' | 'waitingBytesMax' | 'pingWaitMs'>
  readonly runtime: Pick<Runtime, 'now' | 'setTimer'>
}

interface Held {
  readonly bytes: number
  /** A ping asks whether somebody is there, so it does not wait for long. */
  readonly isPing: boolean
  readonly run: () => void
}

/** Holds calls, and answers to other messages, until `initialize` is answered. */
export class Opening {
  readonly #parts: OpeningParts
  readonly #held = new Set<Held>()
  #answer: (() => void) | undefined
  #bytes = 0
  #since = 0
  #pings: Timer | undefined

  constructor(parts: OpeningParts) {
    this.#parts = parts
  }

  /** Whether `initialize` has come and waits for its answer. */
  get on(): boolean {
    return this.#answer !== undefined
  }

  /** Whether `initialize` or anything that came behind it is still to be answered. */
  get owes(): boolean {
    return this.on || this.#held.size > 0
  }

  /** `initialize` has come; `answer` is called once, by `end`. */
  begin(answer: () => void): void {
    this.#answer = answer
    this.#since = this.#parts.runtime.now()
  }

  /** Whether a call of so many bytes may wait; one alone may be as long as it is. */
  hasRoom(bytes: number): boolean {
    return !this.on || this.#bytes === 0 || this.#bytes + bytes <= this.#parts.limits.waitingBytesMax
  }

  /** Holds a call; who gives it up makes room for others. */
  hold(call: Call, route: () => void): void {
    call.keep()
    const held = this.#add(call.bytes, false, () => {
      call.onCancel = undefined
      route()
    })
    call.onCancel = () => this.#remove(held)
  }

  /** Does this when `initialize` is answered; at once where it is, or where too much waits already. */
  behind(bytes: number, run: () => void): void {
    if (!this.on || this.#held.size >= this.#parts.limits.callsMax || !this.hasRoom(bytes)) run()
    else this.#add(bytes, false, run)
  }

  /** The same for the answer to a ping, which waits for `pingWaitMs` at most. */
  ping(bytes: number, run: () => void): void {
    const { limits, runtime } = this.#parts
    const leftMs = this.#since + limits.pingWaitMs - runtime.now()
    if (!this.on || leftMs <= 0 || this.#held.size >= limits.callsMax) return run()
    this.#add(bytes, true, run)
    this.#pings ??= runtime.setTimer(leftMs, () => this.#runPings())
  }

  /** Answers `initialize`, and then what came behind it; later calls do nothing. */
  end(): void {
    const answer = this.#answer
    if (answer === undefined) return
    this.#answer = undefined
    this.#pings?.cancel()
    answer()
    for (const held of this.#held) this.#run(held)
  }

  #add(bytes: number, isPing: boolean, run: () => void): Held {
    const held = { bytes, isPing, run }
    this.#held.add(held)
    this.#bytes += bytes
    return held
  }

  #remove(held: Held): void {
    if (this.#held.delete(held)) this.#bytes -= held.bytes
  }

  #run(held: Held): void {
    this.#remove(held)
    held.run()
  }

  #runPings(): void {
    this.#pings = undefined
    for (const held of this.#held) if (held.isPing) this.#run(held)
  }
}
