// A client that may speak either era, message by message.
//
// MCP 2026-07-28, Versioning: a server may serve both at once on one connection. Whoever names a revision in `_meta`
// is taken at its word; what does not belongs to the session.

import type { ErrorBody } from '../../jsonrpc/build.js'
import type { NotificationFrame, RequestFrame } from '../../jsonrpc/frame.js'
import type { RequestId } from '../../jsonrpc/request-id.js'
import type { Wire } from '../../jsonrpc/fast/splice-parts.js'
import type { WireBytes } from '../../jsonrpc/splice.js'
import type { Call, ClientProfile, Outcome } from '../call.js'
import type { LegacyClientLeg } from './legacy-client.js'
import type { ClientLeg, ClientVoice, Received, Told } from './leg.js'
import { type ModernClientLeg, isStateless } from './modern-client.js'
import { claims } from './request-context.js'

/** Gives each message to the leg of its era. */
export class AnyClientLeg implements ClientLeg {
  readonly #legacy: LegacyClientLeg
  readonly #modern: ModernClientLeg

  constructor(legacy: LegacyClientLeg, modern: ModernClientLeg) {
    this.#legacy = legacy
    this.#modern = modern
  }

  get profile(): ClientProfile {
    return this.#legacy.profile
  }

  get batching(): boolean {
    return this.#legacy.batching
  }

  received(frame: RequestFrame): Received {
    const leg = claims(frame) || isStateless(frame.method) ? this.#modern : this.#legacy
    return leg.received(frame)
  }

  told(frame: NotificationFrame): Told {
    return this.#legacy.told(frame)
  }

  answer(call: Call, outcome: Outcome, voice: ClientVoice): Wire | undefined {
    const leg = call.context.revision.form === 'typed' ? this.#modern : this.#legacy
    return leg.answer(call, outcome, voice)
  }

  refusal(id: RequestId | undefined, error: ErrorBody): WireBytes {
    return this.#legacy.refusal(id, error)
  }
}
