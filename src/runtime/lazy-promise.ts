// A promise that is made only when something waits for it.

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
