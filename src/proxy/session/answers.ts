// Sends the answers to a client: each request is answered once, alone or in its batch.

import { BatchReply, Batches } from './batch-reply.js'
import type { Flow } from './flow.js'
import { type ErrorBody, buildResult } from '../../jsonrpc/build.js'
import { type AnswerKind, answerHead } from '../../jsonrpc/message-head.js'
import type { Peer } from '../../jsonrpc/peer.js'
import { type RequestId, canonical } from '../../jsonrpc/request-id.js'
import type { Wire } from '../../jsonrpc/fast/splice-parts.js'
import type { WireBytes } from '../../jsonrpc/splice.js'
import type { Call, Outcome } from '../../mcp/call.js'
import type { ClientLeg } from '../../mcp/eras/leg.js'
import { idInUse } from '../../mcp/error-codes.js'
import type { Opening } from './opening.js'
import type { Question } from './questions.js'

/** Says the answers of one session. */
export class Answers {
  readonly #peer: Peer<Question>
  readonly #leg: ClientLeg
  readonly #flow: Flow
  readonly #opening: Opening
  readonly #batches = new Batches()

  constructor(peer: Peer<Question>, leg: ClientLeg, flow: Flow, opening: Opening) {
    this.#peer = peer
    this.#leg = leg
    this.#flow = flow
    this.#opening = opening
  }

  /** A batch whose answers leave together. */
  newBatch(): BatchReply {
    return new BatchReply((bytes) => this.#inTurn('batch', undefined, bytes))
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
    this.#inTurn('error', undefined, this.refusal(id, idInUse(id)))
  }

  /** `result` is raw JSON. */
  reply(id: RequestId, result: string): void {
    const answer = buildResult(id, result)
    if (!this.#batches.takes(id, answer)) this.#inTurn('result', id, answer)
  }

  pong(id: RequestId): void {
    const answer = buildResult(id, '{}')
    if (!this.#batches.takes(id, answer))
      this.#opening.ping(answer.length, () => this.#send('result', id, answer))
  }

  refuse(id: RequestId | undefined, error: ErrorBody): void {
    const answer = this.refusal(id, error)
    if (!this.#batches.takes(id, answer)) this.#inTurn('error', id, answer)
  }

  refusal(id: RequestId | undefined, error: ErrorBody): WireBytes {
    return this.#leg.refusal(id, error)
  }

  /** A call has ended: one that came before `initialize`, or behind its answer. */
  settle(call: Call, outcome: Outcome): void {
    const { id } = call.frame
    const answer = this.#leg.answer(call, outcome, this.#peer)
    if (!this.#batches.takes(id, answer) && answer !== undefined) this.#send(kindOf(outcome), id, answer)
  }

  /** What the proxy answers by itself leaves behind the answer to an `initialize` that came before. */
  #inTurn(kind: AnswerKind, id: RequestId | undefined, answer: WireBytes): void {
    this.#opening.behind(answer.length, () => this.#send(kind, id, answer))
  }

  /** The one place from which answers leave. */
  #send(kind: AnswerKind, id: RequestId | undefined, answer: Wire): void {
    this.#peer.send(answer, answerHead(kind, id))
    this.#flow.sent()
  }
}

function kindOf(outcome: Outcome): AnswerKind {
  if (outcome.kind === 'answered') return outcome.frame.kind
  return outcome.kind === 'result' ? 'result' : 'error'
}
