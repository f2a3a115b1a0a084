// Calls that wait until the servers that are starting have listed their names.
//
// One look at all of them follows whatever may end a wait, so that a call which
// is given up leaves nothing behind, and a reload exchanges what the others wait for.

import type { ErrorBody } from '../../jsonrpc/build.js'
import type { FirstLists } from './first-lists.js'
import type { Call } from '../../mcp/call.js'
import { tooManyCalls, upstreamFailed } from '../../mcp/error-codes.js'
import { setDeadline } from '../../runtime/deadline.js'
import type { ListKind } from '../../mcp/methods/method-row.js'
import type { Runtime, Timer } from '../../runtime/runtime.js'
import type { CallTarget } from '../../upstream/contracts/upstream.js'

export interface NameWaitsParts {
  /** In configuration order; a reload changes them. */
  lanes(): readonly CallTarget[]
  readonly lists: Pick<FirstLists, 'shown' | 'said'>
  readonly runtime: Runtime
  /** Of all calls that wait here. */
  readonly waitingBytesMax: number
}

/** What a call asks for: a name, at a server that is known to have had it or at any; or what several servers list. */
interface Wanted {
  readonly kind: 'tools' | 'prompts'
  readonly name: string
  /** The server that listed it in an earlier start. */
  readonly lane: CallTarget | undefined
}

/** A call that waits for the servers which may have its name, or for all of them. */
interface Wait {
  readonly call: Call
  readonly run: () => void
  readonly bytes: number
  readonly wanted: Wanted | undefined
  /** Those that were told that somebody waits for them. */
  readonly hurried: Set<CallTarget>
  patience: Timer | undefined
}

/** Holds calls back, and says who is held back for which server. */
export class NameWaits {
  readonly #parts: NameWaitsParts
  /** In the order in which they came. */
  readonly #named = new Set<Wait>()
  readonly #unlisted = new Map<Promise<void>, Set<Wait>>()
  /** What lanes gave as `listed`, and whether that has come. */
  readonly #listings = new WeakMap<Promise<void>, Map<ListKind, { isOver: boolean }>>()
  #bytes = 0

  constructor(parts: NameWaitsParts) {
    this.#parts = parts
  }

  /** Calls of this kind that came before may be this lane's and wait still: what comes now must not overtake them. */
  has(lane: CallTarget, kind: Wanted['kind']): boolean {
    if (this.#named.size === 0 || this.#isOver(lane, kind)) return false
    for (const { wanted } of this.#named) if (wanted?.kind === kind && concerns(wanted, lane)) return true
    return false
  }

  /** Runs `then` once the names of the server that `name` may belong to are known. */
  known(call: Call, wanted: Wanted, then: () => void): void {
    const wait = this.#wait(call, wanted, then)
    const pending = this.#pending(wanted, wait.hurried)
    if (pending.length === 0) {
      return wanted.lane === undefined
        ? this.#until(this.#parts.lists.said([wanted.kind]), call, then)
        : then()
    }
    if (!this.#hold(wait, this.#named)) return
    const patienceMs = Math.max(...pending.map((lane) => lane.config.timeoutMs))
    const { deadline } = call
    deadline.allow({ timeoutMs: patienceMs, totalTimeoutMs: patienceMs })
    const leftMs = deadline.endsAt - this.#parts.runtime.now()
    const expire = (): void => call.abandon(stillStarting(pending, wanted.name, patienceMs))
    wait.patience = setDeadline(this.#parts.runtime, leftMs, expire, (to) => deadline.putOff(to))
  }

  /** Runs `then` once these lists can be shown, or the grace is over. */
  shown(call: Call, kind: ListKind, then: () => void): void {
    this.#until(this.#parts.lists.shown([kind]), call, then)
  }

  /** Runs `then` once every server has said what it has of these, or the grace is over. */
  said(call: Call, kinds: readonly ListKind[], then: () => void): void {
    this.#until(this.#parts.lists.said(kinds), call, then)
  }

  #until(listed: Promise<void> | undefined, call: Call, then: () => void): void {
    if (listed === undefined) return then()
    const there = this.#unlisted.get(listed)
    const waits = there ?? new Set<Wait>()
    if (!this.#hold(this.#wait(call, undefined, then), waits) || there !== undefined) return
    this.#unlisted.set(listed, waits)
    void listed.then(() => {
      this.#unlisted.delete(listed)
      for (const wait of waits) this.#go(wait, waits)
    })
  }

  /** Lets go whose servers are known by now, and whose have left the configuration. */
  look(): void {
    for (const wait of this.#named) {
      const { wanted, hurried } = wait
      if (wanted === undefined || this.#pending(wanted, hurried).length === 0) this.#go(wait, this.#named)
    }
  }

  #wait(call: Call, wanted: Wanted | undefined, run: () => void): Wait {
    return { call, run, wanted, bytes: call.bytes, hurried: new Set(), patience: undefined }
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
  #pending(wanted: Wanted, hurried: Set<CallTarget>): CallTarget[] {
    const lanes = this.#parts.lanes().filter((lane) => concerns(wanted, lane))
    for (const lane of lanes) {
      if (lane.knows(wanted.kind) || hurried.has(lane)) continue
      hurried.add(lane)
      lane.hurry()
    }
    return lanes.filter((lane) => !this.#isOver(lane, wanted.kind))
  }

  /** Whether the lane has said what it has of this, or could not; what has not is looked at again when it has. */
  #isOver(lane: CallTarget, kind: ListKind): boolean {
    const { listed } = lane.view
    if (listed === undefined) return true
    const kinds = this.#listings.get(listed) ?? new Map<ListKind, { isOver: boolean }>()
    const known = kinds.get(kind)
    if (known !== undefined) return known.isOver
    const listing = { isOver: false }
    this.#listings.set(listed, kinds.set(kind, listing))
    const end = (): void => {
      if (listing.isOver) return
      listing.isOver = true
      this.look()
    }
    // What could not be read is asked for again, and what is there need not wait for lists of other kinds.
    void lane.view.reading(kind)?.then(() => lane.knows(kind) && end())
    void listed.then(end)
    return false
  }
}

function concerns({ lane: known, name }: Wanted, lane: CallTarget): boolean {
  return known === undefined ? mayHave(lane, name) : lane === known
}

/** Whether a name reads as one of this server's, for servers whose names are not known. */
export function mayHave(lane: CallTarget, name: string): boolean {
  return lane.config.prefix ? name.startsWith(`${lane.config.name}__`) : true
}

function stillStarting([lane]: readonly CallTarget[], name: string, ms: number): ErrorBody {
  const service = lane?.config.name ?? ''
  const message = `'${service}': it is still starting, and '${name}' had to be there within ${ms} ms (timeout)`
  return upstreamFailed(service, 'timeout', message, { name, budget: 'timeout', ms })
}
