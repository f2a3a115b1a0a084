// Work in its time: a timer that fires again and again, and batches in slices.

import type { Clock } from '../../runtime/deadline.js'

/** Calls `fire` every so often until it is cancelled. */
export function repeat(clock: Clock, everyMs: number, fire: () => void): { cancel(): void } {
  let timer: { cancel(): void }
  const arm = (): void => {
    timer = clock.setTimer(everyMs, () => {
      arm()
      fire()
    })
  }
  arm()
  return { cancel: () => timer.cancel() }
}

/** Pieces in one turn, which take about a millisecond together. */
const PIECES_MAX = 16

/** Work that arrives in batches and can wait, at most one piece for each connection: some is done in each turn of the event loop. */
export class Slices {
  #pieces: (() => void)[] = []
  #isDue = false

  add(piece: () => void): void {
    this.#pieces.push(piece)
    this.#schedule()
  }

  #schedule(): void {
    if (this.#isDue || this.#pieces.length === 0) return
    this.#isDue = true
    setImmediate(() => {
      this.#isDue = false
      for (const piece of this.#pieces.splice(0, PIECES_MAX)) piece()
      this.#schedule()
    })
  }
}
