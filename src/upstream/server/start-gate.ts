// When processes start, and how many there may be: a limit of the machine, and not of one server.
//
// A start takes the event loop for milliseconds, and the new process takes a processor for longer. Many starts together
// would delay the answers to clients by seconds, and several installs together slow each other down or damage the cache
// that they share.

import PQueue from 'p-queue'
import { within } from '../../runtime/deadline.js'
import { Deferred } from '../../runtime/deferred.js'
import type { Runtime } from '../../runtime/runtime.js'
import { thatServer, type UpstreamError } from '../contracts/upstream-error.js'

/** `initialize`, and the first list of a client, are answered before a process starts that nothing waits for. */
const ANSWERS_MS = 100

/** Between two starts that are put off: a start keeps a processor busy for about this time. */
const START_MS = 300

const INSTALLS_MAX = 2

/** An install that takes longer lets the next one begin beside it. */
const INSTALL_MS = 20_000

/** Between two looks whether another process still installs the package. */
const LOOK_MS = 500

/** A start, and the process that it leads to. */
export interface Applicant {
  readonly server: string
  /** Whether the start may install a package. */
  readonly installs: boolean
  /** Whether the start has not been given up. */
  readonly isWanted: () => boolean
  /** Whether a call waits for the process, or for the lists of its server; only then may an idle process end for it. */
  readonly isCalled: () => boolean
  /** Whether several clients use the process; one of a single client ends sooner for another process. */
  readonly isShared: boolean
  /** In monotonic milliseconds; undefined while the process must not end for another one. */
  readonly idleSince: () => number | undefined
  /** Another process needs the place: the process ends as soon as no call runs. Resolves when it has ended. */
  readonly vacate: () => Promise<void>
}

/** The permission to run one process: its place, and while it is installed, one of the installs. */
export interface Lease {
  /** Lets another install begin: the process is ready, or could not be made so. */
  readonly installed: () => void
  /** The process has ended, or is not started. */
  readonly release: () => void
}

export class StartGate {
  readonly #runtime: Pick<Runtime, 'now' | 'setTimer'>
  readonly #processesMax: number
  readonly #isInstalledElsewhere: (server: string) => boolean
  /** Whether each of them ends for another one. */
  readonly #running = new Map<Applicant, boolean>()
  readonly #waiting: (() => void)[] = []
  /** Resolves in a turn of the event loop in which no process has been started. */
  #nextTurn: Promise<void> = Promise.resolve()
  /** Resolves when the next start that is put off may begin. */
  #nextPutOff: Promise<void> = Promise.resolve()
  readonly #installs = new PQueue({ concurrency: INSTALLS_MAX })

  constructor(
    processesMax: number,
    runtime: Pick<Runtime, 'now' | 'setTimer'>,
    isInstalledElsewhere: (server: string) => boolean = () => false,
  ) {
    this.#processesMax = processesMax
    this.#runtime = runtime
    this.#isInstalledElsewhere = isInstalledElsewhere
  }

  /** Puts off a start that nothing waits for, at most until `hurried`: such starts follow each other. */
  async putOff(hurried: Promise<void>): Promise<void> {
    await within(hurried, ANSWERS_MS, this.#runtime)
    const turn = this.#nextPutOff
    this.#nextPutOff = turn.then(() => within(hurried, START_MS, this.#runtime))
    await Promise.race([turn, hurried])
  }

  get isFull(): boolean {
    return this.#running.size >= this.#processesMax
  }

  /**
   * Resolves when the process may start: when it may install its package, in its turn, and there is a place for it, free or of
   * the process which has been idle for longest, as soon as that has ended. While every process is in use, a start for a
   * call waits, and any other is refused. @throws UpstreamError
   */
  async enter(applicant: Applicant): Promise<Lease> {
    const installed = applicant.installs ? await this.#install(applicant) : () => {}
    await this.#turn()
    while (this.isFull) {
      if (!applicant.isCalled()) {
        installed()
        throw this.refusal(applicant.server)
      }
      const idle = [...this.#running.keys()].filter((each) => this.#mayEnd(each))
      const [next] = idle.sort(endsSooner)
      if (next !== undefined) this.#running.set(next, true)
      // Another server may take the free place first.
      await (next?.vacate() ?? new Promise<void>((look) => this.#waiting.push(look)))
    }
    this.#running.set(applicant, false)
    const release = (): void => {
      installed()
      this.#running.delete(applicant)
      this.changed()
    }
    return { installed, release }
  }

  #mayEnd(process: Applicant): boolean {
    return this.#running.get(process) === false && process.idleSince() !== undefined
  }

  #turn(): Promise<void> {
    const turn = this.#nextTurn
    this.#nextTurn = turn.then(() => new Promise((resolve) => void this.#runtime.setTimer(0, resolve)))
    return turn
  }

  /** Resolves when another package may be installed, with a function that ends the install; after a time it ends by itself. */
  async #install({ server, isWanted, isCalled }: Applicant): Promise<() => void> {
    // Two installs of one package take twice as long, and may damage the cache that they share.
    while (isWanted() && !isCalled() && this.#isInstalledElsewhere(server))
      await new Promise<void>((look) => void this.#runtime.setTimer(LOOK_MS, look))
    const installed = new Deferred<void>()
    await new Promise<void>((begin) => {
      void this.#installs.add(async () => {
        begin()
        await within(installed.promise, INSTALL_MS, this.#runtime)
      })
    })
    return () => installed.resolve()
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

/** Processes of one client before those of several, and then the one that has been idle for longest. */
function endsSooner(one: Applicant, other: Applicant): number {
  return Number(one.isShared) - Number(other.isShared) || (one.idleSince() ?? 0) - (other.idleSince() ?? 0)
}
