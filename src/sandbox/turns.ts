// The queue of a session's calls: a few run at a time, and a few wait.

/** Gives turns in the order of requests. */
export class Turns {
  readonly #atOnceMax: number
  readonly #waitingMax: number
  #running = 0
  #waiting: (() => void)[] = []

  constructor(atOnceMax: number, waitingMax: number) {
    this.#atOnceMax = atOnceMax
    this.#waitingMax = waitingMax
  }

  /**
   * Runs work in turn; rejects with the signal's reason when the signal aborts first. Returns undefined when too many calls wait.
   */
  run<T>(signal: AbortSignal, work: () => Promise<T>): Promise<T> | undefined {
    const isFull = this.#running >= this.#atOnceMax && this.#waiting.length >= this.#waitingMax
    return isFull && !signal.aborted ? undefined : this.#inTurn(signal, work)
  }

  async #inTurn<T>(signal: AbortSignal, work: () => Promise<T>): Promise<T> {
    if (this.#running < this.#atOnceMax) this.#running++
    else await this.#turn(signal)
    try {
      return await work()
    } finally {
      const next = this.#waiting.shift()
      if (next === undefined) this.#running--
      else next()
    }
  }

  #turn(signal: AbortSignal): Promise<void> {
    if (signal.aborted) return Promise.reject(signal.reason)
    return new Promise((resolve, reject) => {
      const go = (): void => {
        signal.removeEventListener('abort', leave)
        resolve()
      }
      const leave = (): void => {
        this.#waiting = this.#waiting.filter((each) => each !== go)
        reject(signal.reason)
      }
      signal.addEventListener('abort', leave, { once: true })
      this.#waiting.push(go)
    })
  }
}
