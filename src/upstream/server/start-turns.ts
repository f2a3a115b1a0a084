// When processes start.
//
// A start takes the event loop for milliseconds, and the new process takes a processor for longer. Many starts together
// would delay the answers to clients by seconds, and several installs together slow each other down or damage the cache
// that they share.

import { LazyPromise } from '../../runtime/lazy.js'
import type { Runtime, Timer } from '../../runtime/runtime.js'

/**
 * `initialize`, and the first list of a client, are answered before a process starts that no call waits
 * for.
 */
const ANSWERS_MS = 100

/** Between two starts that are put off: a start keeps a processor busy for about this time. */
const START_MS = 300

/** Installs that run together. */
const INSTALLS_MAX = 2

/** An install that takes longer lets the next one begin beside it. */
const INSTALL_MS = 20_000

/** A start that is put off. */
export interface PutOff {
  /** Resolves when its turn has come. */
  readonly turn: Promise<void>
  /** Gives the turn up. */
  readonly leave: () => void
}

/** Gives the starts of all servers their turns. */
export class StartTurns {
  readonly #runtime: Pick<Runtime, 'setTimer'>
  /** A process has been started in this turn of the event loop. */
  #isTaken = false
  readonly #next: (() => void)[] = []
  readonly #putOff = new Set<LazyPromise<void>>()
  #timer: Timer | undefined
  /** Lists that wait for other servers. */
  #lists = 0
  #installs = 0
  readonly #installers: (() => void)[] = []

  constructor(runtime: Pick<Runtime, 'setTimer'>) {
    this.#runtime = runtime
  }

  /** One process starts in each turn of the event loop; undefined where this one is free. */
  take(): Promise<void> | undefined {
    if (this.#isTaken) return new Promise((resolve) => this.#next.push(resolve))
    this.#isTaken = true
    this.#runtime.setTimer(0, () => this.#free())
    return undefined
  }

  #free(): void {
    const next = this.#next.shift()
    this.#isTaken = next !== undefined
    if (next === undefined) return
    this.#runtime.setTimer(0, () => this.#free())
    next()
  }

  /**
   * Puts off a start that no call waits for: such starts follow each other, behind the lists that wait for other
   * servers.
   */
  putOff(): PutOff {
    const turn = new LazyPromise<void>()
    this.#putOff.add(turn)
    this.#schedule(ANSWERS_MS)
    return { turn: turn.promise, leave: () => void this.#putOff.delete(turn) }
  }

  /** Starts that are put off wait until the result is called. */
  hold(): () => void {
    this.#lists++
    this.#timer?.cancel()
    this.#timer = undefined
    return () => {
      this.#lists--
      this.#schedule(ANSWERS_MS)
    }
  }

  #schedule(waitMs: number): void {
    if (this.#timer !== undefined || this.#lists > 0 || this.#putOff.size === 0) return
    this.#timer = this.#runtime.setTimer(waitMs, () => {
      this.#timer = undefined
      const [first] = this.#putOff
      if (first === undefined) return
      this.#putOff.delete(first)
      first.come()
      this.#schedule(START_MS)
    })
  }

  /**
   * Resolves when another package may be installed, with a function that ends the install; after a time it ends by
   * itself. With `isLast` the others that want to install now go first.
   */
  async install(isLast: boolean): Promise<() => void> {
    if (isLast) await new Promise<void>((resolve) => void this.#runtime.setTimer(0, resolve))
    if (this.#installs < INSTALLS_MAX) this.#installs++
    else await new Promise<void>((resolve) => this.#installers.push(resolve))
    let isOver = false
    const end = (): void => {
      if (isOver) return
      isOver = true
      timer.cancel()
      const next = this.#installers.shift()
      if (next === undefined) this.#installs--
      else next()
    }
    const timer = this.#runtime.setTimer(INSTALL_MS, end)
    return end
  }
}
