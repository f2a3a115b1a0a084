// The limit of calls in flight on one process, and the line of those that wait for a slot.
//
// Calls start in the order in which they came. A call that finds a free slot, while no other call waits, starts
// immediately; the others stand in line. A p-queue gives one turn after the other, each to the first in line then. A call
// that is given up leaves the line immediately, so that no other call is refused for its sake; its turn stays for the
// next one.

import PQueue from 'p-queue'

/** Starts a call in the slot it was given; false when the call no longer wants one. */
export type CallStart = () => boolean

/** The slots of one process, and the line of those that wait for one. */
export class Slots {
  readonly #concurrency: number
  readonly #waitingMax: number
  #taken = 0
  /** Those that wait, the first one first. */
  readonly #line = new Set<CallStart>()
  /** Turns that are to come; at least one for each of the line. */
  #turns = 0
  readonly #queue = new PQueue({ concurrency: 1 })
  #onFree: (() => void) | undefined

  constructor(concurrency: number, waitingMax: number) {
    this.#concurrency = concurrency
    this.#waitingMax = waitingMax
  }

  get taken(): number {
    return this.#taken
  }

  /** Whether no call has a slot or waits for one. */
  get idle(): boolean {
    return this.#taken === 0 && this.#line.size === 0
  }

  /** How many stand in line. */
  get waiting(): number {
    return this.#line.size
  }

  /** How many more calls would find a slot; negative when some wait. */
  get room(): number {
    return this.#concurrency - this.#taken - this.#line.size
  }

  /** Takes a slot, unless all are taken or others wait for one. */
  take(): boolean {
    if (this.#taken >= this.#concurrency || this.#line.size > 0) return false
    this.#taken++
    return true
  }

  /** Runs `start` when its turn comes; gives what leaves the line before that, or undefined when too many wait. */
  wait(start: CallStart): (() => void) | undefined {
    if (this.#line.size >= this.#waitingMax) return undefined
    this.#line.add(start)
    if (this.#turns < this.#line.size) this.#addTurn()
    return () => void this.#line.delete(start)
  }

  /** A call has ended; gives how many slots are taken still. */
  free(): number {
    this.#taken--
    this.#onFree?.()
    return this.#taken
  }

  #addTurn(): void {
    this.#turns++
    void this.#queue.add(this.#turn)
  }

  /** Waits until a slot is free, and starts the first call in line. */
  readonly #turn = async (): Promise<void> => {
    while (this.#taken >= this.#concurrency) {
      await new Promise<void>((resolve) => {
        this.#onFree = resolve
      })
    }
    this.#turns--
    const [start] = this.#line
    if (start === undefined) return
    this.#line.delete(start)
    this.#taken++
    if (!start()) this.#taken--
  }
}
