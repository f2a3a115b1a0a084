// What the large requests of one session have of the memory for all, where answers do not come on the response to them.

import type { Frame } from '../../jsonrpc/frame.js'
import { type RequestId, canonical } from '../../jsonrpc/request-id.js'
import type { Wire } from '../../jsonrpc/splice-parts.js'
import type { Hold } from './hold.js'
import { type Posted, cancelledBy } from './message.js'
import { outgoing } from './outgoing.js'

/** Gives it back as requests are answered; there are no more of them than calls of a session. */
export class Holds {
  readonly #holds = new Map<RequestId, Hold>()

  /** A message comes. */
  took({ frames: [first], hold }: Posted): void {
    if (hold !== undefined && first?.kind === 'request') this.#begin(canonical(first.id), hold)
    else if (first !== undefined && this.#holds.size > 0) this.#cancelled(first)
  }

  /** A message leaves that is about a request. */
  said(wire: Wire, about: RequestId | undefined): void {
    if (about === undefined || this.#holds.size === 0) return
    const key = canonical(about)
    if (this.#holds.has(key) && outgoing(wire) !== 'call') this.#end(key)
  }

  /** The session has ended. */
  clear(): void {
    for (const key of this.#holds.keys()) this.#end(key)
  }

  #begin(key: RequestId, hold: Hold): void {
    this.#end(key)
    hold.begin()
    this.#holds.set(key, hold)
  }

  #cancelled(frame: Frame): void {
    const key = cancelledBy(frame)
    if (key !== undefined) this.#end(key)
  }

  #end(key: RequestId): void {
    this.#holds.get(key)?.end()
    this.#holds.delete(key)
  }
}
