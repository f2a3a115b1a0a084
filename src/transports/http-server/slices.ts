// Work that arrives in batches and can wait: some of it is done in each turn of the event loop.

/** A turn takes about a millisecond for them. */
const PIECES_MAX = 16

/** What is to be done soon. There is no more of it than there are connections. */
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
