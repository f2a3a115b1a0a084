// Calls that wait until it is known whose name they have: servers are still starting.
//
// One look at all of them follows whatever may end a wait, so that a call which
// is given up leaves nothing behind, and a reload exchanges what the others wait for.

import type { ErrorBody } from './jsonrpc/build.js'
import type { Call } from './mcp/call.js'
import { tooManyCalls, upstreamFailed } from './mcp/error-codes.js'
import { setDeadline } from './transports/deadline.js'
import type { ListKind } from './mcp/method-row.js'
import type { Runtime, Timer } from './upstream/host.js'
import type { Lane } from './upstream/upstream.js'

export interface NameWaitsParts {
  /** In configuration order; a reload changes them. */
  lanes(): readonly Lane[]
  /** Resolves when every server has said what it has, or the grace is over; undefined from then on. */
  listed(): Promise<void> | undefined
  readonly runtime: Runtime
  /** Of all calls that wait here. */
  readonly waitingBytesMax: number
}

/** A call that waits for the servers which may have its name, or for all of them. */
interface Wait {
  readonly call: Call
  readonly run: () => void
  readonly bytes: number
  readonly name: string
  readonly kind: ListKind
  /** Those that were told that somebody waits for them. */
  readonly hurried: Set<Lane>
  patience: Timer | undefined
}

/** Holds calls back, and says who is held back for which server. */
export class NameWaits {
  readonly #parts: NameWaitsParts
  /** In the order in which they came. */
  readonly #named = new Set<Wait>()
  readonly #unlisted = new Map<Promise<void>, Set<Wait>>()
  /** What lanes gave as `listed`, and whether that has come. */
  readonly #listings = new WeakMap<Promise<void>, { isOver: boolean }>()
  #bytes = 0

  constructor(parts: NameWaitsParts) {
    this.#parts = parts
  }

  /** Calls that came before may be this lane's and wait still: what comes now must not overtake them. */
  has(lane: Lane): boolean {
    if (this.#named.size === 0 || this.#isOver(lane)) return false
    for (const { name } of this.#named) if (mayHave(lane, name)) return true
    return false
  }

  /** Runs `then` once the names of the server that `name` may belong to are known. */
  known(call: Call, kind: 'tools' | 'prompts', name: string, then: () => void): void {
    const wait = this.#wait(call, kind, name, then)
    const pending = this.#pending(wait)
    if (pending.length === 0) return this.listed(call, then)
    if (!this.#hold(wait, this.#named)) return
    const patienceMs = Math.max(...pending.map((lane) => lane.config.timeoutMs))
    const leftMs = call.arrivedAt + patienceMs - this.#parts.runtime.now()
    const expire = (): void => call.abandon(stillStarting(pending, name, patienceMs))
    wait.patience = setDeadline(this.#parts.runtime, leftMs, expire, (to) => {
      call.deadline = to
    })
  }

  /** Runs `then` once every server has said what it has, or the grace is over. */
  listed(call: Call, then: () => void): void {
    const listed = this.#parts.listed()
    if (listed === undefined) return then()
    const there = this.#unlisted.get(listed)
    const waits = there ?? new Set<Wait>()
    if (!this.#hold(this.#wait(call, 'tools', '', then), waits) || there !== undefined) return
    this.#unlisted.set(listed, waits)
    void listed.then(() => {
      this.#unlisted.delete(listed)
      for (const wait of waits) this.#go(wait, waits)
    })
  }

  /** Lets go whose servers are known by now, and whose have left the configuration. */
  look(): void {
    for (const wait of this.#named) if (this.#pending(wait).length === 0) this.#go(wait, this.#named)
  }

  #wait(call: Call, kind: ListKind, name: string, run: () => void): Wait {
    return { call, run, kind, name, bytes: call.bytes, hurried: new Set(), patience: undefined }
  }

  /** False when there is no room; one call may be as long as it is. */
  #hold(wait: Wait, waits: Set<Wait>): boolean {
    const { call, bytes } = wait
    if (this.#bytes > 0 && this.#bytes + bytes > this.#parts.waitingBytesMax) {
      call.fail(tooManyCalls())
      return false
    }
    call.keep()
    this.#bytes += bytes
    waits.add(wait)
    call.onCancel = () => void this.#end(wait, waits)
    return true
  }

  /** Whether the call was still waiting. */
  #end(wait: Wait, waits: Set<Wait>): boolean {
    if (!waits.delete(wait)) return false
    this.#bytes -= wait.bytes
    wait.patience?.cancel()
    return true
  }

  #go(wait: Wait, waits: Set<Wait>): void {
    if (!this.#end(wait, waits) || wait.call.settled) return
    wait.call.onCancel = undefined
    wait.run()
  }

  /** The servers that a call waits for, to the end: what one has may be read once more before it is shown. */
  #pending(wait: Wait): Lane[] {
    const lanes = this.#parts.lanes().filter((lane) => mayHave(lane, wait.name))
    for (const lane of lanes) {
      if (lane.knows(wait.kind) || wait.hurried.has(lane)) continue
      wait.hurried.add(lane)
      lane.hurry()
    }
    return lanes.filter((lane) => !this.#isOver(lane))
  }

  /** Whether the lane has said what it has, or could not; what has not is looked at again when it has. */
  #isOver({ listed }: Lane): boolean {
    if (listed === undefined) return true
    const known = this.#listings.get(listed)
    if (known !== undefined) return known.isOver
    const listing = { isOver: false }
    this.#listings.set(listed, listing)
    void listed.then(() => {
      listing.isOver = true
      this.look()
    })
    return false
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
