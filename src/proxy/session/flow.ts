// Back-pressure from one client to its servers: a client that reads too slowly holds them back.
//
// A server that reads too slowly does not hold its clients back, since they have other servers: what it has not taken
// has a limit, and calls above that are refused.

import type { Connection } from '../../jsonrpc/connection.js'
import type { SessionLimits } from '../../limits.js'
import type { SlowReader, Unread } from './unread.js'

export interface FlowParts {
  readonly limits: Pick<SessionLimits, 'backlogBytesMax'>
  /** What this client and all others have not read. */
  readonly unread: Unread
}

/** What a flow pauses and resumes. */
export interface FlowOwner {
  /** Stops or resumes reading what servers say to this client alone. */
  readServers(on: boolean): void
  /** The client leaves more unread than anyone should keep. */
  tooSlow(bytes: number): void
}

/** What flows between one client and its servers, and how fast. */
export class Flow implements SlowReader {
  readonly #connection: Connection
  readonly #parts: FlowParts
  readonly #owner: FlowOwner

  constructor(connection: Connection, parts: FlowParts, owner: FlowOwner) {
    this.#connection = connection
    this.#parts = parts
    this.#owner = owner
  }

  /** Something was sent to the client. */
  sent(): void {
    if (!this.#connection.congested) return
    const { limits } = this.#parts
    this.#owner.readServers(false)
    if (this.backlogBytes > limits.backlogBytesMax) this.tooSlow(this.backlogBytes)
    else this.#parts.unread.add(this)
  }

  get backlogBytes(): number {
    return this.#connection.backlogBytes
  }

  tooSlow(bytes: number): void {
    this.#owner.tooSlow(bytes)
  }

  /** The client is gone. */
  ended(): void {
    this.#parts.unread.remove(this)
  }

  /** The client takes bytes again. */
  drained(): void {
    this.#parts.unread.remove(this)
    this.#owner.readServers(true)
  }
}
