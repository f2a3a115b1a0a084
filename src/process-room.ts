/** Counts child processes. */
export class ProcessRoom {
  readonly #processesMax: number
  #processes = 0

  constructor(processesMax: number) {
    this.#processesMax = processesMax
  }

  /** Takes room for one, and gives what makes it free again; undefined when there is none. */
  take(): (() => void) | undefined {
    if (this.#processes >= this.#processesMax) return undefined
    this.#processes++
    return () => {
      this.#processes--
    }
  }
}
