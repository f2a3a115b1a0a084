// The limit of calls in flight on one process, and the queue for it.
//
// Calls start in the order in which they came. A call that finds a slot free and
// nobody waiting starts at once; the others wait in a p-queue, which holds the
// line and is not even loaded before somebody has to wait. Who gives up leaves it
// at once, so that nobody is refused for the sake of calls that are over.

import type PQueue from 'p-queue'

/** Starts a call in the slot it was given; false when the call no longer wants one. */
export type Start = () => boolean

/** A place in line. */
interface Place {
  readonly start: Start
  /** Takes it out of the queue. */
  readonly removal: AbortController
  isFront: boolean
  /** Its turn has come, or nobody wants it any more. */
  isLeft: boolean
}

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

  /** How many stand in line. */
  get waiting(): number {
    return this.#waiting
  }

  /** How many more calls would find a slot; negative when some wait. */
  get room(): number {
    return this.#concurrency - this.#taken - this.#waiting
  }

  /** Takes a slot, unless all are taken or others wait for one. */
  take(): boolean {
    if (this.#taken >= this.#concurrency || this.#waiting > 0) return false
    this.#taken++
    return true
  }

  /** Runs `start` when its turn comes; gives what leaves the line before that, or undefined when too many wait. */
  wait(start: Start): (() => void) | undefined {
    if (this.#waiting >= this.#waitingMax) return undefined
    this.#waiting++
    const place: Place = { start, removal: new AbortController(), isFront: false, isLeft: false }
    void this.#join(place)
    return () => this.#leave(place)
  }

  /** A call has ended. */
  free(): void {
    this.#taken--
    this.#onFree?.()
  }

  async #join(place: Place): Promise<void> {
    const queue = await this.#line()
    if (place.isLeft) return
    try {
      await queue.add(() => this.#turn(place), { signal: place.removal.signal })
    } catch (error) {
      // Whoever leaves the line is not missed.
      if (!place.isLeft) throw error
    }
  }

  #leave(place: Place): void {
    if (place.isLeft) return
    place.isLeft = true
    this.#waiting--
    if (place.isFront) this.#onFree?.()
    else place.removal.abort()
  }

  /** The first in line waits until a slot is free. */
  async #turn(place: Place): Promise<void> {
    place.isFront = true
    while (this.#taken >= this.#concurrency && !place.isLeft) {
      await new Promise<void>((resolve) => {
        this.#onFree = resolve
      })
    }
    if (place.isLeft) return
    place.isLeft = true
    this.#waiting--
    this.#taken++
    if (!place.start()) this.#taken--
  }

  #line(): Promise<PQueue> {
    this.#queue ??= import('p-queue').then((module) => new module.default({ concurrency: 1 }))
    return this.#queue
  }
}
