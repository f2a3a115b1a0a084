// The answers to one batch, which leave together (JSON-RPC 2.0 section 6).

import { buildBatch } from '../../jsonrpc/build.js'
import type { WireBytes } from '../../jsonrpc/splice.js'

/** Collects answers until every request of a batch has one, or will have none. */
export class BatchReply {
  readonly #send: (bytes: WireBytes) => void
  readonly #answers: WireBytes[] = []
  /** Requests without an answer, and one more until every member has been read. */
  #open = 1

  constructor(send: (bytes: WireBytes) => void) {
    this.#send = send
  }

  /** One more request that will be answered. */
  expect(): void {
    this.#open++
  }

  /** An answer to a member that is no request, or that is refused for its id. */
  add(answer: WireBytes): void {
    this.#answers.push(answer)
  }

  /** A request is answered, or every member has been read; `answer` is undefined then, and for a request that was cancelled. */
  settle(answer: WireBytes | undefined): void {
    this.#open--
    if (answer !== undefined) this.add(answer)
    // A batch of notifications has no answer at all.
    if (this.#open === 0 && this.#answers.length > 0) this.#send(buildBatch(this.#answers))
  }
}
