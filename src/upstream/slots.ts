// How many calls one process works on at a time.
//
// Calls start in the order in which they came. A call that finds a slot free and
// nobody waiting starts at once; the others wait in a p-queue, which holds the
// line and is not even loaded before somebody has to wait.

import type PQueue from 'p-queue'

/** Starts a call in the slot it was given; false when the call no longer wants one. */
export type Start = () => boolean

/** The slots of one process, and the line of those that wait for one. */
export class Slots {
  readonly #concurrency: number
  readonly #waitingMax: number
  #taken = 0
  #waiting = 0
  #queue: Promise<PQueue> | undefined
  #onFree: (() => void) | undefined

  constructor(concurrency: number, waitingMax: number) {
    this.#concurrency = concurrency
    this.#waitingMax = waitingMax
  }

  get taken(): number {
    return this.#taken
  }

  /** Whether nobody has a slot or waits for one. */
  get idle(): boolean {
    return this.#taken === 0 && this.#waiting === 0
  }

  /** How many more calls would find a slot; negative when some wait. */
  get room(): number {
    return this.#concurrency - this.#taken - this.#waiting
  }

  /** Whether a call would start at once. */
  get available(): boolean {
    return this.#taken < this.#concurrency && this.#waiting === 0
  }

  /** Runs `start` now or when its turn comes; false when too many wait already. */
  take(start: Start): boolean {
    if (this.available) {
      this.#run(start)
      return true
    }
    if (this.#waiting >= this.#waitingMax) return false
    this.#waiting++
    void this.#line().then((queue) => queue.add(() => this.#turn(start)))
    return true
  }

  /** A call has ended. */
  free(): void {
    this.#taken--
    this.#onFree?.()
  }

  /** The first in line waits until a slot is free. */
  async #turn(start: Start): Promise<void> {
    while (this.#taken >= this.#concurrency) {
      await new Promise<void>((resolve) => {
        this.#onFree = resolve
      })
    }
    this.#waiting--
    this.#run(start)
  }

  #run(start: Start): void {
    this.#taken++
    if (!start()) this.#taken--
  }

  #line(): Promise<PQueue> {
    this.#queue ??= import('p-queue').then((module) => new module.default({ concurrency: 1 }))
    return this.#queue
  }
}
