// How a client is answered: once for each request, alone or in its batch.

import { BatchReply, Batches } from './batch-reply.js'
import type { Flow } from './flow.js'
import { type ErrorBody, buildError, buildResult } from './jsonrpc/build.js'
import type { Peer } from './jsonrpc/peer.js'
import { type RequestId, canonical } from './jsonrpc/request-id.js'
import type { Wire } from './jsonrpc/splice-parts.js'
import type { WireBytes } from './jsonrpc/splice.js'
import type { Outcome } from './mcp/call.js'
import type { ClientLeg } from './mcp/eras/leg.js'
import { idInUse } from './mcp/error-codes.js'
import type { Question } from './questions.js'

/** Says the answers of one session. */
export class Answers {
  readonly #peer: Peer<Question>
  readonly #leg: ClientLeg
  readonly #flow: Flow
  readonly #batches = new Batches()

  constructor(peer: Peer<Question>, leg: ClientLeg, flow: Flow) {
    this.#peer = peer
    this.#leg = leg
    this.#flow = flow
  }

  /** A batch whose answers leave together. */
  newBatch(): BatchReply {
    return new BatchReply((bytes) => this.#peer.send(bytes))
  }

  /** The request belongs to the batch; false when its id is in use, which the batch then says. */
  expect(id: RequestId, batch: BatchReply, calls: { has(key: RequestId): boolean }): boolean {
    const key = canonical(id)
    if (!calls.has(key) && this.#batches.expect(key, batch)) return true
    batch.add(this.refusal(id, idInUse(id)))
    return false
  }

  /** The id is in use; whoever has it is answered later, alone or in its batch. */
  refuseTwin(id: RequestId): void {
    this.#peer.send(this.refusal(id, idInUse(id)))
    this.#flow.sent()
  }

  /** `result` is raw JSON. */
  reply(id: RequestId, result: string): void {
    this.#say(id, buildResult(id, result))
  }

  refuse(id: RequestId | undefined, error: ErrorBody): void {
    this.#say(id, this.refusal(id, error))
  }

  refusal(id: RequestId | undefined, error: ErrorBody): WireBytes {
    return buildError(id, error, this.#leg.profile.revision.orphanId)
  }

  settle(id: RequestId, outcome: Outcome): void {
    switch (outcome.kind) {
      case 'answered':
        return this.#say(id, this.#peer.answerBytes(outcome.frame, outcome.edits, id))
      case 'result':
        return this.#say(id, buildResult(id, outcome.result))
      case 'failed':
        return this.refuse(id, outcome.error)
      case 'cancelled':
        return this.#say(id, undefined)
    }
  }

  /** The one place from which a request's answer leaves. */
  #say(id: RequestId | undefined, answer: Wire | undefined): void {
    if (this.#batches.takes(id, answer) || answer === undefined) return
    this.#peer.send(answer, id)
    this.#flow.sent()
  }
}
