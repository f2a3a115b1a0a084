// How many child processes there may be, and who makes room for others.

import type { IdleProcess, ProcessPlaces } from '../upstream/pool/places.js'

/** Counts child processes. */
export class ProcessRoom implements ProcessPlaces {
  readonly #processesMax: number
  readonly #idle = new Set<IdleProcess>()
  #processes = 0

  constructor(processesMax: number) {
    this.#processesMax = processesMax
  }

  take(): (() => void) | undefined {
    if (this.#isFull) return undefined
    this.#processes++
    return () => {
      this.#processes--
    }
  }

  offer(process: IdleProcess): () => void {
    this.#idle.add(process)
    return () => this.#idle.delete(process)
  }

  free(): Promise<void> | undefined {
    return this.#isFull ? this.#free() : undefined
  }

  get #isFull(): boolean {
    return this.#processes >= this.#processesMax
  }

  /** Somebody else may take what has become free. */
  async #free(): Promise<void> {
    while (this.#isFull) {
      const next = this.#idlest()
      if (next === undefined) return
      await next.yield()
    }
  }

  #idlest(): IdleProcess | undefined {
    let idlest: IdleProcess | undefined
    let leastSince = Infinity
    for (const process of this.#idle) {
      const since = process.idleSince
      if (since === undefined || since >= leastSince) continue
      idlest = process
      leastSince = since
    }
    return idlest
  }
}
