// The last values of a kind; a late message may still name one of them.

/** The last few of something; beyond `max` the oldest is forgotten. */
export class Remembered<T> {
  readonly #max: number
  /** Made for the first one: most connections have none. */
  #ones: Set<T> | undefined

  constructor(max: number) {
    this.#max = max
  }

  has(one: T): boolean {
    return this.#ones?.has(one) ?? false
  }

  add(one: T): void {
    this.#ones ??= new Set()
    this.#ones.add(one)
    if (this.#ones.size <= this.#max) return
    for (const oldest of this.#ones) {
      this.#ones.delete(oldest)
      return
    }
  }

  delete(one: T): void {
    this.#ones?.delete(one)
  }
}
