// The listening socket of the front, and its connections.
//
// It ends without taking a word back: no connection is closed before what was
// written on it has left.

import { type Server, createServer } from 'node:net'
import { TCP_KEEP_ALIVE_MS } from '../http1/tcp-keep-alive.js'
import { FrontChannel, type ChannelLimits, type ChannelOwner } from './channel.js'
import { type HttpTimer, type SetTimer, repeat } from './clock.js'
import { ConnectionRoom, type ConnectionRoomLimits, type ConnectionRoomParts } from './connection-room.js'
import type { FrontSocket, HttpRequest } from './request.js'
import type { HttpResponse } from './response.js'
import { Slices } from './slices.js'

export interface ListeningLimits extends ChannelLimits, ConnectionRoomLimits {
  readonly lateCheckMs: number
}

export interface ListeningParts extends ConnectionRoomParts {
  readonly limits: ListeningLimits
  readonly setTimer: SetTimer
  wallNow(): number
  /** Lets connections come and gives the port; absent where that is the server's own business. */
  readonly listen?: ((server: Server, host: string, port: number) => Promise<number>) | undefined
  serve(request: HttpRequest, response: HttpResponse): void
  failed(error: unknown): void
}

/** How often it is said at most that the system gives no connections. */
const COMPLAINT_MS = 60_000

/** Serves what comes; it listens once and closes once. */
export class FrontListener implements ChannelOwner {
  readonly limits: ListeningLimits
  readonly setTimer: SetTimer
  readonly #parts: ListeningParts
  readonly #server: Server
  readonly #channels = new Set<FrontChannel>()
  readonly #room: ConnectionRoom
  readonly #closed: Promise<void>
  /** Many may be late at once. */
  readonly #late = new Slices()
  /** So may those be that send much at once. */
  readonly #busy = new Slices()
  #sweeper: HttpTimer | undefined
  #isStopping = false
  #hasListened = false
  /** When a response is made, and the second for which that holds. */
  #date = ''
  #second = -1
  #complainedMs = -Infinity

  constructor(parts: ListeningParts) {
    this.#parts = parts
    this.limits = parts.limits
    this.setTimer = parts.setTimer
    this.#server = createServer(
      { noDelay: true, keepAlive: true, keepAliveInitialDelay: TCP_KEEP_ALIVE_MS },
      (socket) => this.#come(socket),
    )
    this.#server.on('error', (error) => this.#hasNoConnection(error))
    this.#room = new ConnectionRoom(parts, this.#channels)
    this.#closed = new Promise((resolve) => this.#server.once('close', resolve))
  }

  get isStopping(): boolean {
    return this.#isStopping
  }

  get isShort(): boolean {
    return this.#room.isShort
  }

  /** Whoever is there has shown the token. */
  know(socket: FrontSocket): void {
    this.#room.know(socket)
  }

  /** Gives the port. @throws the system's error */
  async listen(host: string, port: number): Promise<number> {
    const listen = this.#parts.listen ?? listening
    const given = await listen(this.#server, host, port)
    this.#hasListened = true
    // Whoever stopped it meanwhile waits for its end.
    if (this.#isStopping) this.#server.close()
    this.#sweeper = repeat(this.setTimer, this.limits.lateCheckMs, () => this.#sweep())
    return given
  }

  /** Takes no new connection, and ends each as soon as nothing is asked on it. */
  stop(): void {
    if (this.#isStopping) return
    this.#isStopping = true
    if (!this.#hasListened) return
    this.#server.close()
    for (const channel of this.#channels) if (channel.isIdle) channel.close()
  }

  /** Waits for what is on its way, up to `waitMs`, and cuts the rest. */
  async close(waitMs: number): Promise<void> {
    this.stop()
    if (!this.#hasListened) return
    const last = this.setTimer(waitMs, () => {
      for (const channel of this.#channels) channel.cut()
    })
    await this.#closed
    this.#sweeper?.cancel()
    last.cancel()
  }

  // ChannelOwner

  now(): number {
    return this.#parts.now()
  }

  date(): string {
    const second = Math.floor(this.#parts.wallNow() / 1000)
    if (second !== this.#second) this.#date = `date: ${new Date(second * 1000).toUTCString()}\r\n`
    this.#second = second
    return this.#date
  }

  asked({ socket }: FrontChannel): void {
    this.#room.asked(socket)
  }

  serve(request: HttpRequest, response: HttpResponse): void {
    this.#parts.serve(request, response)
  }

  later(goOn: () => void): void {
    this.#busy.add(goOn)
  }

  gone(channel: FrontChannel): void {
    this.#channels.delete(channel)
  }

  failed(error: unknown): void {
    this.#parts.failed(error)
  }

  /** The system could not give a connection that came, and will try again; it may have much to say about that. */
  #hasNoConnection(error: Error): void {
    const nowMs = this.now()
    if (!this.#hasListened || nowMs - this.#complainedMs < COMPLAINT_MS) return
    this.#complainedMs = nowMs
    this.failed(error)
  }

  #come(socket: FrontSocket): void {
    if (this.#room.admits(socket)) this.#channels.add(new FrontChannel(socket, this))
    else socket.destroy()
  }

  #sweep(): void {
    const nowMs = this.now()
    const { idleMs } = this.#room
    for (const channel of this.#channels) {
      const why = channel.sweep(nowMs, idleMs)
      // What is late may still come before its turn.
      if (why === 'late')
        this.#late.add(() => channel.sweep(this.now(), idleMs) === 'late' && channel.refuse(408))
      else if (why === 'idle') channel.close()
    }
  }
}

/** Begins to listen and gives the port. @throws the system's error */
function listening(server: Server, host: string, port: number): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen({ host, port }, () => {
      server.off('error', reject)
      const address = server.address()
      resolve(typeof address === 'object' && address !== null ? address.port : port)
    })
  })
}
