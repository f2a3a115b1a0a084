// A relay between two programs, which a test can cut and stall.

import { type Server, type Socket, connect, createServer } from 'node:net'
import { once } from 'node:events'
import { numberAt } from '../integration/support/json.js'
import type { Scope } from './scope.js'

/** Passes connections on to a port, and counts them. */
export class Relay {
  readonly #server: Server
  readonly #sockets = new Set<Socket>()
  /** How many connections have been made. */
  made = 0

  private constructor(to: number) {
    this.#server = createServer((near) => {
      this.made++
      const far = connect(to, '127.0.0.1')
      for (const socket of [near, far]) {
        this.#sockets.add(socket)
        socket.on('error', () => undefined)
        socket.on('close', () => {
          this.#sockets.delete(socket)
          near.destroy()
          far.destroy()
        })
      }
      near.pipe(far).pipe(near)
    })
  }

  static async open(scope: Scope, to: number): Promise<Relay> {
    const relay = new Relay(to)
    relay.#server.listen(0, '127.0.0.1')
    await once(relay.#server, 'listening')
    scope.after(() => {
      relay.cut()
      relay.#server.close()
    })
    return relay
  }

  /** Ends every connection, and takes new ones. */
  cut(): void {
    for (const socket of this.#sockets) socket.destroy()
  }

  /** How many ends of connections there are. */
  get open(): number {
    return this.#sockets.size
  }

  get port(): number {
    return numberAt(this.#server.address(), 'port')
  }

  /** No byte and no end passes until `mend`. */
  stall(): void {
    for (const socket of this.#sockets) socket.pause()
  }

  mend(): void {
    for (const socket of this.#sockets) socket.resume()
  }
}
