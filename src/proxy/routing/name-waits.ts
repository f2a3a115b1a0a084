// Calls that wait until the servers that are starting have listed their names.
//
// One look at all of them follows whatever may end a wait, so that a call which
// is given up leaves nothing behind, and a reload exchanges what the others wait for.

import type { ErrorBody } from '../../jsonrpc/build.js'
import type { FirstLists } from './first-lists.js'
import type { Call } from '../../mcp/call.js'
import { CallQueue, type QueueRoom } from '../../mcp/call-queue.js'
import { tooManyCalls, upstreamFailed } from '../../mcp/error-codes.js'
import { setDeadline } from '../../runtime/deadline.js'
import type { ListKind } from '../../mcp/methods/method-row.js'
import type { Runtime } from '../../runtime/runtime.js'
import type { CallTarget } from '../../upstream/contracts/upstream.js'

/** What a call asks for: a name, at a server that is known to have had it or at any. */
export interface Wanted {
  readonly kind: 'tools' | 'prompts'
  readonly name: string
  /** The server that listed it in an earlier start. */
  readonly lane: CallTarget | undefined
}

/** A call that waits for the servers which may have its name. */
interface NameWait {
  readonly run: () => void
  readonly wanted: Wanted
  /** Those that were told that somebody waits for them. */
  readonly hurried: Set<CallTarget>
}

/** Holds calls back, and says who is held back for which server. */
export class NameWaits {
  readonly #lanes: () => readonly CallTarget[]
  readonly #lists: Pick<FirstLists, 'said'>
  readonly #runtime: Runtime
  readonly #emptied: () => void
  readonly #named: CallQueue<NameWait>
  /** What lanes gave as `listed`, and whether that has come. */
  readonly #listings = new WeakMap<Promise<void>, Map<ListKind, { isOver: boolean }>>()

  /** `lanes` gives them in configuration order; a reload changes them. `emptied` is called when no call waits any more. */
  constructor(
    lanes: () => readonly CallTarget[],
    room: QueueRoom,
    lists: Pick<FirstLists, 'said'>,
    { runtime }: { readonly runtime: Runtime },
    emptied: () => void,
  ) {
    this.#lanes = lanes
    this.#lists = lists
    this.#runtime = runtime
    this.#emptied = emptied
    this.#named = new CallQueue(room)
  }

  /** Calls of this kind that came before may be this lane's and wait still: what comes now must not overtake them. */
  has(lane: CallTarget, kind: Wanted['kind']): boolean {
    if (this.#isOver(lane, kind)) return false
    for (const { value } of this.#named)
      if (value.wanted.kind === kind && concerns(value.wanted, lane)) return true
    return false
  }

  /** Runs `then` once the names of the server that `name` may belong to are known. */
  known(call: Call, wanted: Wanted, then: () => void): void {
    const wait: NameWait = { run: then, wanted, hurried: new Set() }
    const pending = this.#pending(wait)
    if (pending.length === 0) {
      return this.#isOfOne(wanted) ? then() : this.#lists.said(call, [wanted.kind], then)
    }
    if (!this.#named.hasRoom(call.bytes)) return call.fail(tooManyCalls())
    const patienceMs = Math.max(...pending.map((lane) => lane.config.timeoutMs))
    const { deadline } = call
    deadline.times = { timeoutMs: patienceMs, totalTimeoutMs: patienceMs }
    const leftMs = deadline.endsAt - this.#runtime.now()
    const expire = (): void => call.abandon(stillStarting(pending, wanted.name, patienceMs))
    const patience = setDeadline(this.#runtime, leftMs, expire, (to) => deadline.putOff(to))
    this.#named.add(call, wait, () => {
      patience.cancel()
      if (this.#named.size === 0) this.#emptied()
    })
  }

  /**
   * Lets go whose servers are known by now, and whose have left the configuration.
   *
   * All of them are chosen before the first goes on: one that has to wait once more must not fall behind the next.
   */
  look(): void {
    const due = [...this.#named].filter(({ value }) => this.#pending(value).length === 0)
    for (const queued of due) this.#named.take(queued)?.run()
  }

  /** Whether it is known whose name it is: no other server is waited for, or started. */
  #isOfOne({ lane, name }: Wanted): boolean {
    return lane !== undefined || this.#lanes().some((each) => each.config.prefix && mayHave(each, name))
  }

  /** The servers that a call waits for, to the end: what one has may be read once more before it is shown. */
  #pending({ wanted, hurried }: NameWait): CallTarget[] {
    const lanes = this.#lanes().filter((lane) => concerns(wanted, lane))
    for (const lane of lanes) {
      if (lane.known.has(wanted.kind) || hurried.has(lane)) continue
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
    void lane.view.reading(kind)?.then(() => lane.known.has(kind) && end())
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
