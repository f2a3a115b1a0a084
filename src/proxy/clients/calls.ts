// The calls of one client that are not answered yet.

import { BriefMap } from '../../jsonrpc/fast/brief-map.js'
import type { ErrorBody } from '../../jsonrpc/build.js'
import type { NotificationFrame, RequestFrame } from '../../jsonrpc/frame.js'
import { canonicalAt, type RequestId } from '../../jsonrpc/request-id.js'
import {
  Call,
  type CallContext,
  type CallHearer,
  type CallOwner,
  type InputNeeded,
  type Outcome,
  type StatelessContext,
} from '../../mcp/call.js'
import { subscribed } from '../../mcp/subscriptions.js'
import { traceparentOf } from '../../mcp/trace-edits.js'
import { askClient } from '../input/input-rounds.js'
import type { Answers } from './answers.js'
import type { CatalogView } from '../routing/catalog-view.js'
import type { ClientContext, ClientDirectory } from './client-directory.js'
import type { ClientReports } from './client-reports.js'
import type { FieldReader } from '../../jsonrpc/connection.js'
import { CallDeadline } from '../../mcp/call-deadline.js'
import { tooManyCalls } from '../../mcp/error-codes.js'
import type { Received } from '../../mcp/eras/leg.js'
import type { StatelessClient } from './stateless-client.js'
import type { SeenClient } from './seen-clients.js'

/** Owns the calls of one channel. */
export class ChannelCalls implements CallOwner {
  readonly #calls = new BriefMap<RequestId, Call>()
  /** By the ids of their client. */
  readonly open: Pick<BriefMap<RequestId, Call>, 'has' | 'size'> = this.#calls
  readonly #context: Pick<ClientContext, 'limits' | 'runtime' | 'tracer'>
  readonly #reports: ClientReports
  readonly #answers: Answers
  readonly #rest: () => void
  #last = 0
  #isEnding = false

  /** `rest` is called when a call has ended of a session that ends. */
  constructor(
    context: Pick<ClientContext, 'limits' | 'runtime' | 'tracer'>,
    reports: ClientReports,
    answers: Answers,
    rest: () => void,
  ) {
    this.#context = context
    this.#reports = reports
    this.#answers = answers
    this.#rest = rest
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
    const reports = this.#reports
    const isResult = outcome.kind === 'answered' && outcome.frame.kind === 'result'
    this.#answer(call, outcome)
    // Nearly all outcomes are results, and few programs listen to those.
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
    askClient(call, needed, this.#context.limits.session.input, this.#context.runtime)
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

  /** Each call is answered with this error, and its server gets a cancellation. */
  abandonAll(error: ErrorBody): void {
    for (const call of this.#calls.values()) call.abandon(error)
  }
}

// The calls on one connection that are of no session: nothing that was said on it before has to do with them.

/** A request of a client that has said with it what it is. */
type StatelessRequest = Received & { readonly kind: 'stateless' | 'listen' }

/** The latest request: its `_meta`, its client, and the context of its call. */
interface Latest {
  readonly said: StatelessContext
  readonly client: StatelessClient
  readonly sender: SeenClient
  readonly heard: CallContext
  readonly owner: CallOwner
}

/** Gives each to the client whose it is. */
export class StatelessCalls {
  readonly #directory: ClientDirectory
  readonly #view: CatalogView
  readonly #hearer: CallHearer
  readonly #calls: ChannelCalls
  /** Of the latest request: most say the same of their client. */
  #latest: Latest | undefined

  /** `hearer` is the connection, and `calls` are those that are not answered yet on it. */
  constructor(directory: ClientDirectory, view: CatalogView, hearer: CallHearer, calls: ChannelCalls) {
    this.#directory = directory
    this.#view = view
    this.#hearer = hearer
    this.#calls = calls
  }

  /** Whether a request without a session has come on the connection. */
  get any(): boolean {
    return this.#latest !== undefined
  }

  /** Takes a request over; gives why it cannot be. */
  begin(
    frame: RequestFrame,
    request: StatelessRequest,
    field: FieldReader | undefined,
  ): ErrorBody | undefined {
    const { limits, runtime } = this.#directory.context
    const { row, context } = request
    const latest = this.#calls.open.size < limits.session.callsMax ? this.#clientOf(context) : undefined
    if (latest === undefined) return tooManyCalls()
    const { client, heard, owner, sender } = latest
    sender.begun(context)
    const withField = field === undefined ? heard : { ...heard, field }
    const call = new Call(frame, row, client, new CallDeadline(runtime.now()), owner, withField)
    this.#calls.add(call, field)
    if (request.kind === 'listen') client.listen(call, request.filter)
    else client.route(call)
    return undefined
  }

  /** Undefined when there are too many. */
  #clientOf(said: StatelessContext): Latest | undefined {
    const latest = this.#latest
    if (latest?.said === said && !latest.client.hasLeft && !latest.sender.hasLeft) return latest
    const client = this.#directory.of(said, this.#view)
    if (client === undefined) return undefined
    const sender = this.#directory.sender(said)
    const isKnown = latest?.client === client && latest.sender === sender
    const owner = isKnown ? latest.owner : this.#ownerFor(client, sender)
    this.#latest = { said, client, sender, heard: { ...said, hearer: this.#hearer }, owner }
    return this.#latest
  }

  #ownerFor(client: StatelessClient, sender: SeenClient): CallOwner {
    return {
      settled: (call, outcome) => {
        client.ended(call)
        sender.settled(call, outcome)
        this.#calls.answered(call, outcome)
      },
      needsInput: (call, needed) => client.needsInput(call, needed),
      replaced: (call, by) => this.#calls.replaced(call, by),
    }
  }
}
