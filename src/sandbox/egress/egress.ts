// The way out of one machine: its programs reach the hosts that the configuration names, and no others.
//
// The machine has no route to the network. A program connects to a port of the machine's loopback, `way-out.ts` forwards the bytes
// to a socket of the service, and this proxy receives them. A program may forge all of them, and may connect to the socket itself.

import { type Server, createServer } from 'node:net'
import type { Duplex } from 'node:stream'
import type { LogSink } from '../../runtime/runtime.js'
import { AllowedHosts } from './allowed-hosts.js'
import type { EgressRuntime } from './dial.js'
import { EgressConnection } from './egress-connection.js'
import { type EgressRefusal, refusalText } from './proxy-request.js'

/** A port on the loopback of a separate network, where no other program listens. */
export const PROXY_PORT = 3128

/** Names of the machine itself: programs reach its servers without the proxy. Python looks for `[::1]`, others for `::1`. */
const OWN_NAMES = 'localhost,127.0.0.1,0.0.0.0,::1,[::1],sandbox'

/**
 * Sets the proxy in the spellings that programs read: curl wants small letters for http, others want capitals.
 *
 * There is no `ALL_PROXY`, since the proxy carries no other protocols. `NODE_USE_ENV_PROXY` makes Node.js read these variables:
 * `fetch` from versions 22.21 and 24.0, `node:http` and `node:https` from 22.21 and 24.5.
 */
export function proxyVariables(): Record<string, string> {
  const proxy = `http://127.0.0.1:${PROXY_PORT}`
  return {
    http_proxy: proxy,
    https_proxy: proxy,
    no_proxy: OWN_NAMES,
    HTTP_PROXY: proxy,
    HTTPS_PROXY: proxy,
    NO_PROXY: OWN_NAMES,
    NODE_USE_ENV_PROXY: '1',
  }
}

/** The most log lines about refusals within a minute; the proxy counts those that it leaves out. */
const LINES_MAX = 10

/** The most connections of a session to hosts within a minute: each takes a DNS question and a port of the host. */
const DIALS_MAX = 600

const MINUTE_MS = 60_000

/** The most connections of a session at a time; others are refused. */
const CONNECTIONS_MAX = 64

/** The most connections with those whose request is read for the refusal; others are closed immediately. */
const HELD_MAX = 1024

/** The connections of one machine. */
export class Egress {
  readonly #terms: ConstructorParameters<typeof EgressConnection>[1]
  readonly #connections = new Set<EgressConnection>()
  readonly #warn: (what: string, detail?: string) => void
  readonly #refusals: MinuteCount
  #server: Server | undefined
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
      isFull: () => this.#connections.size > CONNECTIONS_MAX,
      mayDial: () => dials.next() <= DIALS_MAX,
    }
  }

  /** Accepts connections at a socket of that path. */
  listen(path: string): Promise<Server> {
    const server = createServer({ allowHalfOpen: true }, (program) => this.accept(program))
    this.#server = server
    return new Promise((resolve, reject) => {
      server.once('error', reject)
      server.listen(path, () => resolve(server))
    })
  }

  accept(program: Duplex): void {
    if (this.#isOver || this.#connections.size >= HELD_MAX) return void program.destroy()
    const connection = new EgressConnection(program, this.#terms)
    this.#connections.add(connection)
    program.once('close', () => this.#connections.delete(connection))
    void connection.serve()
  }

  /** Closes all connections when the machine is gone. */
  end(): void {
    this.#isOver = true
    this.#server?.close()
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
