// The calls on one connection that are of no session: nothing that was said on it before has to do with them.

import type { ErrorBody } from '../../jsonrpc/build.js'
import type { RequestFrame } from '../../jsonrpc/frame.js'
import { Call, type CallHearer, type CallOwner, type StatelessContext } from '../../mcp/call.js'
import { CallDeadline } from '../../mcp/call-deadline.js'
import { tooManyCalls } from '../../mcp/error-codes.js'
import type { RequestRow } from '../../mcp/methods/method-row.js'
import type { StatelessClient } from '../routing/guest-list.js'
import type { SessionCalls } from './session-calls.js'
import type { SessionParts } from './session-parts.js'

/** A request of a client that has said with it what it is. */
export interface GuestRequest {
  readonly row: RequestRow
  readonly context: StatelessContext
}

/** Gives each to the client whose it is. */
export class GuestCalls {
  readonly #parts: Pick<SessionParts, 'guests' | 'limits' | 'reports' | 'runtime'>
  readonly #hearer: CallHearer
  readonly #calls: SessionCalls

  /** `hearer` is the connection, and `calls` are those that are not answered yet on it. */
  constructor(
    parts: Pick<SessionParts, 'guests' | 'limits' | 'reports' | 'runtime'>,
    hearer: CallHearer,
    calls: SessionCalls,
  ) {
    this.#parts = parts
    this.#hearer = hearer
    this.#calls = calls
  }

  /** Begins a call; gives why it cannot begin. */
  begin(frame: RequestFrame, { row, context }: GuestRequest): ErrorBody | undefined {
    const { guests, limits, reports, runtime } = this.#parts
    const guest = this.#calls.size < limits.callsMax ? guests.of(context) : undefined
    if (guest === undefined) return tooManyCalls()
    reports.attached(context)
    const heard = { ...context, hearer: this.#hearer }
    const call = new Call(frame, row, guest, new CallDeadline(runtime.now()), this.#ownerFor(guest), heard)
    this.#calls.add(call)
    guest.route(call)
    return undefined
  }

  #ownerFor(guest: StatelessClient): CallOwner {
    return {
      settled: (call, outcome) => {
        guest.ended(call)
        this.#calls.settled(call, outcome)
      },
    }
  }
}
