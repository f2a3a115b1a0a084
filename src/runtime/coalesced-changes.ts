/** Makes one change after the other; of those that are asked for meanwhile, only the last. */
export class CoalescedChanges<T, R> {
  readonly #make: (value: T) => Promise<R>
  #next: T | undefined
  #making: Promise<R> | undefined

  constructor(make: (value: T) => Promise<R>) {
    this.#make = make
  }

  /** Resolves or rejects as the newest change does, which replaces this one if it comes before the end of this one. */
  take(value: T): Promise<R> {
    this.#next = value
    this.#making ??= this.#makeAll(value)
    return this.#making
  }

  async #makeAll(first: T): Promise<R> {
    // All that is asked for in this turn of the event loop is one change.
    await Promise.resolve()
    let made: Promise<R>
    do {
      const value = this.#next ?? first
      this.#next = undefined
      made = this.#make(value)
      // A change that fails must not swallow a newer one.
      await made.catch(() => undefined)
    } while (this.#next !== undefined)
    this.#making = undefined
    return made
  }
}
