// Work that arrives in batches and can wait: some of it is done in each turn of the event loop.

/** A turn takes about a millisecond for them. */
const PIECES_MAX = 16

/** The pending work, at most one piece for each connection. */
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
