// Who may work on a session: a few at once, and a few that wait.

interface Waiter {
  readonly go: () => void
}

/** Gives turns in the order in which they are asked for. */
export class Turns {
  readonly #atOnceMax: number
  readonly #waitingMax: number
  #running = 0
  #waiting: Waiter[] = []

  constructor(atOnceMax: number, waitingMax: number) {
    this.#atOnceMax = atOnceMax
    this.#waitingMax = waitingMax
  }

  /** Resolves with what gives the turn back; rejects with the signal's reason. Undefined when too many wait already. */
  take(signal: AbortSignal): Promise<() => void> | undefined {
    if (this.#running < this.#atOnceMax) {
      this.#running++
      return Promise.resolve(this.#giveBack())
    }
    if (signal.aborted) return Promise.reject(signal.reason)
    if (this.#waiting.length >= this.#waitingMax) return undefined
    return new Promise((resolve, reject) => {
      const waiter = {
        go: (): void => {
          signal.removeEventListener('abort', leave)
          resolve(this.#giveBack())
        },
      }
      const leave = (): void => {
        this.#waiting = this.#waiting.filter((each) => each !== waiter)
        reject(signal.reason)
      }
      signal.addEventListener('abort', leave, { once: true })
      this.#waiting.push(waiter)
    })
  }

  #giveBack(): () => void {
    let isGiven = false
    return () => {
      if (isGiven) return
      isGiven = true
      const next = this.#waiting.shift()
      if (next === undefined) this.#running--
      else next.go()
    }
  }
}
