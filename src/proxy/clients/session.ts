// The states of a session: it opens, is open, ends, and is answered.
//
// JSON-RPC leaves the order of answers free. But a client that writes several messages together expects the
// answer to `initialize` first, because that answer decides the protocol of the others. So the messages after
// `initialize` wait here, in order, until it is answered. When the session ends, new calls are refused, and
// running calls may finish before the connection closes.

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
  /** The protocol revision of the client: the negotiated one, or the assumed one until then. */
  readonly revision: Revision
  /** Resolves when the client begins to leave. Its running calls still get their answers. */
  readonly leaving: Promise<void>
  /** Resolves when the client is gone, after its end of file, its `exit`, or a broken connection. */
  readonly ended: Promise<SessionEnd>
}

/** Identifies a call that its client cancels: the id in canonical form, or the response that the client closes. */
export type CallKey = RequestId | Reply

/** A message that arrived after `initialize`; a request also has a reply. */
interface DeferredMessage {
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
  /** Resolves when every request is answered, though the client may not have read the answers yet. */
  readonly answered: Deferred<void> = new Deferred()
  /** Resolves when the connection is closed and the client has left its servers. */
  readonly ended: Deferred<SessionEnd> = new Deferred()
  readonly #context: SessionContext
  readonly #giveUp: () => void
  /** Answers the pending `initialize`; undefined if none is pending. */
  #opening: (() => void) | undefined
  readonly #deferred = new Set<DeferredMessage>()
  /** `announced`: the client has sent `shutdown`. `begun`: the session ends with its last answer. */
  #end: 'none' | 'announced' | 'begun' = 'none'
  #exitCode = 0
  #patience: Timer | undefined
  #patienceEndsAt = Infinity

  /** `giveUp` answers the calls that still run when the grace period is over. */
  constructor(context: SessionContext, giveUp: () => void) {
    this.#context = context
    this.#giveUp = giveUp
  }

  /** Whether new calls are refused. */
  get isEnding(): boolean {
    return this.#end !== 'none'
  }

  /** Whether the session ends as soon as no call runs. */
  get isDraining(): boolean {
    return this.#end === 'begun'
  }

  get isOpening(): boolean {
    return this.#opening !== undefined
  }

  /** Whether `initialize`, or a message after it, still needs an answer. */
  get hasPendingAnswers(): boolean {
    return this.isOpening || this.#deferred.size > 0
  }

  /** Called when `initialize` arrives; `opened` calls `answer` once. */
  open(answer: () => void): void {
    this.#opening = answer
  }

  /**
   * Defers a message until `initialize` is answered; `run` then reads it. False if no `initialize` is
   * pending, or the queue is full. The limit for bytes does not apply to a single message.
   */
  defer(run: () => void, bytes = 0, reply?: Reply, key?: CallKey): boolean {
    const { callsMax, waitingBytesMax } = this.#context.limits.session
    let waiting = 0
    for (const deferred of this.#deferred) waiting += deferred.bytes
    if (!this.isOpening || this.#deferred.size >= callsMax) return false
    if (waiting > 0 && waiting + bytes > waitingBytesMax) return false
    this.#deferred.add({ run, bytes, reply, key })
    return true
  }

  /** Cancels a deferred request, which then never begins; false if no deferred request has this key. */
  cancelDeferred(key: CallKey): boolean {
    const deferred = [...this.#deferred].find((each) => each.key === key)
    if (deferred === undefined) return false
    this.#deferred.delete(deferred)
    deferred.reply?.drop()
    return true
  }

  /** Answers `initialize`, then reads the deferred messages up to another `initialize`. Later calls do nothing. */
  opened(): void {
    const answer = this.#opening
    this.#opening = undefined
    answer?.()
    for (const deferred of this.#deferred) {
      if (this.isOpening) return
      this.#deferred.delete(deferred)
      deferred.run()
    }
  }

  /** The exit code if the client exits now: 1 without an earlier `shutdown`. */
  get exitCode(): number {
    return this.#end === 'none' ? 1 : 0
  }

  /** Called when the client announces its end: running calls may finish, and later calls are refused. */
  announceEnd(): void {
    if (this.#end === 'none') this.#end = 'announced'
  }

  /** Gives running calls `graceMs` from now, or less if an earlier drain set less. The first exit code counts. */
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
    for (const { reply } of this.#deferred) reply?.drop()
    this.#deferred.clear()
    this.#patienceEndsAt = -Infinity
    this.#patience?.cancel()
    this.leaving.resolve()
    this.answered.resolve()
  }

  close(cause: TransportError | undefined): void {
    this.ended.resolve({ exitCode: this.#exitCode, cause })
  }
}
