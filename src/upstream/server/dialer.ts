// Gives the workers of one server their processes or connections.

import type { Connection } from '../../jsonrpc/connection.js'
import type { Dialed, DialEnd, KnownServer } from '../contracts/dial.js'
import { Deferred } from '../../runtime/deferred.js'
import type { RunningProcess } from '../contracts/upstream.js'
import type { ServerKind } from './context.js'

/** Starts processes of one server, or connects to it. */
export class Dialer {
  readonly #service: string
  readonly #kind: Pick<ServerKind, 'adopt' | 'dial'>
  readonly #known: KnownServer
  /** A server that was started elsewhere, until the first worker takes it. */
  #adopted: Dialed | undefined

  constructor(service: string, kind: Pick<ServerKind, 'adopt' | 'dial'>, known: KnownServer) {
    this.#service = service
    this.#kind = kind
    this.#known = known
  }

  /** Whether a server that was started elsewhere waits for its first worker. */
  get hasAdopted(): boolean {
    return this.#adopted !== undefined
  }

  /** Whether the first worker takes this server, which was started elsewhere. */
  adopt(server: Connection | RunningProcess): boolean {
    const adopted = 'stdin' in server ? this.#kind.adopt?.(server) : dialedBy(this.#service, server)
    if (adopted === undefined) return false
    void this.#adopted?.stop()
    this.#adopted = adopted
    void adopted.ended.then(() => {
      if (this.#adopted === adopted) this.#adopted = undefined
    })
    return true
  }

  /** The adopted server, or another one. */
  take(): Dialed {
    const adopted = this.#adopted
    this.#adopted = undefined
    return adopted ?? this.#kind.dial(this.#known)
  }

  /** Stops what no worker has taken. */
  async close(): Promise<void> {
    await this.#adopted?.stop()
  }
}

/** Closing the connection is all that the proxy does to end it. */
function dialedBy(service: string, connection: Connection): Dialed {
  const ended = new Deferred<DialEnd>()
  const stop = async (): Promise<void> => {
    await connection.close()
    ended.resolve({ reason: 'closed', message: `'${service}' closed its connection` })
  }
  return { connection, pid: undefined, ended: ended.promise, stop }
}
