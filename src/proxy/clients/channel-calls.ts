// The calls of one client that are not answered yet.

import { BriefMap } from '../../jsonrpc/fast/brief-map.js'
import type { ErrorBody } from '../../jsonrpc/build.js'
import type { NotificationFrame } from '../../jsonrpc/frame.js'
import { canonicalAt, type RequestId } from '../../jsonrpc/request-id.js'
import type { Call, CallOwner, InputNeeded, Outcome } from '../../mcp/call.js'
import { subscribed } from '../../mcp/subscriptions.js'
import { askClient } from '../input/input-rounds.js'
import type { Answers } from './answers.js'
import type { ChannelParts } from './channel-parts.js'

/** Hears what becomes of them. */
export class ChannelCalls implements CallOwner {
  readonly #calls = new BriefMap<RequestId, Call>()
  /** By the ids of their client. */
  readonly open: Pick<BriefMap<RequestId, Call>, 'has' | 'size'> = this.#calls
  readonly #parts: ChannelParts
  readonly #answers: Answers
  readonly #rest: () => void
  #last = 0
  #isEnding = false

  /** `rest` is called when a call has ended of a session that ends. */
  constructor(parts: ChannelParts, answers: Answers, rest: () => void) {
    this.#parts = parts
    this.#answers = answers
    this.#rest = rest
  }

  add(call: Call): void {
    call.serial = ++this.#last
    this.#calls.set(call.key, call)
  }

  /** The request is answered by another call, which has the place of this one. */
  replaced(call: Call, by: Call): void {
    this.#calls.set(call.key, by)
  }

  settled(call: Call, outcome: Outcome): void {
    const { reports } = this.#parts
    const isResult = outcome.kind === 'answered' && outcome.frame.kind === 'result'
    this.#answer(call, outcome)
    // Nearly all are results, and nearly nobody hears of those.
    if (!isResult || reports.heard.has('call')) reports.settled(call, outcome)
    this.#restIfEnding()
  }

  /** The same for a call that is of no session. */
  answered(call: Call, outcome: Outcome): void {
    this.#answer(call, outcome)
    this.#restIfEnding()
  }

  #answer(call: Call, outcome: Outcome): void {
    this.#calls.take(call.key)
    this.#answers.settle(call, outcome)
  }

  #restIfEnding(): void {
    if (this.#isEnding) this.#rest()
  }

  needsInput(call: Call, needed: InputNeeded): void {
    askClient(call, needed, this.#parts.limits.input, this.#parts.runtime)
  }

  /** The call that a cancellation names is not wanted any more; gives the id, canonical (MCP, Utilities: cancellation). */
  cancel(frame: NotificationFrame): RequestId | undefined {
    const span = frame.params.members.span('requestId')
    const id = span && canonicalAt(frame.line, span.start, span.end)
    if (id !== undefined) this.#calls.get(id)?.cancel(frame)
    return id
  }

  /** The call with this id is not wanted any more. */
  giveUp(key: RequestId): void {
    this.#calls.get(key)?.cancel(undefined)
  }

  /** Nothing new is begun: what stays open ends, and this says whether something else is not answered yet. */
  areRunning(): boolean {
    this.#isEnding = true
    for (const call of this.#calls.values())
      if (call.row.stays === true) call.settle({ kind: 'result', result: subscribed(call.frame.id) })
    return this.#calls.size > 0
  }

  /** The client is gone. */
  cancelAll(): void {
    for (const call of this.#calls.values()) call.cancel(undefined)
  }

  /** The client is told that there will be no answers. */
  abandonAll(error: ErrorBody): void {
    for (const call of this.#calls.values()) call.abandon(error)
  }
}
