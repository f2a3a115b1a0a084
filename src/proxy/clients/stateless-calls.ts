// The calls on one connection that are of no session: nothing that was said on it before has to do with them.

import type { FieldReader } from '../../jsonrpc/connection.js'
import type { ErrorBody } from '../../jsonrpc/build.js'
import type { RequestFrame } from '../../jsonrpc/frame.js'
import type { RequestId } from '../../jsonrpc/request-id.js'
import {
  Call,
  type CallContext,
  type CallHearer,
  type CallOwner,
  type StatelessContext,
} from '../../mcp/call.js'
import { CallDeadline } from '../../mcp/call-deadline.js'
import { shuttingDown, tooManyCalls } from '../../mcp/error-codes.js'
import type { Received } from '../../mcp/eras/leg.js'
import type { StatelessClient } from './stateless-client.js'
import type { SeenClient } from './seen-clients.js'
import type { ChannelCalls } from './channel-calls.js'
import type { ChannelParts } from './channel-parts.js'

/** A request of a client that has said with it what it is. */
export type StatelessRequest = Received & { readonly kind: 'stateless' | 'listen' | 'discover' }

/** The session on the same connection. */
interface CallsChannel {
  /** `result` is raw JSON. */
  reply(id: RequestId, result: string): void
  /** Whether it takes nothing more. */
  isOver(): boolean
}

/** What a request has said of its client, who that is, and what its call was given. */
interface Latest {
  readonly said: StatelessContext
  readonly guest: StatelessClient
  readonly sender: SeenClient
  readonly heard: CallContext
  readonly owner: CallOwner
}

/** Gives each to the client whose it is. */
export class StatelessCalls {
  readonly #parts: Pick<ChannelParts, 'guests' | 'limits' | 'runtime'>
  readonly #hearer: CallHearer
  readonly #calls: ChannelCalls
  readonly #session: CallsChannel
  /** Of the latest request: most say the same of their client. */
  #latest: Latest | undefined

  /** `hearer` is the connection, and `calls` are those that are not answered yet on it. */
  constructor(
    parts: Pick<ChannelParts, 'guests' | 'limits' | 'runtime'>,
    hearer: CallHearer,
    calls: ChannelCalls,
    session: CallsChannel,
  ) {
    this.#parts = parts
    this.#hearer = hearer
    this.#calls = calls
    this.#session = session
  }

  /** Whether a request without a session has come on the connection. */
  get any(): boolean {
    return this.#latest !== undefined
  }

  /** Takes a request over; gives why it cannot be. */
  take(
    frame: RequestFrame,
    request: StatelessRequest,
    field: FieldReader | undefined,
  ): ErrorBody | undefined {
    if (this.#session.isOver()) return shuttingDown()
    if (request.kind !== 'discover') return this.#begin(frame, request, field)
    this.#session.reply(frame.id, request.reply(this.#parts.guests.describe()))
    return undefined
  }

  #begin(
    frame: RequestFrame,
    request: StatelessRequest & { readonly kind: 'stateless' | 'listen' },
    field: FieldReader | undefined,
  ): ErrorBody | undefined {
    const { limits, runtime } = this.#parts
    const { row, context } = request
    const latest = this.#calls.open.size < limits.callsMax ? this.#clientOf(context) : undefined
    if (latest === undefined) return tooManyCalls()
    const { guest, heard, owner, sender } = latest
    sender.begun(context)
    const withField = field === undefined ? heard : { ...heard, field }
    const call = new Call(frame, row, guest, new CallDeadline(runtime.now()), owner, withField)
    this.#calls.add(call)
    if (request.kind === 'listen') guest.listen(call, request.filter)
    else guest.route(call)
    return undefined
  }

  /** Undefined when there are too many. */
  #clientOf(said: StatelessContext): Latest | undefined {
    const latest = this.#latest
    if (latest?.said === said && !latest.guest.hasLeft && !latest.sender.hasLeft) return latest
    const guest = this.#parts.guests.of(said)
    if (guest === undefined) return undefined
    const sender = this.#parts.guests.sender(said)
    const isKnown = latest?.guest === guest && latest.sender === sender
    const owner = isKnown ? latest.owner : this.#ownerFor(guest, sender)
    this.#latest = { said, guest, sender, heard: { ...said, hearer: this.#hearer }, owner }
    return this.#latest
  }

  #ownerFor(guest: StatelessClient, sender: SeenClient): CallOwner {
    return {
      settled: (call, outcome) => {
        guest.ended(call)
        sender.settled(call, outcome)
        this.#calls.answered(call, outcome)
      },
      needsInput: (call, needed) => guest.needsInput(call, needed),
      replaced: (call, by) => this.#calls.replaced(call, by),
    }
  }
}
