// Decides when processes start, and limits their number for the whole proxy, not for one server.
//
// A start takes the event loop for milliseconds, and the new process takes a processor for longer. Many
// starts together would delay the answers to clients by seconds. Several installs together slow each other
// down or damage the cache that they share.

import PQueue from 'p-queue'
import { within } from '../../runtime/deadline.js'
import { Deferred } from '../../runtime/deferred.js'
import type { Runtime } from '../../runtime/runtime.js'
import { thatServer, type UpstreamError } from '../contracts/upstream-error.js'

/** The time for `initialize` and the first list of a client, before a start that nothing waits for. */
const ANSWERS_MS = 100

/** The delay between two such starts, each of which keeps a processor busy for about this time. */
const START_MS = 300

const INSTALLS_MAX = 2

/** After this time, the next install may begin beside this one. */
const INSTALL_MS = 20_000

/** The delay between two checks whether another process still installs the package. */
const LOOK_MS = 500

/** A start, and the process that results from it. */
export interface Applicant {
  readonly server: string
  readonly installs: boolean
  readonly isWanted: () => boolean
  /** Whether a call waits for the process or its lists. Only then may an idle process end for it. */
  readonly isCalled: () => boolean
  /** Whether several clients use the process. A process of one client ends sooner for another process. */
  readonly isShared: boolean
  /** The start of the idle time, in monotonic milliseconds; undefined while the process must not end. */
  readonly idleSince: () => number | undefined
  /** Ends the process for another one as soon as no call runs; resolves when it has ended. */
  readonly vacate: () => Promise<void>
}

/** The permission to run one process: its place, and one of the installs while its package is installed. */
export interface Lease {
  /** Ends the install, because the process is ready or has failed. */
  readonly installed: () => void
  /** Frees the place, because the process has ended or does not start. */
  readonly release: () => void
}

export class StartGate {
  readonly #runtime: Pick<Runtime, 'now' | 'setTimer'>
  readonly #processesMax: number
  readonly #isInstalledElsewhere: (server: string) => boolean
  /** Whether each process is ending for another one. */
  readonly #running = new Map<Applicant, boolean>()
  readonly #waiting: (() => void)[] = []
  /** Resolves in a turn of the event loop in which no process has started. */
  #nextTurn: Promise<void> = Promise.resolve()
  /** Resolves when the next delayed start may begin. */
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

  /** Delays a start that nothing waits for, at most until `skipped`. Such starts run one after another. */
  async putOff(skipped: Promise<void>): Promise<void> {
    await within(skipped, ANSWERS_MS, this.#runtime)
    const turn = this.#nextPutOff
    this.#nextPutOff = turn.then(() => within(skipped, START_MS, this.#runtime))
    await Promise.race([turn, skipped])
  }

  get isFull(): boolean {
    return this.#running.size >= this.#processesMax
  }

  /**
   * Resolves when the process may start: in its turn, after a wait for an install, with a free place. If no
   * place is free, the process that has been idle for longest ends first. While every process is in use, a
   * start for a call waits.
   *
   * @throws UpstreamError for any other start while every process is in use
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

  /** Resolves when the install may begin, with a function that ends it before its time limit. */
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

  /** Makes waiting starts check again: a process may be idle now, or no call may wait any more. */
  changed(): void {
    for (const look of this.#waiting.splice(0)) look()
  }

  refusal(server: string): UpstreamError {
    const what = `cannot be started: ${this.#processesMax} processes run already, which is processesMax`
    return thatServer(server, 'overloaded', what)
  }
}

/** Processes of one client end before shared ones, and those that have been idle for longest end first. */
function endsSooner(one: Applicant, other: Applicant): number {
  return Number(one.isShared) - Number(other.isShared) || (one.idleSince() ?? 0) - (other.idleSince() ?? 0)
}
