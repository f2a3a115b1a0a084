// The calls on one connection that are not answered yet.

import { BriefMap } from '../../jsonrpc/fast/brief-map.js'
import type { ErrorBody } from '../../jsonrpc/build.js'
import type { FieldReader } from '../../jsonrpc/connection.js'
import type { NotificationFrame } from '../../jsonrpc/frame.js'
import type { RequestId } from '../../jsonrpc/request-id.js'
import type { Call, CallOwner, InputNeeded, Outcome } from '../../mcp/call.js'
import { cancelledId } from '../../mcp/methods.js'
import { subscribed } from '../../mcp/subscriptions.js'
import { traceparentOf } from '../../mcp/trace-edits.js'
import { askClient } from '../input/input-rounds.js'
import type { ClientContext, StatelessSender } from './client-directory.js'
import type { ClientReports } from './client-reports.js'
import type { Outbox } from './outbox.js'

/** Holds the calls of one channel, and owns those of its session. */
export class ChannelCalls implements CallOwner {
  readonly channel: Outbox
  readonly #calls = new BriefMap<RequestId, Call>()
  /** By the ids of their client. */
  readonly open: Pick<BriefMap<RequestId, Call>, 'has' | 'size'> = this.#calls
  readonly #context: Pick<ClientContext, 'limits' | 'runtime' | 'tracer'>
  readonly #reports: ClientReports
  readonly #onAnswered: () => void
  #last = 0

  /** `onAnswered` is called when a call has ended. */
  constructor(
    context: Pick<ClientContext, 'limits' | 'runtime' | 'tracer'>,
    reports: ClientReports,
    outbox: Outbox,
    onAnswered: () => void,
  ) {
    this.#context = context
    this.#reports = reports
    this.channel = outbox
    this.#onAnswered = onAnswered
  }

  /** `field` reads the header fields of the HTTP request that brought it. */
  add(call: Call, field?: FieldReader): void {
    call.serial = ++this.#last
    const { tracer } = this.#context
    if (tracer !== undefined)
      call.trace = tracer.begin(traceparentOf(call.frame) ?? field?.('traceparent'), call.frame.id)
    call.deadline.isTimed = this.#reports.heard.has('call')
    this.#calls.set(call.key, call)
  }

  /** The request is answered by another call, which has the place of this one. */
  replaced(call: Call, by: Call): void {
    this.#calls.set(call.key, by)
  }

  settled(call: Call, outcome: Outcome): void {
    this.#answer(call, outcome)
    const reports = this.#reports
    const isResult = outcome.kind === 'answered' && outcome.frame.kind === 'result'
    // Nearly all outcomes are results, and few programs listen to those.
    if (!isResult || reports.heard.has('call')) reports.settled(call, outcome)
    this.#onAnswered()
  }

  needsInput(call: Call, needed: InputNeeded): void {
    askClient(call, needed, this.#context.limits.session.input, this.#context.runtime)
  }

  /** Sends the answer of a call that has ended. */
  answer(call: Call, outcome: Outcome): void {
    this.#answer(call, outcome)
    this.#onAnswered()
  }

  /** The call that a cancellation names is not wanted any more; gives the id, canonical (MCP, Utilities: cancellation). */
  cancel(frame: NotificationFrame): RequestId | undefined {
    const id = cancelledId(frame)
    if (id !== undefined) this.#calls.get(id)?.cancel(frame)
    return id
  }

  /** The call with this id is not wanted any more. */
  giveUp(key: RequestId): void {
    this.#calls.get(key)?.cancel(undefined)
  }

  /** Ends the requests that stay open. */
  endListening(): void {
    for (const call of this.#calls.values())
      if (call.row.stays === true) call.settle({ kind: 'result', result: subscribed(call.frame.id) })
  }

  /** The client is gone. */
  cancelAll(): void {
    for (const call of this.#calls.values()) call.cancel(undefined)
  }

  /** Each call is answered with this error, and its server gets a cancellation. */
  abandonAll(error: ErrorBody): void {
    for (const call of this.#calls.values()) call.abandon(error)
  }

  #answer(call: Call, outcome: Outcome): void {
    this.#calls.take(call.key)
    this.channel.settle(call, outcome)
  }
}

/** The owner of one request without a session: its client may have others on other connections. */
export class StatelessRequest implements CallOwner {
  readonly channel: Outbox
  readonly #calls: ChannelCalls
  readonly #sender: StatelessSender

  constructor(calls: ChannelCalls, sender: StatelessSender) {
    this.channel = calls.channel
    this.#calls = calls
    this.#sender = sender
  }

  settled(call: Call, outcome: Outcome): void {
    const { client, seen } = this.#sender
    client.ended(call)
    seen.settled(call, outcome)
    this.#calls.answer(call, outcome)
  }

  needsInput(call: Call, needed: InputNeeded): void {
    this.#sender.client.needsInput(call, needed)
  }

  replaced(call: Call, by: Call): void {
    this.#calls.replaced(call, by)
  }
}
