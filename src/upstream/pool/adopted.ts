// The first server of a pool when it was started elsewhere and given to the proxy with its connection.

import type { Connection } from '../../jsonrpc/connection.js'
import type { DialEnd, Dialed } from '../contracts/dial.js'

/** Closing the connection is all that the proxy does to end it. */
export class Adopted implements Dialed {
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
