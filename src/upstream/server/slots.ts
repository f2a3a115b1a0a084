// The slots of one process: how many calls it works on at once, and the queue of those that wait for one.

import PQueue from 'p-queue'

/** Starts a call in the slot that it was given; false when the call no longer needs one. */
export type Start = () => boolean

/** A queue with as many calls in flight as the process may have. A slot is free again one microtask after its call. */
export class Slots {
  readonly #queue: PQueue
  readonly #waitingMax: number
  /** One for each call in flight; slots are alike, so it does not matter which of them a call frees. */
  readonly #ends: (() => void)[] = []

  constructor(concurrency: number, waitingMax: number) {
    this.#queue = new PQueue({ concurrency })
    this.#waitingMax = waitingMax
  }

  get taken(): number {
    return this.#queue.pending
  }

  get waiting(): number {
    return this.#queue.size
  }

  /** Whether no call has a slot or waits for one. */
  get idle(): boolean {
    return this.taken === 0 && this.waiting === 0
  }

  /** How many more calls would find a slot; negative when some wait. */
  get room(): number {
    return this.#queue.concurrency - this.taken - this.waiting
  }

  /** Takes a slot in this turn, unless all are taken. */
  take(): boolean {
    if (this.room <= 0) return false
    void this.#queue.add(this.#hold)
    return true
  }

  /** Runs `start` when its turn comes; returns what leaves the queue before that, or undefined when too many wait. */
  wait(start: Start): (() => void) | undefined {
    if (this.waiting >= this.#waitingMax) return undefined
    const leaving = new AbortController()
    let isWaiting = true
    const turn = (): Promise<void> => {
      isWaiting = false
      // The call may end before `start` returns.
      const held = this.#hold()
      if (!start()) this.free()
      return held
    }
    // A call that leaves the queue rejects the promise of its turn.
    this.#queue.add(turn, { signal: leaving.signal }).catch(() => {})
    return () => {
      if (isWaiting) leaving.abort()
    }
  }

  /** A call has ended. */
  free(): void {
    this.#ends.pop()?.()
  }

  readonly #hold = (): Promise<void> =>
    new Promise((resolve) => {
      this.#ends.push(resolve)
    })
}
