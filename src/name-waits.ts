// Calls that wait until it is known whose name they have: servers are still starting.

import type { ErrorBody } from './jsonrpc/build.js'
import type { Call } from './mcp/call.js'
import { upstreamFailed } from './mcp/error-codes.js'
import type { Runtime } from './upstream/host.js'
import type { Lane } from './upstream/upstream.js'
import { within } from './upstream/within.js'

export interface NameWaitsParts {
  /** In configuration order; a reload changes them. */
  lanes(): readonly Lane[]
  /** Resolves when every server has said what it has, or the grace is over; undefined from then on. */
  listed(): Promise<void> | undefined
  readonly runtime: Runtime
}

/** Holds calls back, and says who is held back for which server. */
export class NameWaits {
  readonly #parts: NameWaitsParts
  /** Their names. */
  readonly #waiting = new Set<{ readonly name: string }>()

  constructor(parts: NameWaitsParts) {
    this.#parts = parts
  }

  /** Calls that came before may be this lane's and wait still: what comes now must not overtake them. */
  has(lane: Lane): boolean {
    for (const { name } of this.#waiting) if (mayHave(lane, name)) return true
    return false
  }

  /** Runs `then` once the names of the server that `name` may belong to are known. */
  known(call: Call, name: string, then: () => void): void {
    const pending = this.#parts
      .lanes()
      // Whoever comes when it is known waits behind those that wait for it.
      .filter((lane) => mayHave(lane, name) && (!lane.known || this.has(lane)))
    const waiting = { name }
    this.#waiting.add(waiting)
    const gone = (): void => {
      this.#waiting.delete(waiting)
    }
    const go = (): void => {
      gone()
      if (!call.settled) then()
    }
    if (pending.length === 0) return this.#listed(call, go)
    for (const lane of pending) lane.wake()
    call.keep()
    const patienceMs = Math.max(...pending.map((lane) => lane.config.timeoutMs))
    const leftMs = call.arrivedAt + patienceMs - this.#parts.runtime.now()
    const known = Promise.all(pending.map((lane) => lane.listed))
    void within(known, leftMs, this.#parts.runtime).then((listed) => {
      if (listed !== undefined) return go()
      gone()
      if (!call.settled) call.fail(stillStarting(pending, name, patienceMs))
    })
  }

  /** Runs `then` once every server has said what it has, or the grace is over. */
  listed(call: Call, then: () => void): void {
    this.#listed(call, () => {
      if (!call.settled) then()
    })
  }

  #listed(call: Call, then: () => void): void {
    const listed = this.#parts.listed()
    if (listed === undefined) return then()
    call.keep()
    void listed.then(then)
  }
}

/** Whether a name reads as one of this server's, for servers whose names are not known. */
export function mayHave(lane: Lane, name: string): boolean {
  return lane.config.prefix ? name.startsWith(`${lane.config.name}__`) : true
}

function stillStarting([lane]: readonly Lane[], name: string, ms: number): ErrorBody {
  const service = lane?.config.name ?? ''
  const message = `'${service}': it is still starting, and '${name}' had to be there within ${ms} ms (timeout)`
  return upstreamFailed(service, 'timeout', message, { name, budget: 'timeout', ms })
}
