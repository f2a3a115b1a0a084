// Back-pressure: whether a connection is congested, and the promise that its senders wait for.

const DONE = Promise.resolve()

/** Whether a connection is congested, and what its senders wait for. */
export class Congestion {
  /** Whether there is any. */
  on = false
  /** Resolves when the congestion has ended; resolved where there is none. */
  relieved: Promise<void> = DONE
  #relieve: () => void = () => {}

  begin(): void {
    if (this.on) return
    this.on = true
    this.relieved = new Promise((resolve) => {
      this.#relieve = resolve
    })
  }

  /** Whether there was any. */
  end(): boolean {
    if (!this.on) return false
    this.on = false
    this.relieved = DONE
    this.#relieve()
    return true
  }
}
