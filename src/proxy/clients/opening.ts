// From a client's `initialize` to its answer: what came behind it waits here, in order.
//
// JSON-RPC leaves the order of answers free. A client that writes several messages
// at once reads the answer to `initialize` first all the same, since it says which
// protocol the others are in.

import { canonical, type RequestId } from '../../jsonrpc/request-id.js'
import type { Call } from '../../mcp/call.js'
import { CallQueue, type Queued, QueueRoom } from '../../mcp/call-queue.js'
import type { SessionLimits } from '../../limits.js'
import type { Runtime, Timer } from '../../runtime/runtime.js'

interface Early {
  /** A ping waits for `pingWaitMs` at most. */
  readonly isPing: boolean
  /** The request that it answers; undefined for a call, which is cancelled itself, and for what answers no request. */
  readonly id: RequestId | undefined
  readonly run: () => void
}

/** Holds calls, and answers to other messages, until `initialize` is answered. */
export class Opening {
  readonly #runtime: Pick<Runtime, 'now' | 'setTimer'>
  readonly #pingWaitMs: number
  readonly #room: QueueRoom
  readonly #early: CallQueue<Early>
  #answer: (() => void) | undefined
  #isPassing = false
  #since = 0
  #pings: Timer | undefined

  constructor(
    runtime: Pick<Runtime, 'now' | 'setTimer'>,
    limits: Pick<SessionLimits, 'callsMax' | 'pingWaitMs' | 'waitingBytesMax'>,
  ) {
    this.#runtime = runtime
    this.#pingWaitMs = limits.pingWaitMs
    this.#room = new QueueRoom(limits.waitingBytesMax)
    this.#early = new CallQueue(this.#room, limits.callsMax)
  }

  /** Whether `initialize` has come and waits for its answer. */
  get on(): boolean {
    return this.#answer !== undefined
  }

  /** Whether `initialize` or anything that came behind it is still to be answered. */
  get owes(): boolean {
    return this.on || this.#early.size > 0
  }

  /** Whether the client's own `initialize` is on its way to the one server. */
  get passes(): boolean {
    return this.on && this.#isPassing
  }

  /** `initialize` has come, and is passed on or not; `answer` is called once, by `end`. */
  begin(answer: () => void, isPassing: boolean): void {
    this.#answer = answer
    this.#isPassing = isPassing
    this.#since = this.#runtime.now()
  }

  /** Whether a call of so many bytes may wait. */
  hasRoom(bytes: number): boolean {
    return this.#room.has(bytes)
  }

  /** Holds a call; who gives it up makes room for others. */
  hold(call: Call, route: () => void): void {
    this.#early.add(call, { isPing: false, id: undefined, run: route })
  }

  /** Calls `run`, which may answer a request, after `initialize` is answered, or now if too much waits. */
  behind(bytes: number, run: () => void, id?: RequestId): void {
    if (!this.on || !this.#early.hasRoom(bytes)) run()
    else this.#early.addAnswer(bytes, { isPing: false, id, run })
  }

  /** The same for the answer to a ping, which waits for `pingWaitMs` at most. */
  ping(bytes: number, id: RequestId, run: () => void): void {
    const leftMs = this.#since + this.#pingWaitMs - this.#runtime.now()
    if (!this.on || leftMs <= 0 || this.#early.isFull) return run()
    this.#early.addAnswer(bytes, { isPing: true, id, run })
    this.#pings ??= this.#runtime.setTimer(leftMs, () => this.#runPings())
  }

  /** An answer to the request with this canonical id is not wanted any more. */
  giveUp(key: RequestId | undefined): void {
    for (const early of this.#early) {
      const { id } = early.value
      if (id !== undefined && canonical(id) === key) this.#early.take(early)
    }
  }

  /** Answers `initialize`, and then what came behind it; later calls do nothing. */
  end(): void {
    const answer = this.#answer
    if (answer === undefined) return
    this.#answer = undefined
    this.#pings?.cancel()
    answer()
    for (const early of this.#early) this.#run(early)
  }

  #run(early: Queued<Early>): void {
    this.#early.take(early)?.run()
  }

  #runPings(): void {
    this.#pings = undefined
    for (const early of this.#early) if (early.value.isPing) this.#run(early)
  }
}
