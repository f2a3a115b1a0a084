// How many child processes there may be is a limit of the machine, not of one server.

import { thatServer, type UpstreamError } from '../contracts/errors.js'

/** A worker that asks for a place for its process. */
export interface Applicant {
  readonly server: string
  /** Whether a call waits for the process, or for the lists of its server; only then may an idle process end for it. */
  readonly isCalled: () => boolean
  /** Whether a call waits for the process, and so for its place. */
  readonly mayWait: () => boolean
  /** Whether several clients use the process; one of a single client ends sooner for another process. */
  readonly isShared: boolean
  /** In monotonic milliseconds; undefined while the process must not end for another one. */
  readonly idleSince: () => number | undefined
}

/** A place for one process. */
export class Lease {
  /** Resolves when another process needs the place: the holder ends its process as soon as no call runs. */
  readonly lost: Promise<void>
  readonly isShared: boolean
  readonly #idleSince: () => number | undefined
  readonly #onReleased: () => void
  readonly #released: Promise<void>
  #isLost = false
  #lose: () => void = () => {}
  #release: () => void = () => {}

  constructor({ isShared, idleSince }: Applicant, onReleased: () => void) {
    this.isShared = isShared
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
  /** The starts that wait for a place. */
  readonly #waiting: (() => void)[] = []

  constructor(processesMax: number) {
    this.#processesMax = processesMax
  }

  /**
   * Takes a place in this turn where there is one, and else that of the process which has been idle for longest, as soon
   * as that has ended. While every process is in use, it waits as long as a call does. @throws UpstreamError
   */
  async admit(applicant: Applicant): Promise<Lease> {
    while (this.#leases.size >= this.#processesMax) {
      const [next] = applicant.isCalled() ? [...this.#leases].filter(isIdle).sort(endsSooner) : []
      if (next === undefined && !applicant.mayWait()) throw this.refusal(applicant.server)
      // Another server may take the free place first.
      await (next?.revoke() ?? new Promise<void>((look) => this.#waiting.push(look)))
    }
    const lease: Lease = new Lease(applicant, () => {
      this.#leases.delete(lease)
      this.changed()
    })
    this.#leases.add(lease)
    return lease
  }

  /** The servers that wait for a place look again: a process may be idle now, or no call may wait for them any more. */
  changed(): void {
    for (const look of this.#waiting.splice(0)) look()
  }

  refusal(server: string): UpstreamError {
    const what = `cannot be started: ${this.#processesMax} processes run already, which is processesMax`
    return thatServer(server, 'overloaded', what)
  }
}

function isIdle({ idleSince }: Lease): boolean {
  return idleSince !== undefined
}

/** Processes of one client before those of several, and then the one that has been idle for longest. */
function endsSooner(one: Lease, other: Lease): number {
  return Number(one.isShared) - Number(other.isShared) || (one.idleSince ?? 0) - (other.idleSince ?? 0)
}
