// A client that may speak either era, message by message.
//
// MCP 2026-07-28, Versioning: a server may serve both at once on one connection. A request that names a revision
// in `_meta` is stateless; every other belongs to the session.

import type { ErrorBody } from '../../jsonrpc/build.js'
import type { NotificationFrame, RequestFrame } from '../../jsonrpc/frame.js'
import type { RequestId } from '../../jsonrpc/request-id.js'
import type { WireBytes } from '../../jsonrpc/splice.js'
import type { Call, CallContext, Outcome } from '../call.js'
import { requestMeta } from '../meta-keys.js'
import type { SessionClientLeg } from './session-client-leg.js'
import type { Answer, ClientLeg, ClientVoice, Received, ReceivedNotification } from './leg.js'
import type { StatelessClientLeg } from './stateless-client-leg.js'

/** Only stateless clients have these methods; without a revision in `_meta` the stateless leg says what is missing. */
const STATELESS: readonly string[] = ['server/discover', 'subscriptions/listen']

/** Gives each message to the leg of its era. */
export class AnyClientLeg implements ClientLeg {
  readonly #legacy: SessionClientLeg
  readonly #modern: StatelessClientLeg

  constructor(legacy: SessionClientLeg, modern: StatelessClientLeg) {
    this.#legacy = legacy
    this.#modern = modern
  }

  get profile(): CallContext {
    return this.#legacy.profile
  }

  get batching(): boolean {
    return this.#legacy.batching
  }

  received(frame: RequestFrame): Received {
    return claims(frame) || STATELESS.includes(frame.method)
      ? this.#modern.received(frame)
      : this.#legacy.received(frame)
  }

  receivedNotification(frame: NotificationFrame): ReceivedNotification {
    return this.#legacy.receivedNotification(frame)
  }

  answer(call: Call, outcome: Outcome, voice: ClientVoice): Answer | undefined {
    const leg = call.context.revision.era === 'stateless' ? this.#modern : this.#legacy
    return leg.answer(call, outcome, voice)
  }

  refusal(id: RequestId | undefined, error: ErrorBody): WireBytes {
    return this.#legacy.refusal(id, error)
  }
}

/** Whether a message claims to be stateless: it names its revision, right or wrong. */
export function claims({ params }: RequestFrame | NotificationFrame): boolean {
  return params.metaSpan !== undefined && params.meta.span(requestMeta.version) !== undefined
}
