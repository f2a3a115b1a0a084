// Promises that several parts share, and asynchronous work in order or in parallel.

/** A promise that another part resolves. Only the first call of `resolve` counts. */
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

/** Makes a value once for all callers. A failure reaches all waiting callers, and the next call tries again. */
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

/** Makes one change after the other. Of the changes that arrive meanwhile, only the last is made. */
export class CoalescedChanges<T, R> {
  readonly #make: (value: T) => Promise<R>
  #next: T | undefined
  #making: Promise<R> | undefined

  constructor(make: (value: T) => Promise<R>) {
    this.#make = make
  }

  /** Settles like the newest change, which replaces this one if it arrives before this one ends. */
  take(value: T): Promise<R> {
    this.#next = value
    this.#making ??= this.#makeAll(value)
    return this.#making
  }

  async #makeAll(first: T): Promise<R> {
    // All changes of one turn of the event loop become one change.
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

/** Works on at most `atOnce` items in parallel, in their order. Rejects with the first failure. */
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
