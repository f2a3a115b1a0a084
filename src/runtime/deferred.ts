// Values that are made only when they are needed: a promise, and a value that takes a while to make.

/** A promise that another part resolves; it is made when it is first asked for. */
export class Deferred<T> {
  #resolved: { readonly value: T } | undefined
  #promise: Promise<T> | undefined
  #settle: (value: T) => void = () => {}

  /** Resolves with the value. */
  get promise(): Promise<T> {
    this.#promise ??=
      this.#resolved === undefined
        ? new Promise((resolve) => {
            this.#settle = resolve
          })
        : Promise.resolve(this.#resolved.value)
    return this.#promise
  }

  /** The first call counts. */
  resolve(value: T): void {
    if (this.#resolved !== undefined) return
    this.#resolved = { value }
    this.#settle(value)
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
    const made = this.#make()
    this.#made = made
    made.catch(() => {
      this.#made = undefined
    })
    return made
  }
}
