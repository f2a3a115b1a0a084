/** Makes one change after the other; of those that are asked for meanwhile, only the last. */
export class CoalescedChanges<T, R> {
  readonly #make: (value: T) => Promise<R>
  #next: { readonly value: T } | undefined
  #making: Promise<R> | undefined

  constructor(make: (value: T) => Promise<R>) {
    this.#make = make
  }

  /** Resolves or rejects as the newest change does, which replaces this one if it comes before the end of this one. */
  take(value: T): Promise<R> {
    this.#next = { value }
    this.#making ??= this.#makeAll(value)
    return this.#making
  }

  async #makeAll(first: T): Promise<R> {
    // All other requests in this turn of the event loop is one change.
    await Promise.resolve()
    try {
      for (;;) {
        try {
          const made = await this.#makeNext(first)
          if (this.#next === undefined) return made
        } catch (error) {
          // A change that failed must not swallow the newer one.
          if (this.#next === undefined) throw error
        }
      }
    } finally {
      this.#making = undefined
    }
  }

  #makeNext(fallback: T): Promise<R> {
    const { value } = this.#next ?? { value: fallback }
    this.#next = undefined
    return this.#make(value)
  }
}
