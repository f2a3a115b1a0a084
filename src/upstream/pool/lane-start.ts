// The start of a lane: its first process, and the first reading of its lists.

import type { ListKind } from '../../mcp/methods/method-row.js'
import type { Timer } from '../../runtime/runtime.js'
import type { LaneLinks } from './lane-links.js'
import type { LaneLists } from './lane-lists.js'
import type { LaneParts } from './lane-parts.js'
import type { ServerInstances } from './server-instances.js'

/**
 * How long the first answers, which need no server, go before its start: `initialize` and a list of a client that asks at once.
 *
 * Many processes that start take the processor from everybody, for seconds where there are few.
 */
const ANSWERS_MS = 100

export interface LaneStartParts extends Pick<LaneParts, 'runtime' | 'lateMs' | 'recollection'> {
  readonly members: ServerInstances
  readonly links: LaneLinks
  readonly lists: LaneLists
  /** The first attempt has ended, either way. */
  settled(): void
}

/** Starts the first process of a lane, and says how far that is. */
export class LaneStart {
  readonly #parts: LaneStartParts
  #isAsleep = true
  #starting: Promise<void> = Promise.resolve()
  #settled: Promise<void> | undefined
  #listed: Promise<void> | undefined
  /** Whether a call waits for what `listed` follows. */
  #isAwaited = false
  #endDelay: () => void = () => {}
  /** Runs out when the server has not answered in time. */
  #late: Timer | undefined

  constructor(parts: LaneStartParts) {
    this.#parts = parts
  }

  /** Nothing has been started yet. */
  get isAsleep(): boolean {
    return this.#isAsleep
  }

  /** Resolves when the first attempt has ended; undefined when it has, or has not begun. */
  get settled(): Promise<void> | undefined {
    return this.#settled
  }

  /** Resolves when the lists have been read, or could not be; undefined when nothing is under way. */
  get listed(): Promise<void> | undefined {
    return this.#listed
  }

  /** The same for one list. */
  reading(kind: ListKind): Promise<void> | undefined {
    return this.#listed && this.#starting.then(() => this.#parts.lists.reading(kind))
  }

  /** Starts the first process, unless that was done; whether it was not. `isLater` lets what can be answered be answered first. */
  begin(isLater = false): boolean {
    if (!this.#isAsleep) return false
    this.#isAsleep = false
    const { runtime, lateMs, recollection, links } = this.#parts
    this.#late = runtime.setTimer(lateMs, () => {
      if (links.facts === undefined) recollection.late()
    })
    this.#settled = this.#start(isLater).then(() => {
      this.#settled = undefined
      this.#late?.cancel()
      this.#parts.settled()
    })
    return true
  }

  /** A call waits for what the server has: it starts, or is asked again. */
  hurry(isRefused: boolean): void {
    this.#isAwaited = true
    this.#endDelay()
    if (this.begin() || this.#listed !== undefined) return
    // It is there, and could not list.
    if (this.#parts.members.firstLink !== undefined) this.#follow(Promise.resolve())
    else if (!isRefused) void this.#start()
  }

  close(): void {
    this.#late?.cancel()
    this.#endDelay()
  }

  /** Follows the start that is under way, or makes one. */
  #start(isLater = false): Promise<void> {
    const { members, links } = this.#parts
    this.#starting = isLater ? this.#delayed().then(() => members.start()) : members.start()
    this.#follow(this.#starting.then(() => links.reading))
    return this.#starting
  }

  #delayed(): Promise<void> {
    return new Promise((resolve) => {
      const timer = this.#parts.runtime.setTimer(ANSWERS_MS, resolve)
      this.#endDelay = () => {
        timer.cancel()
        resolve()
      }
    })
  }

  /** A server that cannot list is asked again as long as a call waits for what it has. */
  #follow(read: Promise<void>): void {
    this.#listed = read
      .then(() => (this.#isAwaited ? this.#parts.lists.hurry() : undefined))
      .then(() => {
        this.#listed = undefined
        this.#isAwaited = false
      })
  }
}
