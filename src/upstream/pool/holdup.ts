// Whether a server that has much to read holds up those who call it.
//
// One that is slow takes something now and then, and whoever calls it waits for
// that. One that takes nothing at all is stuck, and its callers have other servers
// to call: what it is still sent has a limit of its own.

import type { Connection } from '../../jsonrpc/connection.js'

/** So long without taking anything, and a server is stuck. */
const STUCK_MS = 50

/** One server that does not keep up. */
export class Holdup {
  #departed: number | undefined
  #sinceMs = 0

  /** The server keeps up. */
  over(): void {
    this.#sinceMs = 0
  }

  /** Whether callers are to be slowed down for a server whose connection is congested. */
  slows({ traffic }: Connection, nowMs: number): boolean {
    const departed = traffic?.departed
    if (this.#sinceMs === 0 || departed !== this.#departed) {
      this.#departed = departed
      this.#sinceMs = nowMs
    }
    return nowMs - this.#sinceMs < STUCK_MS
  }
}
