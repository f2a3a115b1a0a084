// How a Node server of HTTP ends without taking a word back.
//
// Node calls a connection idle as soon as its response is ended, though most of
// it may still wait for a reader that is slow, and `Server.close` cuts every idle
// connection. So nothing is cut here before everything is on its way.

import type { Server } from 'node:http'
import { Server as NetServer, type Socket } from 'node:net'
import type { HttpTimer, SetTimer } from './clock.js'
import { repeat } from './clock.js'

/** How often connections are looked for that have become idle. */
const IDLE_CHECK_MS = 20

/** Ends one server, once. */
export class Ending {
  readonly #server: Server
  readonly #sockets = new Set<Socket>()
  readonly #closed: Promise<void>
  readonly #setTimer: SetTimer
  #idle: HttpTimer | undefined
  #isStopped = false
  #hasListened = false

  /** From before the server listens. */
  constructor(server: Server, setTimer: SetTimer) {
    this.#server = server
    this.#setTimer = setTimer
    this.#closed = new Promise((resolve) => server.once('close', resolve))
    server.on('connection', (socket: Socket) => {
      this.#sockets.add(socket)
      socket.once('close', () => this.#sockets.delete(socket))
    })
  }

  /** Takes no new connection; those that are idle are cut, now and whenever one becomes so. */
  stop(): void {
    if (this.#isStopped) return
    this.#isStopped = true
    this.#hasListened = this.#server.listening
    if (!this.#hasListened) return
    // What `Server.close` does, but for the cutting.
    NetServer.prototype.close.call(this.#server)
    this.#cutIdle()
    this.#idle = repeat(this.#setTimer, IDLE_CHECK_MS, () => this.#cutIdle())
  }

  /** Waits for what is on its way, up to `waitMs`, and cuts the rest. */
  async close(waitMs: number): Promise<void> {
    this.stop()
    if (!this.#hasListened) return
    const last = this.#setTimer(waitMs, () => this.#server.closeAllConnections())
    await this.#closed
    this.#idle?.cancel()
    last.cancel()
    // Its timers end with this.
    this.#server.close()
  }

  /** One connection that is not done keeps the others too; it is not for long. */
  #cutIdle(): void {
    for (const socket of this.#sockets) if (socket.writableLength > 0) return
    this.#server.closeIdleConnections()
  }
}
