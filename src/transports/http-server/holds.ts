// The memory reservations of one session whose answers do not leave on the response to the request.

import type { MessageHead } from '../../jsonrpc/connection.js'
import type { Frame } from '../../jsonrpc/frame.js'
import { type RequestId, canonical } from '../../jsonrpc/request-id.js'
import type { BodyReservation, PostedMessage } from './body.js'
import { cancelledBy } from './message.js'

/** Gives it back as requests are answered; there are no more of them than calls of a session. */
export class Holds {
  readonly #holds = new Map<RequestId, BodyReservation>()
  /** Those of batches, by the first request of each: the answers to a batch leave together, and name none. */
  readonly #batches = new Set<RequestId>()

  /** A message comes. */
  took({ frames: [first], keys: [key], hold, isBatch: isOfBatch }: PostedMessage): void {
    if (hold !== undefined && key !== undefined) this.#begin(key, hold, isOfBatch)
    else if (first !== undefined && this.#holds.size > 0) this.#cancelled(first)
  }

  /** A message leaves, which may be about a request. */
  said({ kind, about }: MessageHead): void {
    if (this.#holds.size === 0) return
    if (kind === 'batch') return this.#answeredBatch()
    const isAnswer = kind === 'result' || kind === 'error'
    if (isAnswer && about !== undefined) this.#end(canonical(about))
  }

  /** The session has ended. */
  clear(): void {
    for (const key of this.#holds.keys()) this.#end(key)
  }

  #begin(key: RequestId, hold: BodyReservation, isOfBatch: boolean): void {
    this.#end(key)
    hold.begin()
    this.#holds.set(key, hold)
    if (isOfBatch) this.#batches.add(key)
  }

  /** It cannot be told which batch has its answers now; those of others are soon to come. */
  #answeredBatch(): void {
    for (const key of this.#batches) this.#end(key)
  }

  #cancelled(frame: Frame): void {
    const key = cancelledBy(frame)
    if (key !== undefined) this.#end(key)
  }

  #end(key: RequestId): void {
    this.#holds.get(key)?.end()
    this.#holds.delete(key)
    this.#batches.delete(key)
  }
}
