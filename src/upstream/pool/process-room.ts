// How many child processes there may be is a limit of the machine, not of one server.

/** A process that can be stopped, and started again for its next call. */
export interface IdleProcess {
  /** In monotonic milliseconds; undefined while it is in use, or not there. */
  readonly idleSince: number | undefined
  /** The same for one that only waits for clients which were asked something and have not come back. */
  readonly awaySince: number | undefined
  /** Whose it is; undefined where nobody has said. */
  readonly principal: string | undefined
  /** Stops it; resolves when it is gone. */
  yield(): Promise<void>
}

/** Who wants to start one more, and when. */
interface Newcomer {
  readonly principal: string | undefined
  readonly nowMs: number
}

/** Counts the child processes of all servers together. */
export class ProcessRoom {
  readonly #processesMax: number
  readonly #awayMsMax: number
  readonly #idle = new Set<IdleProcess>()
  #processes = 0

  /** One whose clients have been away for `awayMsMax` makes room for whoever needs it. */
  constructor(processesMax: number, awayMsMax: number = Infinity) {
    this.#processesMax = processesMax
    this.#awayMsMax = awayMsMax
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
   * Ends processes until there is a place; resolves when there is one or nobody else can go. Undefined when there is one.
   *
   * Idle ones go first, then those whose clients stay away: for long, or where they have more of them than the newcomer.
   */
  free(newcomer: Newcomer): Promise<void> | undefined {
    return this.#isFull ? this.#free(newcomer) : undefined
  }

  get #isFull(): boolean {
    return this.#processes >= this.#processesMax
  }

  /** Somebody else may take what has become free. */
  async #free(newcomer: Newcomer): Promise<void> {
    while (this.#isFull) {
      const next = first(this.#idle, ({ idleSince }) => idleSince) ?? this.#away(newcomer)
      if (next === undefined) return
      await next.yield()
    }
  }

  #away({ principal, nowMs }: Newcomer): IdleProcess | undefined {
    const waiting = new Map<string | undefined, number>()
    for (const { awaySince, principal: whose } of this.#idle)
      if (awaySince !== undefined) waiting.set(whose, (waiting.get(whose) ?? 0) + 1)
    const own = waiting.get(principal) ?? 0
    // Who would have fewer than the newcomer then would only take the place back.
    const hasMore = (whose: string | undefined): boolean => (waiting.get(whose) ?? 0) > own + 1
    return first(this.#idle, ({ awaySince, principal: whose }) => {
      const isLong = awaySince !== undefined && awaySince + this.#awayMsMax <= nowMs
      return isLong || hasMore(whose) ? awaySince : undefined
    })
  }
}

/** The process for which that is earliest. */
function first(
  processes: Iterable<IdleProcess>,
  since: (process: IdleProcess) => number | undefined,
): IdleProcess | undefined {
  let earliest: IdleProcess | undefined
  let leastSince = Infinity
  for (const process of processes) {
    const at = since(process) ?? Infinity
    if (at >= leastSince) continue
    earliest = process
    leastSince = at
  }
  return earliest
}
