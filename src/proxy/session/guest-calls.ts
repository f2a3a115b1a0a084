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
  type ClientProfile,
  type StatelessContext,
} from '../../mcp/call.js'
import { CallDeadline } from '../../mcp/call-deadline.js'
import { shuttingDown, tooManyCalls } from '../../mcp/error-codes.js'
import type { Received } from '../../mcp/eras/leg.js'
import type { StatelessClient } from '../routing/guest-list.js'
import type { SessionCalls } from './session-calls.js'
import type { SessionParts } from './session-parts.js'

/** A request of a client that has said with it what it is. */
export type GuestRequest = Received & { readonly kind: 'stateless' | 'listen' | 'discover' }

/** The session on the same connection. */
interface GuestSession {
  /** `result` is raw JSON. */
  reply(id: RequestId, result: string): void
  /** Whether it takes nothing more. */
  isOver(): boolean
}

/** Gives each to the client whose it is. */
export class GuestCalls {
  readonly #parts: Pick<SessionParts, 'guests' | 'limits' | 'reports' | 'runtime'>
  readonly #hearer: CallHearer
  readonly #calls: SessionCalls
  readonly #session: GuestSession
  /** What the latest request said of its client, and what its call was given: most requests say the same. */
  #latest: ClientProfile | undefined
  #heard: CallContext | undefined
  readonly #owners = new WeakMap<StatelessClient, CallOwner>()

  /** `hearer` is the connection, and `calls` are those that are not answered yet on it. */
  constructor(
    parts: Pick<SessionParts, 'guests' | 'limits' | 'reports' | 'runtime'>,
    hearer: CallHearer,
    calls: SessionCalls,
    session: GuestSession,
  ) {
    this.#parts = parts
    this.#hearer = hearer
    this.#calls = calls
    this.#session = session
  }

  /** Who is on the connection, as far as anybody has said: in its session, or with requests of their own. */
  shown(profile: ClientProfile): ClientProfile {
    return profile.info === undefined ? (this.#latest ?? profile) : profile
  }

  /** Takes a request over; gives why it cannot be. */
  take(frame: RequestFrame, request: GuestRequest, field: FieldReader | undefined): ErrorBody | undefined {
    if (this.#session.isOver()) return shuttingDown()
    if (request.kind !== 'discover') return this.#begin(frame, request, field)
    this.#session.reply(frame.id, request.reply(this.#parts.guests.describe()))
    return undefined
  }

  #begin(
    frame: RequestFrame,
    request: GuestRequest & { readonly kind: 'stateless' | 'listen' },
    field: FieldReader | undefined,
  ): ErrorBody | undefined {
    const { guests, limits, reports, runtime } = this.#parts
    const { row, context } = request
    const guest = this.#calls.size < limits.callsMax ? guests.of(context) : undefined
    if (guest === undefined) return tooManyCalls()
    reports.attached(context)
    const heard = this.#heardWith(context, field)
    const call = new Call(frame, row, guest, new CallDeadline(runtime.now()), this.#ownerFor(guest), heard)
    this.#calls.add(call)
    if (request.kind === 'listen') guest.listen(call, request.filter)
    else guest.route(call)
    return undefined
  }

  #heardWith(context: StatelessContext, field: FieldReader | undefined): CallContext {
    if (context !== this.#latest || field !== undefined || this.#heard === undefined)
      this.#heard = { ...context, hearer: this.#hearer, field }
    this.#latest = context
    return this.#heard
  }

  #ownerFor(guest: StatelessClient): CallOwner {
    const known = this.#owners.get(guest)
    if (known !== undefined) return known
    const owner: CallOwner = {
      settled: (call, outcome) => {
        guest.ended(call)
        this.#calls.ended(call, outcome)
      },
      needsInput: (call, needed) => guest.needsInput(call, needed),
    }
    this.#owners.set(guest, owner)
    return owner
  }
}
