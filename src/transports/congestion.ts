// Back-pressure: whether a connection is congested, and the promise that its senders wait for.

const DONE = Promise.resolve()

/** Whether a connection is congested, and what its senders wait for. */
export class Congestion {
  #relieved: Promise<void> | undefined
  #relieve: (() => void) | undefined

  get on(): boolean {
    return this.#relieved !== undefined
  }

  /** Resolves when the congestion has ended, at once when there is none. */
  get relieved(): Promise<void> {
    return this.#relieved ?? DONE
  }

  begin(): void {
    this.#relieved ??= new Promise((resolve) => {
      this.#relieve = resolve
    })
  }

  /** Whether there was any. */
  end(): boolean {
    if (this.#relieved === undefined) return false
    this.#relieved = undefined
    this.#relieve?.()
    return true
  }
}
