// How many child processes there may be is a limit of the machine, not of one server.

/** A process that can be stopped, and started again for its next call. */
export interface IdleProcess {
  /** In monotonic milliseconds; undefined while it is in use, or not there. */
  readonly idleSince: number | undefined
  /** Stops it; resolves when it is gone. */
  yield(): Promise<void>
}

/** Counts the child processes of all servers together. */
export class ProcessLimit {
  readonly #processesMax: number
  readonly #idle = new Set<IdleProcess>()
  #processes = 0

  constructor(processesMax: number) {
    this.#processesMax = processesMax
  }

  /** Takes a place, and gives what makes it free again; undefined when there is none. */
  take(): (() => void) | undefined {
    if (this.#isFull) return undefined
    this.#processes++
    return () => {
      this.#processes--
    }
  }

  /** Names a process that makes room for others when there is none; what it gives takes the name back. */
  offer(process: IdleProcess): () => void {
    this.#idle.add(process)
    return () => this.#idle.delete(process)
  }

  /**
   * Ends idle processes until there is a place; resolves when there is one or no process is idle. Undefined when
   * there is one.
   */
  free(): Promise<void> | undefined {
    return this.#isFull ? this.#free() : undefined
  }

  get #isFull(): boolean {
    return this.#processes >= this.#processesMax
  }

  /** Another server may take the free place first. */
  async #free(): Promise<void> {
    while (this.#isFull) {
      const next = longestIdle(this.#idle)
      if (next === undefined) return
      await next.yield()
    }
  }
}

function longestIdle(processes: Iterable<IdleProcess>): IdleProcess | undefined {
  let earliest: IdleProcess | undefined
  let leastSince = Infinity
  for (const process of processes) {
    const since = process.idleSince ?? Infinity
    if (since >= leastSince) continue
    earliest = process
    leastSince = since
  }
  return earliest
}
