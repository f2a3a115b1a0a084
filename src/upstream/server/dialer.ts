// Gives the workers of one server their processes or connections.

import type { Connection } from '../../jsonrpc/connection.js'
import type { Dialed, DialEnd, KnownServer } from '../contracts/dial.js'
import type { RunningProcess } from '../contracts/upstream.js'
import type { Lease } from './start-gate.js'
import type { ServerContext } from './context.js'
import type { ProcessReport, Reports } from './reports.js'

/** A process or connection, and what reports its life. */
export interface Started {
  readonly dialed: Dialed
  readonly report: ProcessReport
}

/** Starts processes of one server, or connects to it. */
export class Dialer {
  readonly #context: Omit<ServerContext, 'dialer' | 'reports'>
  readonly #known: KnownServer
  readonly #reports: Reports
  /** A server that was started elsewhere, until the first worker takes it. */
  #adopted: Started | undefined
  /** When a server has last shaken hands, in milliseconds since 1970. */
  connectedAtMs: number | undefined

  constructor(context: Omit<ServerContext, 'dialer' | 'reports'>, known: KnownServer, reports: Reports) {
    this.#context = context
    this.#known = known
    this.#reports = reports
  }

  /** Whether a server that was started elsewhere waits for its first worker. */
  get hasAdopted(): boolean {
    return this.#adopted !== undefined
  }

  /** Whether the first worker takes this server, which was started elsewhere. */
  adopt(server: Connection | RunningProcess): boolean {
    const { adopt, service } = this.#context
    const adopted = 'stdin' in server ? adopt?.(server) : new Adopted(service, server)
    if (adopted === undefined) return false
    void this.#adopted?.dialed.stop()
    const started = this.#started(adopted)
    this.#adopted = started
    void adopted.ended.then(() => {
      if (this.#adopted === started) this.#adopted = undefined
    })
    return true
  }

  /** The adopted server, or another one, which holds the lease until it has ended. */
  take(lease: Lease | undefined): Started {
    const adopted = this.#adopted
    this.#adopted = undefined
    if (adopted !== undefined) {
      lease?.release()
      return adopted
    }
    const dialed = this.#context.dial(this.#known)
    void dialed.ended.then(() => lease?.release())
    return this.#started(dialed)
  }

  /** A server has shaken hands. */
  connected(): void {
    this.connectedAtMs = this.#context.runtime.wallNow()
  }

  /** Stops what no worker has taken. */
  async close(): Promise<void> {
    await this.#adopted?.dialed.stop()
  }

  #started(dialed: Dialed): Started {
    return { dialed, report: this.#reports.begin(dialed) }
  }
}

/** Closing the connection is all that the proxy does to end it. */
class Adopted implements Dialed {
  readonly connection: Connection
  readonly pid = undefined
  readonly ended: Promise<DialEnd>
  #end: () => void = () => {}

  constructor(service: string, connection: Connection) {
    this.connection = connection
    this.ended = new Promise((resolve) => {
      this.#end = () => resolve({ reason: 'closed', message: `'${service}' closed its connection` })
    })
  }

  async stop(): Promise<void> {
    await this.connection.close()
    this.#end()
  }
}
