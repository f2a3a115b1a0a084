// Room for child processes: how many there may be is a limit of the machine, not of one server.

/** A process that can be stopped and started again when somebody needs it. */
export interface IdleProcess {
  /** In monotonic milliseconds; undefined while it is in use, or not there. */
  readonly idleSince: number | undefined
  /** Stops it; resolves when it is gone. */
  yield(): Promise<void>
}

/** The places there are, for all servers together. */
export interface ProcessPlaces {
  /** Takes a place, and gives what makes it free again; undefined when there is none. */
  take(): (() => void) | undefined
  /** Names a process that makes room for others when there is none; what it gives takes the name back. */
  offer(process: IdleProcess): () => void
  /** Ends idle processes until there is a place; resolves when there is one or nobody else can go. Undefined when there is one. */
  free(): Promise<void> | undefined
}
