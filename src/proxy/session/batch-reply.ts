// The answers to one batch, which leave together (JSON-RPC 2.0 section 6).

import { buildBatch } from '../../jsonrpc/build.js'
import { type RequestId, canonical } from '../../jsonrpc/request-id.js'
import { type Wire, joinedWire } from '../../jsonrpc/fast/splice-parts.js'
import type { WireBytes } from '../../jsonrpc/splice.js'

/** Collects answers until every request of a batch has one, or will have none. */
export class BatchReply {
  readonly #send: (bytes: WireBytes) => void
  readonly #answers: WireBytes[] = []
  #open = 0
  #sealed = false

  constructor(send: (bytes: WireBytes) => void) {
    this.#send = send
  }

  /** One more request that will be answered. */
  expect(): void {
    this.#open++
  }

  /** `answer` is undefined for a request that its client cancelled. */
  settle(answer: WireBytes | undefined): void {
    this.#open--
    if (answer !== undefined) this.#answers.push(answer)
    this.#leave()
  }

  /** An answer to a member that was no request. */
  add(answer: WireBytes): void {
    this.#answers.push(answer)
  }

  /** Every member has been read. */
  seal(): void {
    this.#sealed = true
    this.#leave()
  }

  /** A batch of notifications has no answer at all. */
  #leave(): void {
    if (this.#sealed && this.#open === 0 && this.#answers.length > 0) this.#send(buildBatch(this.#answers))
  }
}

/** The batches of one session whose answers have not all come. */
export class Batches {
  /** Made for the first batch: most clients send none. */
  #replies: Map<RequestId, BatchReply> | undefined

  /** The request with this key belongs to a batch; false when another with the same key does. */
  expect(key: RequestId, reply: BatchReply): boolean {
    this.#replies ??= new Map()
    if (this.#replies.has(key)) return false
    reply.expect()
    this.#replies.set(key, reply)
    return true
  }

  /** Whether the answer was taken, since it leaves in a batch. */
  takes(id: RequestId | undefined, answer: Wire | undefined): boolean {
    if (id === undefined || this.#replies === undefined || this.#replies.size === 0) return false
    const key = canonical(id)
    const reply = this.#replies.get(key)
    this.#replies.delete(key)
    reply?.settle(answer && joinedWire(answer))
    return reply !== undefined
  }
}
