// What lent ids and lent progress tokens have in common: from which number they are minted beside those that a
// peer chose itself, and which of them are still remembered once they are given up.

/**
 * Where minting goes on beside those that clients chose.
 *
 * Clients that count do not come this far for long, and servers that keep numbers in 32 bits are at ease with it.
 */
export const MINTED_FROM = 1_000_000_000

/**
 * What is lent below this moves the minting on: what is minted must not be what is still said about a lent one.
 *
 * Clients that count do not come this far; beyond it there would be nothing left to mint.
 */
export const LENT_MAX: number = 2 ** 48

/** The last few values of a kind, which a late message may still name; beyond `max` the oldest is forgotten. */
export class Remembered<T> {
  readonly #max: number
  readonly #ones = new Set<T>()
  readonly all: ReadonlySet<T> = this.#ones

  constructor(max: number) {
    this.#max = max
  }

  add(one: T): void {
    this.#ones.add(one)
    if (this.#ones.size <= this.#max) return
    for (const oldest of this.#ones) {
      this.#ones.delete(oldest)
      return
    }
  }

  delete(one: T): void {
    this.#ones.delete(one)
  }
}
