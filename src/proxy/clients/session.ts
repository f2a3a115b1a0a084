// The states of a session: it waits for the answer to `initialize`, is open, ends, and is answered.
//
// JSON-RPC leaves the order of answers free. A client that writes several messages together reads the answer to `initialize`
// first all the same, since it says which protocol the others are in. So the messages behind it wait here, in order, and
// are read once it is answered. At the end nothing new is accepted, and running calls may finish before the connection is
// closed.

import type { Reply } from '../../jsonrpc/connection.js'
import type { TransportError } from '../../jsonrpc/jsonrpc-errors.js'
import type { RequestId } from '../../jsonrpc/request-id.js'
import type { Limits } from '../../limits.js'
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

/** The id of a call by which its client cancels it, in one spelling, or the response that the client closes for that. */
export type CallKey = RequestId | Reply

/** A message that came behind `initialize`; a request has a way back. */
interface Early {
  readonly run: () => void
  readonly bytes: number
  readonly reply: Reply | undefined
  readonly key: CallKey | undefined
}

interface SessionContext {
  readonly runtime: Pick<Runtime, 'now' | 'setTimer'>
  readonly limits: Pick<Limits, 'session'>
}

/** One session, or a connection whose client never initializes. */
export class Session {
  readonly leaving: Deferred<void> = new Deferred()
  /** Resolves when everything is answered, though the client may not have read it yet. */
  readonly answered: Deferred<void> = new Deferred()
  /** Resolves when the connection is closed and the client's servers are left. */
  readonly ended: Deferred<SessionEnd> = new Deferred()
  readonly #context: SessionContext
  readonly #giveUp: () => void
  /** Answers the `initialize` that waits for that. */
  #opening: (() => void) | undefined
  readonly #early = new Set<Early>()
  /** Whether its client has announced the end with `shutdown`, and whether it ends with the last answer. */
  #end: 'none' | 'announced' | 'begun' = 'none'
  #exitCode = 0
  #patience: Timer | undefined
  #patienceEndsAt = Infinity

  /** `giveUp` answers what still runs when the patience of the end is over. */
  constructor(context: SessionContext, giveUp: () => void) {
    this.#context = context
    this.#giveUp = giveUp
  }

  /** Whether calls that come now are refused. */
  get isEnding(): boolean {
    return this.#end !== 'none'
  }

  /** Whether the session ends when nothing runs any more. */
  get isDraining(): boolean {
    return this.#end === 'begun'
  }

  get isOpening(): boolean {
    return this.#opening !== undefined
  }

  /** Whether `initialize` or anything that came behind it is still to be answered. */
  get owesAnswers(): boolean {
    return this.isOpening || this.#early.size > 0
  }

  /** `initialize` has come; `answer` is called once, by `opened`. */
  open(answer: () => void): void {
    this.#opening = answer
  }

  /**
   * Takes a message that comes while `initialize` waits for its answer: `run` reads it afterwards. False where none waits,
   * and where too much comes; a single message may have any size.
   */
  defers(run: () => void, bytes = 0, reply?: Reply, key?: CallKey): boolean {
    const { callsMax, waitingBytesMax } = this.#context.limits.session
    let waiting = 0
    for (const early of this.#early) waiting += early.bytes
    if (!this.isOpening || this.#early.size >= callsMax) return false
    if (waiting > 0 && waiting + bytes > waitingBytesMax) return false
    this.#early.add({ run, bytes, reply, key })
    return true
  }

  /** A request that waits for the answer to `initialize` is cancelled, and never begins; false where none waits under this key. */
  cancels(key: CallKey): boolean {
    const early = [...this.#early].find((each) => each.key === key)
    if (early === undefined) return false
    this.#early.delete(early)
    early.reply?.drop()
    return true
  }

  /** Answers `initialize`, and then reads what came behind it, up to another `initialize`; later calls do nothing. */
  opened(): void {
    const answer = this.#opening
    this.#opening = undefined
    answer?.()
    for (const early of this.#early) {
      if (this.isOpening) return
      this.#early.delete(early)
      early.run()
    }
  }

  /** That of a client that exits now: 1 without a `shutdown` before. */
  get exitCode(): number {
    return this.#end === 'none' ? 1 : 0
  }

  /** The client will end the session: calls that run may finish, and later ones are refused. */
  announceEnd(): void {
    if (this.#end === 'none') this.#end = 'announced'
  }

  /** Running calls have `graceMs` from now, unless they had less before; the exit code of the first call counts. */
  drain(exitCode: number, graceMs: number): void {
    const { runtime } = this.#context
    const endsAt = runtime.now() + graceMs
    if (endsAt < this.#patienceEndsAt) {
      this.#patienceEndsAt = endsAt
      this.#patience?.cancel()
      this.#patience = runtime.setTimer(graceMs, this.#giveUp)
    }
    if (this.#end === 'begun') return
    this.#end = 'begun'
    this.#exitCode = exitCode
    this.leaving.resolve()
  }

  finish(): void {
    this.#end = 'begun'
    for (const { reply } of this.#early) reply?.drop()
    this.#early.clear()
    this.#patienceEndsAt = -Infinity
    this.#patience?.cancel()
    this.leaving.resolve()
    this.answered.resolve()
  }

  close(cause: TransportError | undefined): void {
    this.ended.resolve({ exitCode: this.#exitCode, cause })
  }
}
