// Values that are made only when they are needed: a promise, and a value that takes a while to make.

/** A promise that is made only for who asks for it. */
export class LazyPromise<T> {
  #come: { readonly value: T } | undefined
  #promise: Promise<T> | undefined
  #resolve: (value: T) => void = () => {}

  /** Resolves when it has come. */
  get promise(): Promise<T> {
    this.#promise ??=
      this.#come === undefined
        ? new Promise((resolve) => {
            this.#resolve = resolve
          })
        : Promise.resolve(this.#come.value)
    return this.#promise
  }

  /** It comes now; the first time counts. */
  come(value: T): void {
    if (this.#come !== undefined) return
    this.#come = { value }
    this.#resolve(value)
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
