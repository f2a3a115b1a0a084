// How many child processes there may be is a limit of the machine, not of one server.

/** A process that can be stopped, and started again for its next call. */
export interface IdleProcess {
  /** In monotonic milliseconds; undefined while it is in use, or not there. */
  readonly idleSince: number | undefined
  /** Stops it; resolves when it is gone. */
  yield(): Promise<void>
}

/** `initialize`, and a list of a client that asks at once, are answered before a process starts. */
const ANSWERS_MS = 100

/** What a process takes of a processor until it has started, about. */
const START_MS = 300

/** Counts the child processes of all servers together. */
export class ProcessRoom {
  readonly #processesMax: number
  readonly #idle = new Set<IdleProcess>()
  #processes = 0
  #lastStartMs = -Infinity

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

  /**
   * Takes the next turn to start a process for which nobody waits; gives in how many milliseconds it comes.
   *
   * One after the other: many that start together take the processor from clients that are reading the lists, for
   * seconds where there are few processors.
   */
  takeStart(nowMs: number): number {
    this.#lastStartMs = Math.max(nowMs + ANSWERS_MS, this.#lastStartMs + START_MS)
    return this.#lastStartMs - nowMs
  }

  /** Names a process that makes room for others when there is none; what it gives takes the name back. */
  offer(process: IdleProcess): () => void {
    this.#idle.add(process)
    return () => this.#idle.delete(process)
  }

  /** Ends idle processes until there is a place; resolves when there is one or nobody else can go. Undefined when there is one. */
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
