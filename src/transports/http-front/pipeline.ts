// Requests that come before the one in front of them on their connection is answered.
//
// HTTP/1.1 allows it, and nearly nobody does it but who hides one request in the
// body of another. So each waits until the one before is answered, and where that
// answer ends the connection, nothing behind it was ever a request.

import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

/** More than any client sends ahead. */
const WAITING_MAX = 16

/** Lets requests in one by one on each connection. */
export class Pipeline {
  readonly #waiting = new WeakMap<Socket, number>()

  /** Calls `handle` when it is this request's turn. */
  add({ socket }: IncomingMessage, response: ServerResponse, handle: () => void): void {
    const waiting = (this.#waiting.get(socket) ?? 0) + 1
    this.#waiting.set(socket, waiting)
    if (waiting > WAITING_MAX) socket.destroy()
    response.once('socket', () => {
      this.#waiting.set(socket, (this.#waiting.get(socket) ?? 1) - 1)
      handle()
    })
  }
}
