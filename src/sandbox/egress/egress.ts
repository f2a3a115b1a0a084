// The way out of one machine: its programs reach the hosts that the configuration names, and no others.
//
// The machine has no route to the network. A program connects to a port of the machine's loopback, the agent forwards the bytes,
// and this proxy receives them. A program may forge all of them: the proxy sees only bytes on a connection.

import type { LogSink } from '../../runtime/runtime.js'
import { AllowedHosts } from './allowed-hosts.js'
import type { EgressRuntime } from './dial.js'
import { EgressConnection, type ProgramEnd } from './egress-connection.js'
import { type EgressRefusal, refusalText } from './proxy-request.js'

/** The most log lines about refusals within a minute; the proxy counts those that it leaves out. */
const LINES_MAX = 10

/** The most connections of a session to hosts within a minute: each takes a DNS question and a port of the host. */
const DIALS_MAX = 600

const MINUTE_MS = 60_000

/** The connections of one machine; the link of the agent bounds their number. */
export class Egress {
  readonly #terms: ConstructorParameters<typeof EgressConnection>[1]
  readonly #connections = new Set<EgressConnection>()
  readonly #warn: (what: string, detail?: string) => void
  readonly #refusals: MinuteCount
  #isOver = false

  /** `hosts` are the configured entries; log lines say that `who` was refused. */
  constructor(hosts: readonly string[], who: string, runtime: EgressRuntime, log: LogSink) {
    const dials = new MinuteCount(runtime)
    this.#refusals = new MinuteCount(runtime)
    this.#warn = (what, detail) => {
      const message = `${who} was refused ${what}`
      log({ level: 'warn', message, ...(detail !== undefined && { details: { detail } }) })
    }
    this.#terms = {
      allowed: new AllowedHosts(hosts),
      runtime,
      refused: (each) => this.#refused(each),
      mayDial: () => dials.next() <= DIALS_MAX,
    }
  }

  accept(program: ProgramEnd): void {
    if (this.#isOver) return program.drop()
    const connection = new EgressConnection(program, this.#terms)
    this.#connections.add(connection)
    void program.gone.then(() => this.#connections.delete(connection))
    void connection.serve()
  }

  /** Closes all connections when the machine is gone. */
  end(): void {
    this.#isOver = true
    for (const connection of this.#connections) connection.close()
    this.#connections.clear()
    this.#leftOut(this.#refusals.count)
  }

  /** Logs the refusal, a few times a minute. */
  #refused(refused: EgressRefusal): void {
    if (this.#refusals.next((count) => this.#leftOut(count)) <= LINES_MAX)
      this.#warn(`a connection: ${refusalText(refused)}`, refused.detail)
  }

  #leftOut(count: number): void {
    if (count > LINES_MAX) this.#warn(`${count - LINES_MAX} more connections within a minute`)
  }
}

/** Counts within a minute that begins with its first count. */
class MinuteCount {
  readonly #clock: Pick<EgressRuntime, 'now'>
  #sinceMs = -Infinity
  #count = 0

  constructor(clock: Pick<EgressRuntime, 'now'>) {
    this.#clock = clock
  }

  /** Returns the number of this event; `onEnd` gets the count of the minute that has ended. */
  next(onEnd?: (count: number) => void): number {
    const now = this.#clock.now()
    if (now - this.#sinceMs >= MINUTE_MS) {
      onEnd?.(this.#count)
      this.#sinceMs = now
      this.#count = 0
    }
    return ++this.#count
  }

  get count(): number {
    return this.#count
  }
}
