// The way out of one machine: its programs reach the hosts that the configuration names, and nothing else.
//
// The machine has no way to the network. A program that wants out connects to a port of its loopback, the agent hands on the
// bytes, and here is the proxy that they are meant for. Everything that comes may be forged: by the time it
// is here it is only bytes on some connection.

import type { LogSink } from '../../runtime/runtime.js'
import { AllowedHosts } from './allowed-hosts.js'
import type { EgressRuntime } from './dial.js'
import { EgressConnection, type ProgramEnd } from './egress-connection.js'
import { type EgressRefusal, refusalText } from './proxy-request.js'

/** Lines about refusals within a minute; those that are left out are counted. */
const LINES_MAX = 10

/** Connections of a session to hosts within a minute: each is a question to the DNS and a port of the host. */
const DIALS_MAX = 600

const MINUTE_MS = 60_000

/** The connections of one machine; the agent's link bounds how many there are. */
export class Egress {
  readonly #terms: ConstructorParameters<typeof EgressConnection>[1]
  readonly #connections = new Set<EgressConnection>()
  readonly #warn: (what: string, detail?: string) => void
  readonly #refusals: MinuteCount
  #isOver = false

  /** `hosts` are as they are configured, and `who` is refused in lines of the log. */
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

  /** A program has connected. */
  accept(program: ProgramEnd): void {
    if (this.#isOver) return program.drop()
    const connection = new EgressConnection(program, this.#terms)
    this.#connections.add(connection)
    void program.gone.then(() => this.#connections.delete(connection))
    void connection.serve()
  }

  /** The machine is gone. */
  end(): void {
    this.#isOver = true
    for (const connection of this.#connections) connection.close()
    this.#connections.clear()
    this.#leftOut(this.#refusals.count)
  }

  /** Says what was refused, a few times a minute. */
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

  /** The number of this one; `onEnd` hears how many there were in the minute that is over. */
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
