// Back-pressure: whether a connection is congested, and the promise that its senders wait for.

const DONE = Promise.resolve()

/** Whether a connection is congested, and what its senders wait for. */
export class Congestion {
  /** Resolves when the congestion has ended; resolved where there is none. */
  relieved: Promise<void> = DONE
  #relieve: (() => void) | undefined

  get on(): boolean {
    return this.#relieve !== undefined
  }

  begin(): void {
    if (this.on) return
    this.relieved = new Promise((resolve) => {
      this.#relieve = resolve
    })
  }

  /** Whether there was any. */
  end(): boolean {
    if (this.#relieve === undefined) return false
    this.relieved = DONE
    this.#relieve()
    this.#relieve = undefined
    return true
  }
}
