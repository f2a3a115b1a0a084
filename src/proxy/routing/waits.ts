// How long a list waits for servers that are starting and of which nothing is known.
//
// Most clients list once, right after `initialize`. They never see an item that
// comes later.

import type { Catalog } from './catalog.js'
import type { Call } from '../../mcp/call.js'
import { CallQueue, type QueueRoom } from '../../mcp/call-queue.js'
import { tooManyCalls, upstreamFailed } from '../../mcp/error-codes.js'
import type { ListKind } from '../../mcp/methods.js'
import type { Runtime } from '../../runtime/runtime.js'
import type { CallTarget } from '../../upstream/contracts/upstream.js'
import { within, setDeadline } from '../../runtime/deadline.js'
import type { ErrorBody } from '../../jsonrpc/build.js'

/** A server that a list waits for. */
interface Pending {
  readonly lane: CallTarget
  readonly over: Promise<unknown>
  readonly leftMs: number
}

/** The waits of one client's lists. */
export class FirstLists {
  readonly #lanes: () => readonly CallTarget[]
  readonly #room: QueueRoom
  readonly #runtime: Runtime
  readonly #holdStarts: (answered: Promise<unknown>) => void
  #beganAt: number
  /** The client has cancelled a list that waited: it gets the next ones without a wait. */
  #isGivenUp = false
  /** Calls that wait for the same lists. */
  readonly #waits = new Map<string, CallQueue<() => void>>()

  /** A reload changes what `lanes` gives. The grace of each server is counted from its start. Processes that no call waits for start after the promise that `holdStarts` gets. */
  constructor(
    lanes: () => readonly CallTarget[],
    room: QueueRoom,
    runtime: Runtime,
    holdStarts: (answered: Promise<unknown>) => void,
  ) {
    this.#lanes = lanes
    this.#room = room
    this.#runtime = runtime
    this.#holdStarts = holdStarts
    this.#beganAt = runtime.now()
  }

  /** Runs `then` once every server has listed these or could not, or its grace is over. */
  shown(call: Call, kind: ListKind, then: () => void): void {
    this.#wake([kind])
    const pending = this.#isGivenUp ? [] : this.#unknown(kind)
    const isDue = pending.every(({ leftMs }) => leftMs <= 0)
    this.#until(`shown ${kind}`, pending, call, then)
    if (!isDue && !call.settled) this.#tellProgress(call, pending)
  }

  /** The same, for a call that must not rely on what was kept of an earlier start; of these servers. */
  said(
    call: Call,
    kinds: readonly ListKind[],
    then: () => void,
    lanes: readonly CallTarget[] = this.#lanes(),
  ): void {
    this.#wake(kinds, lanes)
    const expected = lanes.filter(({ view }) => view.expected)
    // A start that is put off begins now, as it does for a call; no other server is started for this.
    for (const lane of expected) if (!kinds.every((kind) => lane.known.has(kind))) lane.view.startNow()
    const reading = expected.flatMap((lane) =>
      kinds.flatMap((kind) => (lane.known.has(kind) ? [] : this.#pending(lane, lane.view.reading(kind)))),
    )
    const whose = lanes.length === this.#lanes().length ? [] : lanes.map(({ config }) => config.name)
    this.#until(['said', ...kinds, ...whose].join(' '), reading, call, then)
  }

  /** Resolves when all that is on its way has come, or its grace is over; undefined when nothing is. */
  settled(): Promise<unknown> | undefined {
    const coming = this.#lanes().filter(({ view }) => view.expected)
    const pending = coming.flatMap((lane) => this.#pending(lane, lane.view.listed))
    return pending.every(({ leftMs }) => leftMs <= 0) ? undefined : this.#over(pending)
  }

  /** The servers that a list waits for. */
  #unknown(kind: ListKind): Pending[] {
    const lanes = this.#lanes()
    const pending = lanes.flatMap((lane) => {
      const over = lane.view.pending(kind)
      // Its start may be put off, behind this very list.
      if (over !== undefined) lane.view.startNow()
      return this.#pending(lane, over)
    })
    if (pending.length > 0 || lanes.some(({ view }) => view.items(kind).length > 0)) return pending
    // An empty list looks as if there were nothing, so it also waits for servers that failed at their last start. What
    // is kept of a server says whether it has such a list.
    const starting = lanes.filter(
      ({ view, known }) => view.state === 'starting' && view.facts === undefined && !known.has(kind),
    )
    return starting.flatMap((lane) => {
      lane.view.startNow()
      return this.#pending(lane, lane.view.reading(kind))
    })
  }

  #pending(lane: CallTarget, over: Promise<unknown> | undefined): Pending[] {
    if (over === undefined) return []
    return [{ lane, over, leftMs: this.#beganAt + lane.view.graceMs - this.#runtime.now() }]
  }

  #over(pending: readonly Pending[]): Promise<unknown> {
    return Promise.all(pending.map(({ over, leftMs }) => within(over, Math.max(0, leftMs), this.#runtime)))
  }

  #until(what: string, pending: readonly Pending[], call: Call, then: () => void): void {
    if (pending.every(({ leftMs }) => leftMs <= 0)) return then()
    const key = `${what} ${this.#beganAt}`
    const known = this.#waits.get(key)
    const waiting = known ?? new CallQueue<() => void>(this.#room)
    if (!waiting.hasRoom(call.bytes)) return call.fail(tooManyCalls())
    waiting.add(call, then, () => {
      if (what.startsWith('shown') && this.#waits.get(key) === waiting) this.#giveUp(pending)
    })
    if (known !== undefined) return
    this.#waits.set(key, waiting)
    const over = this.#over(pending)
    this.#holdStarts(over)
    void over.then(() => {
      this.#waits.delete(key)
      for (const wait of waiting) waiting.take(wait)?.()
    })
  }

  /** The client has cancelled the list, or left: its next list, and the first one of the next start, do not wait. */
  #giveUp(pending: readonly Pending[]): void {
    this.#isGivenUp = true
    for (const { lane } of pending) lane.view.giveUp()
  }

  /** A client that gave a progress token gets the number of servers that have listed (MCP, Utilities: progress). */
  #tellProgress(call: Call, pending: readonly Pending[]): void {
    const span = call.frame.params.meta.span('progressToken')
    if (span === undefined) return
    const token = call.raw(span)
    const total = this.#lanes().length
    let there = total - pending.length
    const report = (): void => {
      if (call.settled) return
      const progress = `"progress":${there},"total":${total},"message":"${there} of ${total} servers are there"`
      call.notify('notifications/progress', `{"progressToken":${token},${progress}}`)
    }
    report()
    for (const { over } of pending) {
      void over.then(() => {
        there++
        report()
      })
    }
  }

  /** Servers that start when a client asks for their lists start now, and have the whole grace. */
  #wake(kinds: readonly ListKind[], lanes = this.#lanes()): void {
    const woken = lanes.filter((lane) => lane.view.wake(kinds))
    if (woken.length > 0) this.#beganAt = this.#runtime.now()
  }
}

// Calls that wait until the servers that are starting have listed their names.
//
// One look at all of them follows each end of a wait, so that a call which
// is given up leaves nothing behind, and a reload exchanges what the others wait for.

/** The name that a call asks for, at one server or at any. */
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
  /** The lanes on which `hurry` was called. */
  readonly hurried: Set<CallTarget>
}

/** Holds calls back, and says who is held back for which server. */
export class NameWaits {
  readonly #lanes: () => readonly CallTarget[]
  readonly #catalog: () => Catalog
  readonly #lists: Pick<FirstLists, 'said'>
  readonly #runtime: Runtime
  readonly #emptied: () => void
  readonly #named: CallQueue<NameWait>
  /** Promises that lanes gave as `listed`, and whether they have resolved. */
  readonly #listings = new WeakMap<Promise<void>, Map<ListKind, { isOver: boolean }>>()

  /** A reload changes what `lanes` and `catalog` give. `emptied` is called when no call waits any more. */
  constructor(
    lanes: () => readonly CallTarget[],
    catalog: () => Catalog,
    room: QueueRoom,
    lists: Pick<FirstLists, 'said'>,
    runtime: Runtime,
    emptied: () => void,
  ) {
    this.#lanes = lanes
    this.#catalog = catalog
    this.#lists = lists
    this.#runtime = runtime
    this.#emptied = emptied
    this.#named = new CallQueue(room)
  }

  /** Calls of this kind that came before may be this lane's and wait still: what comes now must not overtake them. */
  has(lane: CallTarget, kind: Wanted['kind']): boolean {
    if (this.#isOver(lane, kind)) return false
    for (const { value } of this.#named)
      if (value.wanted.kind === kind && this.#concerns(value.wanted, lane)) return true
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
   * Releases calls whose servers have listed or have left the configuration.
   *
   * All of them are chosen before the first goes on: one that has to wait once more must not fall behind the next.
   */
  look(): void {
    const due = [...this.#named].filter(({ value }) => this.#pending(value).length === 0)
    for (const queued of due) this.#named.take(queued)?.run()
  }

  #concerns({ lane: known, name }: Wanted, lane: CallTarget): boolean {
    return known === undefined ? this.#catalog().mayHave(lane, name) : lane === known
  }

  /** Whether it is known whose name it is: no other server is waited for, or started. */
  #isOfOne({ lane, name }: Wanted): boolean {
    return lane !== undefined || this.#catalog().hasPrefix(name)
  }

  /** The servers that a call waits for, to the end: what one has may be read once more before it is shown. */
  #pending({ wanted, hurried }: NameWait): CallTarget[] {
    const lanes = this.#lanes().filter((lane) => this.#concerns(wanted, lane))
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
    // A list that could not be read is asked for again, and a list that was read need not wait for other kinds.
    void lane.view.reading(kind)?.then(() => lane.known.has(kind) && end())
    void listed.then(end)
    return false
  }
}

function stillStarting([lane]: readonly CallTarget[], name: string, ms: number): ErrorBody {
  const service = lane?.config.name ?? ''
  const message = `'${service}': it is still starting, and '${name}' had to be there within ${ms} ms (timeout)`
  return upstreamFailed(service, 'timeout', message, { name, budget: 'timeout', ms })
}
