// The start of a lane: its first process, and the first reading of its lists.

import type { ListKind } from '../../mcp/methods/method-row.js'
import { LazyPromise } from '../../runtime/lazy-promise.js'
import type { Timer } from '../../runtime/runtime.js'
import { within } from '../../runtime/within.js'
import type { LaneLinks } from './lane-links.js'
import type { LaneLists } from './lane-lists.js'
import type { LaneParts } from './lane-parts.js'
import type { Recollection } from './recollection.js'
import type { ServerInstances } from './server-instances.js'

type StartState =
  /** Nothing has been started yet. */
  | { readonly kind: 'asleep' }
  /** The first attempt is under way, or waits until the first answers have gone. */
  | { readonly kind: 'starting'; readonly settled: Promise<void> }
  /** The first attempt has ended, either way. */
  | { readonly kind: 'settled' }

/** One start and the reading of the lists that follows it. */
interface Round {
  readonly started: Promise<void>
  readonly listed: Promise<void>
  /** Whether a call waits for what `listed` follows. */
  isAwaited: boolean
}

/** Starts the first process of a lane, and says how far that is. */
export class LaneStart {
  readonly #parts: LaneParts
  readonly #members: ServerInstances
  readonly #links: LaneLinks
  readonly #lists: LaneLists
  readonly #recollection: Recollection
  readonly #ended: () => void
  #state: StartState = { kind: 'asleep' }
  /** Runs out when the server has not answered the first attempt in time. */
  #late: Timer | undefined
  #round: Round | undefined
  /** Comes when nothing is to be answered before the start. */
  readonly #hurried = new LazyPromise<void>()

  /** `ended` hears that the first attempt has ended, either way. */
  constructor(
    parts: LaneParts,
    members: ServerInstances,
    links: LaneLinks,
    lists: LaneLists,
    recollection: Recollection,
    ended: () => void,
  ) {
    this.#parts = parts
    this.#members = members
    this.#links = links
    this.#lists = lists
    this.#recollection = recollection
    this.#ended = ended
  }

  get isAsleep(): boolean {
    return this.#state.kind === 'asleep'
  }

  /** Resolves when the first attempt has ended; undefined when it has, or has not begun. */
  get settled(): Promise<void> | undefined {
    return this.#state.kind === 'starting' ? this.#state.settled : undefined
  }

  /** Resolves when the lists have been read, or could not be; undefined when nothing is under way. */
  get listed(): Promise<void> | undefined {
    return this.#round?.listed
  }

  /** The same for one list. */
  reading(kind: ListKind): Promise<void> | undefined {
    return this.#round?.started.then(() => this.#lists.reading(kind))
  }

  /** Starts the first process, unless that was done; whether it was not. `isLater` lets what can be answered be answered first. */
  begin(isLater = false): boolean {
    if (this.#state.kind !== 'asleep') return false
    const delay = isLater ? this.#delay() : undefined
    const started = delay === undefined ? this.#launch() : delay.then(() => this.#launch())
    const settled = this.#attempt(started).then(() => {
      this.#late?.cancel()
      this.#state = { kind: 'settled' }
      this.#ended()
    })
    this.#state = { kind: 'starting', settled }
    return true
  }

  /** A call waits for what the server has: it starts, or is asked again. */
  hurry(isRefused: boolean): void {
    this.#hurried.come()
    this.begin()
    if (this.#round === undefined) {
      // It is there, and could not list.
      if (this.#members.firstLink !== undefined) this.#follow(Promise.resolve(), Promise.resolve())
      else if (!isRefused) void this.#attempt(this.#members.start())
    }
    if (this.#round !== undefined) this.#round.isAwaited = true
  }

  close(): void {
    this.#late?.cancel()
    this.#hurried.come()
  }

  /** A call does not wait for this. */
  async #delay(): Promise<void> {
    const { room, runtime } = this.#parts
    await within(this.#hurried.promise, room.takeStart(runtime.now()), runtime)
  }

  /** The first attempt. */
  #launch(): Promise<void> {
    const { runtime, lateMs } = this.#parts
    this.#late = runtime.setTimer(lateMs, () => {
      if (this.#links.facts === undefined) this.#recollection.late()
    })
    return this.#members.start()
  }

  #attempt(started: Promise<void>): Promise<void> {
    this.#follow(
      started,
      started.then(() => this.#links.reading),
    )
    return started
  }

  /** A server that cannot list is asked again as long as a call waits for what it has. */
  #follow(started: Promise<void>, read: Promise<void>): void {
    const round: Round = {
      started,
      isAwaited: false,
      listed: read
        .then(() => (round.isAwaited ? this.#lists.hurry() : undefined))
        .then(() => {
          this.#round = undefined
        }),
    }
    this.#round = round
  }
}
