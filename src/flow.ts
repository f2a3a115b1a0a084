// Back-pressure between one client and its servers.
//
// A client that reads too slowly holds its servers back. A server that takes
// nothing slows its client down, but never stops it: there are other servers.

import type { Connection } from './jsonrpc/connection.js'
import type { SessionLimits } from './limits.js'
import type { SlowReader, Unread } from './unread.js'
import type { Runtime, Timer } from './upstream/host.js'

export interface FlowParts {
  readonly connection: Connection
  readonly limits: Pick<SessionLimits, 'backlogBytesMax' | 'slowDownMs'>
  readonly runtime: Runtime
  /** What this client and all others have not read. */
  readonly unread: Unread
  /** Stops or resumes reading what servers say to this client alone. */
  readServers(on: boolean): void
  /** The client leaves more unread than anyone should keep. */
  tooSlow(bytes: number): void
}

/** What flows between one client and its servers, and how fast. */
export class Flow implements SlowReader {
  readonly #parts: FlowParts
  #slowedDown: Timer | undefined

  constructor(parts: FlowParts) {
    this.#parts = parts
  }

  /** Something was sent to the client. */
  sent(): void {
    const { connection, limits } = this.#parts
    if (!connection.congested) return
    this.#parts.readServers(false)
    if (this.backlogBytes > limits.backlogBytesMax) this.tooSlow(this.backlogBytes)
    else this.#parts.unread.add(this)
  }

  get backlogBytes(): number {
    return this.#parts.connection.backlogBytes
  }

  tooSlow(bytes: number): void {
    this.#parts.tooSlow(bytes)
  }

  /** The client is gone. */
  ended(): void {
    this.#parts.unread.remove(this)
  }

  /** The client takes bytes again. */
  drained(): void {
    this.#parts.unread.remove(this)
    this.#parts.readServers(true)
  }

  /** A server takes nothing. */
  slowDown(): void {
    if (this.#slowedDown !== undefined) return
    const { connection, limits, runtime } = this.#parts
    connection.read(false)
    this.#slowedDown = runtime.setTimer(limits.slowDownMs, () => this.resume())
  }

  resume(): void {
    if (this.#slowedDown === undefined) return
    this.#slowedDown.cancel()
    this.#slowedDown = undefined
    this.#parts.connection.read(true)
  }
}
