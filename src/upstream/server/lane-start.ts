// The start of a lane: its first process, and the first reading of its lists. Lists and calls wait for the promises of this.

import type { ListKind } from '../../mcp/methods.js'
import { LazyPromise } from '../../runtime/lazy.js'
import type { Timer } from '../../runtime/runtime.js'
import { isAboutCredentials } from '../contracts/errors.js'
import type { UpstreamState } from '../contracts/upstream.js'
import type { Inbox } from './inbox.js'
import type { ServerContext } from './context.js'
import type { KeptView } from './kept-view.js'
import type { Workers } from './workers.js'

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

/** Begins the start of one lane, and says when it is over. */
export class LaneStart {
  readonly #context: ServerContext
  readonly #inbox: Inbox
  readonly #keptView: KeptView
  readonly #workers: Workers
  readonly #onSettled: () => void
  #state: StartState = { kind: 'asleep' }
  /** Runs out when the server has not answered the first attempt in time. */
  #late: Timer | undefined
  #round: Round | undefined
  /** Comes when nothing is to be answered before the start. */
  readonly #hurried = new LazyPromise<void>()
  /** Comes when the first connection is refused. */
  readonly #unreachable = new LazyPromise<void>()

  /** `onSettled` is called when the first attempt to start a process has ended, either way. */
  constructor(
    context: ServerContext,
    inbox: Inbox,
    keptView: KeptView,
    workers: Workers,
    onSettled: () => void,
  ) {
    this.#context = context
    this.#inbox = inbox
    this.#keptView = keptView
    this.#workers = workers
    this.#onSettled = onSettled
  }

  get state(): UpstreamState {
    return this.#state.kind === 'asleep' ? 'disconnected' : this.#workers.state
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

  /**
   * The same for one list; it ends early where the server cannot be reached at first. A start that is put off begins
   * now.
   */
  reading(kind: ListKind): Promise<void> | undefined {
    const round = this.#round
    this.#hurried.come()
    const known = round?.readings.get(kind)
    if (round === undefined || known !== undefined) return known
    const read = round.started.then(() => this.#inbox.reader.reading(kind))
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
      this.#onSettled()
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
      if (this.#workers.firstConnection !== undefined)
        this.#follow(Promise.resolve(), this.#inbox.reader.opening)
      else if (!isRefused) void this.#attempt(this.#startFirst())
    }
    if (this.#round !== undefined) this.#round.isAwaited = true
  }

  /** A start that is put off is begun, and fails with the workers. */
  close(): void {
    this.#late?.cancel()
    this.#hurried.come()
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
      await this.#workers.first.supervisor.ready()
    } catch {
      // The supervisor has logged it, and calls will say it.
    }
  }

  #attempt(started: Promise<void>): Promise<void> {
    this.#follow(
      started,
      started.then(() => this.#inbox.reader.opening),
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
      await this.#inbox.reader.hurry()
      const isOver =
        this.#inbox.reader.lists.hasNames || this.#workers.firstConnection !== undefined || !this.#wasUp
      if (isOver || restarts === RESTARTS_MAX) return
      await this.#startFirst()
      await this.#inbox.reader.opening
    }
  }

  /** Whether the last process has been there, and may be there again with the same credentials. */
  get #wasUp(): boolean {
    return this.#inbox.server?.facts !== undefined && !isAboutCredentials(this.#workers.failure?.reason)
  }
}
