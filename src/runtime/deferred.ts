// Promises that several parts share, and work that takes a while: when it begins, and how much of it at the same time.

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

/** Begins the items in their order, so many at the same time. Rejects with the first failure. */
export async function eachAtOnce<T>(
  items: readonly T[],
  atOnce: number,
  work: (item: T) => Promise<void>,
): Promise<void> {
  const waiting = items.values()
  const workThrough = async (): Promise<void> => {
    for (const item of waiting) await work(item)
  }
  await Promise.all(Array.from({ length: atOnce }, workThrough))
}
