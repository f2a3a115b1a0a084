// Values that are made only when they are needed: a promise, and a value that takes a while to make.

/** A promise that another part resolves. The first call of `resolve` counts. */
export class Deferred<T> {
  #settle: ((value: T) => void) | undefined
  readonly promise: Promise<T> = new Promise((resolve) => {
    this.#settle = resolve
  })

  resolve(value: T): void {
    this.#settle?.(value)
    this.#settle = undefined
  }
}

/** Makes it once for all callers; a failure reaches those who waited, and the next call tries again. */
export class LazyValue<T> {
  readonly #make: () => Promise<T>
  #made: Promise<T> | undefined

  constructor(make: () => Promise<T>) {
    this.#make = make
  }

  get(): Promise<T> {
    if (this.#made !== undefined) return this.#made
    const made = (this.#made = this.#make())
    made.catch(() => {
      this.#made = undefined
    })
    return made
  }
}
