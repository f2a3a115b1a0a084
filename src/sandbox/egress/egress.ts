// What programs of one machine reach outside: the hosts that its configuration names, and nothing else.
//
// The machine has no way to the network. Whoever wants out connects to a port of its loopback, the agent hands on the
// bytes, and here is the proxy that they are meant for. Everything that comes may be forged: by the time it
// is here it is only bytes on some connection.

import type { LogSink } from '../../runtime/runtime.js'
import { AllowedHosts } from './allowed-hosts.js'
import type { EgressRuntime } from './dial.js'
import { EgressConnection, type ProgramEnd } from './egress-connection.js'
import { type EgressRefusal, refusalText } from './proxy-request.js'

/** Lines about refusals within a minute; those that are left out are counted. */
const LINES_MAX = 10
const LINES_MS = 60_000

/** Connections of a session to hosts within this time. */
const DIALS_MAX = 600
const DIALS_MS = 60_000

export interface EgressParts {
  /** As they are configured. */
  readonly hosts: readonly string[]
  /** What clients call the session. */
  readonly sessionName: string
  readonly runtime: EgressRuntime
  readonly log: LogSink
}

/** The connections of one machine; how many there are is bounded by whoever brings them. */
export class Egress {
  readonly #terms: ConstructorParameters<typeof EgressConnection>[1]
  readonly #connections = new Set<EgressConnection>()
  readonly #refusals: RefusalLog
  #isOver = false

  constructor({ hosts, sessionName, runtime, log }: EgressParts) {
    const dials = new DialCount(runtime)
    this.#refusals = new RefusalLog(log, runtime, sessionName)
    const refused = (each: EgressRefusal): void => this.#refusals.take(each)
    this.#terms = { allowed: new AllowedHosts(hosts), runtime, refused, mayDial: () => dials.take() }
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
    this.#refusals.end()
  }
}

/** Connections to hosts within a minute: each is a question to the DNS and a port of the host. */
class DialCount {
  readonly #clock: Pick<EgressRuntime, 'now'>
  #sinceMs = -Infinity
  #dials = 0

  constructor(clock: Pick<EgressRuntime, 'now'>) {
    this.#clock = clock
  }

  take(): boolean {
    const now = this.#clock.now()
    if (now - this.#sinceMs >= DIALS_MS) {
      this.#sinceMs = now
      this.#dials = 0
    }
    return ++this.#dials <= DIALS_MAX
  }
}

/** Says what was refused, a few times a minute. */
class RefusalLog {
  readonly #log: LogSink
  readonly #clock: Pick<EgressRuntime, 'now'>
  readonly #sessionName: string
  #sinceMs = -Infinity
  #lines = 0

  constructor(log: LogSink, clock: Pick<EgressRuntime, 'now'>, sessionName: string) {
    this.#log = log
    this.#clock = clock
    this.#sessionName = sessionName
  }

  take(refused: EgressRefusal): void {
    const now = this.#clock.now()
    if (now - this.#sinceMs >= LINES_MS) {
      this.end()
      this.#sinceMs = now
    }
    if (++this.#lines > LINES_MAX) return
    const { detail } = refused
    const message = `${this.#who} was refused a connection: ${refusalText(refused)}`
    this.#log({ level: 'warn', message, ...(detail !== undefined && { details: { detail } }) })
  }

  end(): void {
    const more = this.#lines - LINES_MAX
    this.#lines = 0
    if (more > 0)
      this.#log({
        level: 'warn',
        message: `${this.#who} was refused ${more} more connections within a minute`,
      })
  }

  get #who(): string {
    return `session ${this.#sessionName}`
  }
}
