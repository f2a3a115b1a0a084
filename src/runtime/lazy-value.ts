// A value that takes a while to make, made when it is first needed.

/** Makes it once for all callers; a failure reaches those who waited, and the next call tries again. */
export class LazyValue<T> {
  readonly #make: () => Promise<T>
  #made: Promise<T> | undefined

  constructor(make: () => Promise<T>) {
    this.#make = make
  }

  get(): Promise<T> {
    if (this.#made !== undefined) return this.#made
    const made = this.#make()
    this.#made = made
    made.catch(() => {
      this.#made = undefined
    })
    return made
  }
}
