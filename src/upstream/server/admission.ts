// How many child processes there may be is a limit of the machine, not of one server.

import { thatServer } from '../contracts/errors.js'

/** A worker that asks for a place for its process. */
export interface Applicant {
  readonly server: string
  /** The principal of the one client that the process is for; undefined where clients share it. */
  readonly principal: string | undefined
  /** Whether a call waits for the process; only then may an idle process of another client end for it. */
  readonly isCalled: boolean
  /** In monotonic milliseconds; undefined while the process must not end for another one. */
  readonly idleSince: () => number | undefined
}

/** A place for one process. */
export class Lease {
  /** Resolves when another process needs the place: the holder ends its process as soon as no call runs. */
  readonly lost: Promise<void>
  readonly #idleSince: () => number | undefined
  readonly #onReleased: () => void
  readonly #released: Promise<void>
  #isLost = false
  #lose: () => void = () => {}
  #release: () => void = () => {}

  constructor(idleSince: () => number | undefined, onReleased: () => void) {
    this.#idleSince = idleSince
    this.#onReleased = onReleased
    this.lost = new Promise((resolve) => {
      this.#lose = resolve
    })
    this.#released = new Promise((resolve) => {
      this.#release = resolve
    })
  }

  /** Since when the process is idle; undefined where it must not end for another one, or is ending for one. */
  get idleSince(): number | undefined {
    return this.#isLost ? undefined : this.#idleSince()
  }

  /** Resolves when the process has ended. */
  revoke(): Promise<void> {
    this.#isLost = true
    this.#lose()
    return this.#released
  }

  /** The process has ended. */
  release(): void {
    this.#onReleased()
    this.#release()
  }
}

/** Counts the child processes of all servers together. */
export class Admission {
  readonly #processesMax: number
  readonly #leases = new Set<Lease>()

  constructor(processesMax: number) {
    this.#processesMax = processesMax
  }

  /**
   * Takes a place in this turn where there is one, and else that of the process which has been idle for longest, as soon
   * as that has ended. @throws UpstreamError when every process is in use
   */
  async admit({ server, isCalled, idleSince }: Applicant): Promise<Lease> {
    while (this.#leases.size >= this.#processesMax) {
      const next = isCalled ? longestIdle(this.#leases) : undefined
      if (next === undefined) {
        const what = `cannot be started: ${this.#processesMax} processes run already, which is processesMax`
        throw thatServer(server, 'overloaded', what)
      }
      // Another server may take the free place first.
      await next.revoke()
    }
    const lease: Lease = new Lease(idleSince, () => void this.#leases.delete(lease))
    this.#leases.add(lease)
    return lease
  }
}

function longestIdle(leases: Iterable<Lease>): Lease | undefined {
  let earliest: Lease | undefined
  let leastSince = Infinity
  for (const lease of leases) {
    const since = lease.idleSince ?? Infinity
    if (since >= leastSince) continue
    earliest = lease
    leastSince = since
  }
  return earliest
}
