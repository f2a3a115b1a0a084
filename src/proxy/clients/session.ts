// The states of a session: it waits for the answer to `initialize`, is open, ends, and is answered.
//
// JSON-RPC leaves the order of answers free. A client that writes several messages at once reads the answer to `initialize`
// first all the same, since it says which protocol the others are in. So what came behind it waits here, in order. At the
// end nothing new is accepted, and running calls may finish before the connection is closed.

import type { TransportError } from '../../jsonrpc/jsonrpc-errors.js'
import type { Call } from '../../calls/call.js'
import type { SessionLimits } from '../../limits.js'
import type { Revision } from '../../mcp/revisions.js'
import { Deferred } from '../../runtime/deferred.js'
import type { Runtime, Timer } from '../../runtime/runtime.js'

/** How a session ended. */
export interface SessionEnd {
  /** 0, unless the client sent `exit` without `shutdown`. */
  readonly exitCode: number
  readonly cause: TransportError | undefined
}

/** One client of the proxy. */
export interface AttachedSession {
  /** The protocol revision that the client speaks: negotiated, or assumed until then. */
  readonly revision: Revision
  /** Resolves when the client begins to leave; what it asked is still being answered. */
  readonly leaving: Promise<void>
  /** Resolves when the client is gone: its end of file, its `exit`, or a broken connection. */
  readonly ended: Promise<SessionEnd>
}

/** A call, or an answer to another message, that came behind `initialize`. */
interface Early {
  readonly bytes: number
  readonly run: () => unknown
}

/** One session, or a connection whose client never initializes. */
export class Session {
  readonly leaving: Deferred<void> = new Deferred()
  /** Resolves when everything is answered, though the client may not have read it yet. */
  readonly answered: Deferred<void> = new Deferred()
  /** Resolves when the connection is closed and the client's servers are left. */
  readonly ended: Deferred<SessionEnd> = new Deferred()
  readonly #runtime: Pick<Runtime, 'now' | 'setTimer'>
  readonly #limits: Pick<SessionLimits, 'callsMax' | 'waitingBytesMax'>
  readonly #giveUp: () => void
  /** The `initialize` that waits for its answer. */
  #opening: { readonly answer: () => void; readonly isPassed: boolean } | undefined
  readonly #early = new Set<Early>()
  /** Whether its client has announced the end with `shutdown`, and whether it ends with the last answer. */
  #end: 'none' | 'announced' | 'begun' = 'none'
  #exitCode = 0
  #answerShutdown: (() => void) | undefined
  #patience: Timer | undefined
  #patienceEndsAt = Infinity

  /** `giveUp` answers what still runs when the patience of the end is over. */
  constructor(
    runtime: Pick<Runtime, 'now' | 'setTimer'>,
    limits: Pick<SessionLimits, 'callsMax' | 'waitingBytesMax'>,
    giveUp: () => void,
  ) {
    this.#runtime = runtime
    this.#limits = limits
    this.#giveUp = giveUp
  }

  /** Whether a call that comes now is routed, held until `initialize` is answered, or refused because the session ends. */
  get intake(): 'route' | 'hold' | 'refuse' {
    if (this.#end !== 'none') return 'refuse'
    return this.isOpening ? 'hold' : 'route'
  }

  get isOpening(): boolean {
    return this.#opening !== undefined
  }

  get isPassing(): boolean {
    return this.#opening?.isPassed === true
  }

  /** Whether `initialize` or anything that came behind it is still to be answered. */
  get owesAnswers(): boolean {
    return this.isOpening || this.#early.size > 0
  }

  /** `initialize` has come, and is passed on or not; `answer` is called once, by `opened`. */
  open(answer: () => void, isPassed: boolean): void {
    this.#opening = { answer, isPassed }
  }

  /** Whether a message of so many bytes may wait; a single one has no limit. */
  hasRoom(bytes: number): boolean {
    const { callsMax, waitingBytesMax } = this.#limits
    let waiting = 0
    for (const early of this.#early) waiting += early.bytes
    return this.#early.size < callsMax && (waiting === 0 || waiting + bytes <= waitingBytesMax)
  }

  /** Holds a call until `initialize` is answered; who gives it up makes room for others. */
  hold(call: Call, route: () => void): void {
    call.keep()
    const early = { bytes: call.bytes, run: () => call.settled || route() }
    this.#early.add(early)
    call.holder = { cancel: () => this.#early.delete(early) }
  }

  /** Calls `run`, which may answer a request, after `initialize` is answered, or now if too much waits. */
  behind(bytes: number, run: () => void): void {
    if (this.isOpening && this.hasRoom(bytes)) this.#early.add({ bytes, run })
    else run()
  }

  /** Answers `initialize`, and then what came behind it; later calls do nothing. */
  opened(): void {
    const opening = this.#opening
    if (opening === undefined) return
    this.#opening = undefined
    opening.answer()
    for (const early of this.#early) {
      this.#early.delete(early)
      early.run()
    }
  }

  get owesShutdown(): boolean {
    return this.#answerShutdown !== undefined
  }

  /** That of a client that exits now: 1 without a `shutdown` before. */
  get exitCode(): number {
    return this.#end === 'none' ? 1 : 0
  }

  /** The client will end the session; `answer` is called when no call runs any more; see `wait`. */
  shutDown(graceMs: number, answer: () => void): void {
    this.wait(graceMs)
    if (this.#end === 'none') this.#end = 'announced'
    this.#answerShutdown = answer
  }

  /** The first call counts; a later one, or one after `shutDown`, only when it has less patience. */
  drain(exitCode: number, graceMs: number): void {
    this.wait(graceMs)
    if (this.#end === 'begun') return
    this.#end = 'begun'
    this.#exitCode = exitCode
    this.leaving.resolve()
  }

  /** Nothing runs any more; true when the session ends with that. */
  rest(): boolean {
    this.#answerShutdown?.()
    this.#answerShutdown = undefined
    const isLast = this.#end === 'begun'
    if (isLast) this.finish()
    return isLast
  }

  finish(): void {
    this.#end = 'begun'
    this.#patienceEndsAt = -Infinity
    this.#patience?.cancel()
    this.leaving.resolve()
    this.answered.resolve()
  }

  close(cause: TransportError | undefined): void {
    this.ended.resolve({ exitCode: this.#exitCode, cause })
  }

  /** Running calls have this much time from now, unless they had less before. */
  wait(graceMs: number): void {
    const endsAt = this.#runtime.now() + graceMs
    if (endsAt >= this.#patienceEndsAt) return
    this.#patienceEndsAt = endsAt
    this.#patience?.cancel()
    this.#patience = this.#runtime.setTimer(graceMs, this.#giveUp)
  }
}
