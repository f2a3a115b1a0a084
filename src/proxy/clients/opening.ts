// From a client's `initialize` to its answer: what came behind it waits here, in order.
//
// JSON-RPC leaves the order of answers free. A client that writes several messages
// at once reads the answer to `initialize` first all the same, since it says which
// protocol the others are in.

import { canonical, type RequestId } from '../../jsonrpc/request-id.js'
import type { Call } from '../../calls/call.js'
import type { SessionLimits } from '../../limits.js'
import type { Runtime, Timer } from '../../runtime/runtime.js'

interface Early {
  readonly bytes: number
  /** A ping waits for `pingWaitMs` at most. */
  readonly isPing: boolean
  /** The request that it answers; undefined for a call, which is cancelled itself, and for what answers no request. */
  readonly id: RequestId | undefined
  readonly run: () => unknown
}

/** Holds calls, and answers to other messages, until `initialize` is answered. */
export class Opening {
  readonly #runtime: Pick<Runtime, 'now' | 'setTimer'>
  readonly #limits: Pick<SessionLimits, 'callsMax' | 'pingWaitMs' | 'waitingBytesMax'>
  readonly #early = new Set<Early>()
  #bytes = 0
  #answer: (() => void) | undefined
  #isPassing = false
  #since = 0
  #pings: Timer | undefined

  constructor(
    runtime: Pick<Runtime, 'now' | 'setTimer'>,
    limits: Pick<SessionLimits, 'callsMax' | 'pingWaitMs' | 'waitingBytesMax'>,
  ) {
    this.#runtime = runtime
    this.#limits = limits
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

  /** Whether a message of so many bytes may wait; a single one has no limit. */
  hasRoom(bytes: number): boolean {
    const { waitingBytesMax } = this.#limits
    return !this.#isFull && (this.#bytes === 0 || this.#bytes + bytes <= waitingBytesMax)
  }

  /** Holds a call; who gives it up makes room for others. */
  hold(call: Call, route: () => void): void {
    call.keep()
    const early = this.#add({
      bytes: call.bytes,
      isPing: false,
      id: undefined,
      run: () => call.settled || route(),
    })
    call.holder = { cancel: () => this.#drop(early) }
  }

  /** Calls `run`, which may answer a request, after `initialize` is answered, or now if too much waits. */
  behind(bytes: number, run: () => void, id?: RequestId): void {
    if (!this.on || !this.hasRoom(bytes)) run()
    else this.#add({ bytes, isPing: false, id, run })
  }

  /** The same for the answer to a ping, which waits for `pingWaitMs` at most. */
  ping(bytes: number, id: RequestId, run: () => void): void {
    const leftMs = this.#since + this.#limits.pingWaitMs - this.#runtime.now()
    if (!this.on || leftMs <= 0 || this.#isFull) return run()
    this.#add({ bytes, isPing: true, id, run })
    this.#pings ??= this.#runtime.setTimer(leftMs, () => this.#runPings())
  }

  /** An answer to the request with this canonical id is not wanted any more. */
  giveUp(key: RequestId | undefined): void {
    for (const early of this.#early)
      if (early.id !== undefined && canonical(early.id) === key) this.#drop(early)
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

  get #isFull(): boolean {
    return this.#early.size >= this.#limits.callsMax
  }

  #add(early: Early): Early {
    this.#early.add(early)
    this.#bytes += early.bytes
    return early
  }

  #drop(early: Early): void {
    if (this.#early.delete(early)) this.#bytes -= early.bytes
  }

  #run(early: Early): void {
    this.#drop(early)
    early.run()
  }

  #runPings(): void {
    this.#pings = undefined
    for (const early of this.#early) if (early.isPing) this.#run(early)
  }
}
