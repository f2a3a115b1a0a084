// The port of the machine's loopback that leads out: what programs say there goes to the service, and its answers back.
//
// The proxy itself is on the other side. Here nothing is read, and nothing is decided but how many there may be.

import type { Buffer } from 'node:buffer'
import { type Server, type Socket, createServer } from 'node:net'
import {
  CONNECTIONS_MAX,
  CONNECTION_WINDOW,
  FRAME_BYTES_MAX,
  connectionOrders,
  connectionReports,
  costPayload,
  frameCost,
  payloadsOf,
} from '../frames.js'

type Send = (kind: number, channel: number, payload?: Uint8Array) => void

const BUSY_BODY = `${CONNECTIONS_MAX} connections of this sandbox are open already\n`
const BUSY = `HTTP/1.1 503 Too many connections\r\nContent-Type: text/plain\r\nContent-Length: ${BUSY_BODY.length}\r\nConnection: close\r\n\r\n${BUSY_BODY}`

/** Listens for programs. */
export class ProxyPort {
  readonly #send: Send
  readonly #connections = new Map<number, ProgramConnection>()
  #last = 0

  constructor(send: Send) {
    this.#send = send
  }

  listen(port: number): Promise<Server> {
    const server = createServer({ allowHalfOpen: true }, (socket) => this.#take(socket))
    return new Promise((resolve, reject) => {
      server.once('error', reject)
      server.listen(port, '127.0.0.1', () => resolve(server))
    })
  }

  /** An order about a connection; one that is gone has nobody to hear it. */
  order(kind: number, channel: number, payload: Buffer): void {
    this.#connections.get(channel)?.order(kind, payload)
  }

  #take(socket: Socket): void {
    socket.on('error', () => undefined)
    if (this.#connections.size >= CONNECTIONS_MAX) {
      socket.resume()
      socket.end(BUSY, () => socket.destroySoon())
      return
    }
    // Numbers that are used again are those of connections long gone.
    const channel = (this.#last = (this.#last + 1) % 2 ** 32)
    this.#send(connectionReports.open, channel)
    this.#connections.set(
      channel,
      new ProgramConnection(socket, (kind, bytes) => this.#send(kind, channel, bytes)),
    )
    socket.once('close', () => {
      this.#connections.delete(channel)
      this.#send(connectionReports.gone, channel)
    })
  }
}

/** One program that has connected, read as far as the service can take it. */
class ProgramConnection {
  readonly #socket: Socket
  readonly #send: (kind: number, payload?: Uint8Array) => void
  /** Sent, and not taken yet. */
  #outstanding = 0

  constructor(socket: Socket, send: (kind: number, payload?: Uint8Array) => void) {
    this.#socket = socket
    this.#send = send
    socket.setNoDelay(true)
    socket.on('data', (chunk: Buffer) => this.#sent(chunk))
    socket.on('end', () => send(connectionReports.sentEnd))
  }

  order(kind: number, payload: Buffer): void {
    switch (kind) {
      case connectionOrders.deliver:
        this.#socket.write(payload, () => this.#delivered(frameCost(payload.length)))
        return
      case connectionOrders.deliverEnd:
        this.#socket.end()
        return
      case connectionOrders.sentTaken:
        this.#outstanding -= payload.readUInt32BE(0)
        if (!this.#isHeld()) this.#socket.resume()
        return
      case connectionOrders.drop:
        // What was ended arrives; what was not must not look as if it were whole.
        if (this.#socket.writableEnded) this.#socket.destroySoon()
        else this.#socket.resetAndDestroy()
    }
  }

  #delivered(cost: number): void {
    if (!this.#socket.destroyed) this.#send(connectionReports.delivered, costPayload(cost))
  }

  #sent(chunk: Buffer): void {
    for (const payload of payloadsOf(chunk)) {
      this.#outstanding += frameCost(payload.length)
      this.#send(connectionReports.sent, payload)
    }
    if (this.#isHeld()) this.#socket.pause()
  }

  #isHeld(): boolean {
    return this.#outstanding + frameCost(FRAME_BYTES_MAX) > CONNECTION_WINDOW
  }
}
