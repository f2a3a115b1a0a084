// The processes of one lane: the start of the first one with the first reading of its lists, and which of them gets a
// call.

import type { Call, ClientPort } from '../../mcp/call.js'
import type { ListKind } from '../../mcp/methods.js'
import { LazyPromise } from '../../runtime/lazy.js'
import type { Timer } from '../../runtime/runtime.js'
import { type UpstreamError, isAboutCredentials } from '../contracts/errors.js'
import type { UpstreamState } from '../contracts/upstream.js'
import type { Inbox } from './inbox.js'
import type { ServerContext } from './context.js'
import type { ServerConnection } from './connection.js'
import type { KeptView } from './kept-view.js'
import { type Forward, type Load, sumOf, Worker } from './worker.js'
import { holdsProcess, type LaneScope } from './sharing.js'

type StartState =
  /** Nothing has been started yet. */
  | { readonly kind: 'asleep' }
  /** The first attempt is under way, or waits until the first answers have gone. */
  | { readonly kind: 'starting'; readonly settled: Promise<void> }
  /** The first attempt has ended, either way. */
  | { readonly kind: 'settled' }

/** How often a server that ends before it has listed is started anew for a call that waits for what it has. */
const RESTARTS_MAX = 3

/** One start and the reading of the lists that follows it. */
interface Round {
  readonly started: Promise<void>
  readonly listed: Promise<void>
  /** Whether a call waits for what `listed` follows. */
  isAwaited: boolean
  /** The lists that are waited for: all who wait for one get the same promise. */
  readonly readings: Map<ListKind, Promise<void>>
}

/** The instances of a lane: as many as are busy, up to a limit. */
export class Workers {
  readonly #workers: Worker[] = []
  readonly #workersMax: number
  readonly #context: ServerContext
  readonly #scope: LaneScope
  readonly #inbox: Inbox
  readonly #keptView: KeptView
  readonly #settled: () => void
  #state: StartState = { kind: 'asleep' }
  /** Runs out when the server has not answered the first attempt in time. */
  #late: Timer | undefined
  #round: Round | undefined
  /** Comes when nothing is to be answered before the start. */
  readonly #hurried = new LazyPromise<void>()
  /** Comes when the first connection is refused. */
  readonly #unreachable = new LazyPromise<void>()

  /** `settled` is called when the first attempt to start a process has ended, either way. */
  constructor(
    context: ServerContext,
    scope: LaneScope,
    inbox: Inbox,
    keptView: KeptView,
    settled: () => void,
  ) {
    this.#context = context
    this.#scope = scope
    this.#inbox = inbox
    this.#keptView = keptView
    this.#settled = settled
    this.#workersMax = workersMax(context, scope)
  }

  get #first(): Worker {
    return this.#workers[0] ?? this.#add()
  }

  /** The connection that gets the subscriptions. */
  get firstConnection(): ServerConnection | undefined {
    return this.#workers[0]?.supervisor.connection
  }

  get connections(): ServerConnection[] {
    return this.#workers.flatMap((worker) => worker.supervisor.connection ?? [])
  }

  get failure(): UpstreamError | undefined {
    return this.#workers.find((worker) => worker.supervisor.failure)?.supervisor.failure
  }

  get load(): Load {
    return sumOf(this.#workers.map(({ load }) => load))
  }

  get state(): UpstreamState {
    if (this.#state.kind === 'asleep') return 'disconnected'
    // The first process is made a moment after its lane.
    if (this.#workers.length === 0) return this.#inbox.isClosed ? 'disconnected' : 'starting'
    const states = this.#workers.map((worker) => worker.supervisor.state)
    if (states.includes('ready')) return 'connected'
    if (states.includes('starting')) return 'starting'
    // A process at rest comes back for the next call; one that has never said what it has may have failed by itself.
    const isAtRest = states.includes('stopped')
    if (isAtRest && this.#inbox.server?.facts !== undefined) return 'connected'
    return isAtRest || states.includes('closed') ? 'disconnected' : 'error'
  }

  /** How long lists wait for it. */
  get graceMs(): number {
    const { firstMs, startupMs } = this.#context.graces
    return this.#keptView.isNew ? firstMs : startupMs
  }

  /** Resolves when the first attempt has ended; undefined when it has, or has not begun. */
  get settled(): Promise<void> | undefined {
    return this.#state.kind === 'starting' ? this.#state.settled : undefined
  }

  /** Resolves when the lists have been read, or could not be; undefined when nothing is under way. */
  get listed(): Promise<void> | undefined {
    return this.#round?.listed
  }

  /** The same for one list; it ends early where the server cannot be reached at first. */
  reading(kind: ListKind): Promise<void> | undefined {
    const round = this.#round
    const known = round?.readings.get(kind)
    if (round === undefined || known !== undefined) return known
    const read = round.started.then(() => this.#inbox.lists.reading(kind))
    const reading = Promise.race([read, this.#unreachable.promise])
    round.readings.set(kind, reading)
    void reading.then(() => round.readings.delete(kind))
    return reading
  }

  /** The first connection is refused, and tried again: no list waits for that. */
  unreachable(): void {
    if (this.#state.kind !== 'starting') return
    this.#keptView.late()
    this.#unreachable.come()
  }

  /**
   * Calls during which the server may ask run in any process; other calls may need the state that earlier ones left
   * behind.
   */
  workerFor(call: Call): Worker {
    if (!call.row.askable || this.#workersMax < 2) return this.#first
    const free = this.#workers.filter((worker) => worker.room > 0)
    const [first] = free
    if (first !== undefined) return free.find((worker) => !worker.isInDoubt(call)) ?? first
    if (this.#workers.length < this.#workersMax) return this.#add()
    return this.#workers.reduce((best, worker) => (worker.room > best.room ? worker : best))
  }

  /** Gives back the calls of a client that have not begun. */
  release(client: ClientPort): Forward[] {
    return this.#workers.flatMap((worker) => worker.release(client))
  }

  /**
   * Starts the first process, unless that was done; whether it was not. `isLater` lets what can be answered be
   * answered first.
   */
  begin(isLater = false): boolean {
    if (this.#state.kind !== 'asleep') return false
    const delay = isLater ? this.#delay() : undefined
    const started = delay === undefined ? this.#launch() : delay.then(() => this.#launch())
    const settled = this.#attempt(started).then(() => {
      this.#late?.cancel()
      this.#state = { kind: 'settled' }
      this.#settled()
    })
    this.#state = { kind: 'starting', settled }
    return true
  }

  /** A start that is put off begins now. */
  startNow(): void {
    this.#hurried.come()
  }

  /** A call waits for what the server has: it starts, or is asked again. */
  hurry(isRefused: boolean): void {
    this.#hurried.come()
    this.begin()
    if (this.#round === undefined) {
      // The process is ready, and its lists are being read or could not be.
      if (this.firstConnection !== undefined) this.#follow(Promise.resolve(), this.#inbox.reading)
      else if (!isRefused) void this.#attempt(this.#startFirst())
    }
    if (this.#round !== undefined) this.#round.isAwaited = true
  }

  /** Later calls are refused. */
  async close(): Promise<void> {
    this.#late?.cancel()
    this.#hurried.come()
    await Promise.all(this.#workers.map((worker) => worker.close()))
  }

  /** A call does not wait for this. */
  async #delay(): Promise<void> {
    const { turn, leave } = this.#context.starts.putOff()
    await Promise.race([turn, this.#hurried.promise])
    leave()
  }

  /** The first attempt. */
  #launch(): Promise<void> {
    const { runtime, keptLists } = this.#context
    keptLists.started()
    this.#late = runtime.setTimer(this.graceMs, () => {
      if (this.#inbox.server?.facts === undefined) this.#keptView.late()
    })
    return this.#startFirst()
  }

  /** Resolves when that has succeeded or failed. */
  async #startFirst(): Promise<void> {
    // The server puts the lane into place before its first process starts.
    await Promise.resolve()
    try {
      await this.#first.supervisor.ready()
    } catch {
      // The supervisor has logged it, and calls will say it.
    }
  }

  #attempt(started: Promise<void>): Promise<void> {
    this.#follow(
      started,
      started.then(() => this.#inbox.reading),
    )
    return started
  }

  /** A server that cannot list is asked again as long as a call waits for what it has. */
  #follow(started: Promise<void>, read: Promise<void>): void {
    const round: Round = {
      started,
      isAwaited: false,
      readings: new Map(),
      listed: read
        .then(() => this.#insist(round))
        .then(() => {
          this.#round = undefined
        }),
    }
    this.#round = round
  }

  /**
   * One that ended while it was asked has a successor, which has not said what it has; one that does not come up has
   * none.
   */
  async #insist(round: Round): Promise<void> {
    for (let restarts = 0; round.isAwaited; restarts++) {
      await this.#inbox.lists.hurry()
      const isOver = this.#inbox.lists.hasNames || this.firstConnection !== undefined || !this.#wasUp
      if (isOver || restarts === RESTARTS_MAX) return
      await this.#startFirst()
      await this.#inbox.reading
    }
  }

  /** Whether the last process has been there, and may be there again with the same credentials. */
  get #wasUp(): boolean {
    return this.#inbox.server?.facts !== undefined && !isAboutCredentials(this.failure?.reason)
  }

  /** A call that waits for a process whose client is away goes to one that has become free. */
  #share(free: Worker): void {
    for (const other of this.#workers) {
      const forward = free.room > 0 && other.room < 0 ? other.takeQueued() : undefined
      if (forward !== undefined) free.call(forward.call, forward.edits)
    }
  }

  #add(): Worker {
    const isFirst = this.#workers.length === 0
    const onFree = this.#scope.sharing === 'guest' ? (): void => this.#share(worker) : undefined
    const worker: Worker = new Worker(this.#context, this.#scope, this.#inbox, isFirst, onFree)
    this.#workers.push(worker)
    if (this.#inbox.isClosed) void worker.close()
    return worker
  }
}

/** A call that waits for its client keeps its process, so that others of the same client need more. */
function workersMax({ processes, namesCalls, limits }: ServerContext, scope: LaneScope): number {
  if (scope.sharing === 'own') return 1
  return holdsProcess(scope, namesCalls) ? Math.max(processes, limits.guestProcessesMax) : processes
}
