// The listening socket of the front, and its connections.
//
// When all connections that there may be are in use, one is closed for a new one: first the oldest of those that have
// not authenticated, then the one that has been idle longest between two requests. A connection with a request in
// progress is never closed, so the new one may be refused.
//
// When the listener stops, no connection is closed before what was written on it has left.

import { type Server, createServer } from 'node:net'
import type { Clock } from '../../runtime/deadline.js'
import { TCP_KEEP_ALIVE_MS, FrontConnection, type FrontSocket, type HttpRequest } from '../http1/server.js'
import type { HttpEnvironment } from './endpoint.js'
import type { HttpServerLimits } from './front-limits.js'
import { repeat } from './repeat.js'
import { RareWarnings } from './rare-warnings.js'

/** The shortest time between two log lines that the system gives no connections. */
const COMPLAINT_MS = 60_000

/** From this share of the connections on, none is kept for a request that may come later. */
const SHORT_SHARE = 0.75

/** The idle time while descriptors are short: long enough for a client that sends its next request immediately. */
const SCARCE_IDLE_MS = 1000

/** Serves what comes; it listens once and closes once. */
export class FrontListener {
  readonly #environment: HttpEnvironment
  readonly #hasToken: () => boolean
  readonly #serve: (request: HttpRequest) => void
  readonly #server: Server
  readonly #channels = new Set<FrontConnection>()
  readonly #unauthenticated: UnauthenticatedConnections
  readonly #notices: RareWarnings
  readonly #closed: Promise<void>
  #sweeper: { cancel(): void } | undefined
  #isStopping = false
  #hasListened = false
  /** When a response is made, and the second for which that holds. */
  #date = ''
  #second = -1
  #complainedMs = -Infinity

  /** `hasToken` says whether a token is asked for. */
  constructor(environment: HttpEnvironment, hasToken: () => boolean, serve: (request: HttpRequest) => void) {
    this.#environment = environment
    this.#hasToken = hasToken
    this.#serve = serve
    this.#server = createServer(
      { noDelay: true, keepAlive: true, keepAliveInitialDelay: TCP_KEEP_ALIVE_MS },
      (socket) => this.#come(socket),
    )
    this.#server.on('error', (error) => this.#hasNoConnection(error))
    this.#unauthenticated = new UnauthenticatedConnections(environment.limits, environment)
    this.#notices = new RareWarnings(environment)
    this.#closed = new Promise((resolve) => this.#server.once('close', resolve))
  }

  /** The client of this socket has authenticated. */
  know(socket: FrontSocket): void {
    this.#unauthenticated.know(socket)
  }

  /** Gives the port. @throws the system's error */
  async listen(host: string, port: number): Promise<number> {
    const listen = this.#environment.listen ?? listening
    const given = await listen(this.#server, host, port)
    this.#hasListened = true
    // `stop` was called meanwhile, and `close` waits for the end.
    if (this.#isStopping) this.#server.close()
    this.#sweeper = repeat(this.#environment, this.#environment.limits.lateCheckMs, () => this.#sweep())
    return given
  }

  /** Takes no new connection, and ends each as soon as nothing is asked on it. */
  stop(): void {
    if (this.#isStopping) return
    this.#isStopping = true
    if (!this.#hasListened) return
    this.#server.close()
    for (const channel of this.#channels) channel.stop()
  }

  /** Waits up to `waitMs` for responses in progress, and cuts the connections that are left. */
  async close(waitMs: number): Promise<void> {
    this.stop()
    if (!this.#hasListened) return
    const last = this.#environment.setTimer(waitMs, () => {
      for (const channel of this.#channels) channel.cut()
    })
    await this.#closed
    this.#sweeper?.cancel()
    last.cancel()
  }

  // For its connections to call.

  /** Whether every connection ends with what is being answered on it. */
  get isStopping(): boolean {
    return this.#isStopping
  }

  /**
   * Whether connections end with their responses, since few are left. Those that have not authenticated do not count: they
   * are closed for new ones first.
   */
  get isShort(): boolean {
    const known = this.#channels.size - this.#unauthenticated.size
    return known > this.#environment.limits.connectionsMax * SHORT_SHARE
  }

  /** The field that says when a response is made, with its line end. */
  date(): string {
    const second = Math.floor(this.#environment.wallNow() / 1000)
    if (second !== this.#second) this.#date = `date: ${new Date(second * 1000).toUTCString()}\r\n`
    this.#second = second
    return this.#date
  }

  /** A request has come whole. */
  asked({ socket }: FrontConnection): void {
    if (!this.#hasToken()) this.#unauthenticated.know(socket)
  }

  /** The connection is closed. */
  gone(channel: FrontConnection): void {
    this.#channels.delete(channel)
  }

  /** The system could not give a connection that came, and will try again; it may have much to say about that. */
  #hasNoConnection(error: Error): void {
    const nowMs = this.#environment.now()
    if (!this.#hasListened || nowMs - this.#complainedMs < COMPLAINT_MS) return
    this.#complainedMs = nowMs
    this.#environment.failed(error)
  }

  #come(socket: FrontSocket): void {
    const { limits, room } = this.#environment
    const isFull = this.#channels.size >= limits.connectionsMax || room() === 'none'
    if (isFull && !this.#makesRoom()) return void socket.destroy()
    const crowded = this.#unauthenticated.admit(socket, this.#hasToken())
    if (crowded !== undefined) {
      const many = `${crowded} has ${limits.unauthenticatedPerNetworkMax} connections that have not shown the token`
      this.#notices.note('network', `${many}: the oldest of them are closed for new ones`)
    }
    this.#channels.add(new FrontConnection(socket, this.#environment, this, this.#serve))
  }

  #makesRoom(): boolean {
    const all = `all ${this.#channels.size} connections that there may be are in use`
    const network = this.#unauthenticated.makeRoom()
    const resting = network === undefined ? this.#longestResting() : undefined
    resting?.cut()
    let goes = 'a new one is refused'
    if (resting !== undefined) goes = 'the one that has rested longest is closed for a new one'
    if (network !== undefined) {
      const what = this.#hasToken() ? 'has not shown the token' : 'has sent no request'
      goes = `the oldest that ${what} is closed for a new one, here one of ${network}`
    }
    this.#notices.note('full', `${all}: ${goes}`)
    return network !== undefined || resting !== undefined
  }

  #longestResting(): FrontConnection | undefined {
    let longest: FrontConnection | undefined
    for (const channel of this.#channels)
      if (channel.restsSinceMs < (longest?.restsSinceMs ?? Infinity)) longest = channel
    return longest
  }

  #sweep(): void {
    const { limits, room } = this.#environment
    const scarceMs = Math.min(limits.idleConnectionMs, SCARCE_IDLE_MS)
    const idleMs = room() === 'enough' ? limits.idleConnectionMs : scarceMs
    for (const channel of this.#channels) if (channel.sweep(idleMs)) channel.refuse(408)
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

/** Keeps connections until they have shown what is asked for. */
class UnauthenticatedConnections {
  readonly #limits: HttpServerLimits
  readonly #clock: Clock
  /** The network of each and when it was opened, the oldest first. As many as there may be connections at most. */
  readonly #origins = new Map<FrontSocket, { readonly network: string; readonly sinceMs: number }>()

  constructor(limits: HttpServerLimits, clock: Clock) {
    this.#limits = limits
    this.#clock = clock
  }

  get size(): number {
    return this.#origins.size
  }

  /** A new connection. Gives the network whose oldest one had to make room for it, if one had. */
  admit(socket: FrontSocket, isLimited: boolean): string | undefined {
    const network = networkOf(socket.remoteAddress ?? '')
    const isCrowded = isLimited && this.#makesRoomIn(network)
    this.#origins.set(socket, { network, sinceMs: this.#clock.now() })
    socket.once('close', () => this.know(socket))
    return isCrowded ? network : undefined
  }

  /** It has shown what is asked for, or is gone. */
  know(socket: FrontSocket): void {
    this.#origins.delete(socket)
  }

  /** Closes the oldest: of a network that has too many, otherwise of all. Gives its network; undefined when there is none. */
  makeRoom(): string | undefined {
    const counts = new Map<string, number>()
    for (const { network } of this.#origins.values()) counts.set(network, (counts.get(network) ?? 0) + 1)
    const all = [...this.#origins]
    const isOfMany = (network: string): boolean =>
      (counts.get(network) ?? 0) > this.#limits.unauthenticatedPerNetworkMax
    const [socket, origin] = all.find(([, { network }]) => isOfMany(network)) ?? all[0] ?? []
    if (socket !== undefined) this.#close(socket)
    return origin?.network
  }

  /** A connection counts after a moment: a proxy in front opens hundreds together, and their requests are in flight. */
  #makesRoomIn(network: string): boolean {
    const { unauthenticatedPerNetworkMax, strangerMs } = this.#limits
    const untilMs = this.#clock.now() - strangerMs
    const own = [...this.#origins].filter(([, origin]) => origin.network === network)
    const surplus = own.slice(0, Math.max(0, own.length - unauthenticatedPerNetworkMax + 1))
    const late = surplus.filter(([, { sinceMs }]) => sinceMs <= untilMs)
    for (const [socket] of late) this.#close(socket)
    return late.length > 0
  }

  #close(socket: FrontSocket): void {
    this.know(socket)
    socket.destroy()
  }
}

/** The network of an address: for IPv6 its first half, since a client with one address has all of that network. */
export function networkOf(address: string): string {
  const [, mapped] = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address) ?? []
  if (mapped !== undefined || !address.includes(':')) return mapped ?? address
  const [head = '', tail] = address.split('::')
  const groups = head === '' ? [] : head.split(':')
  if (tail === undefined) return groups.slice(0, 4).join(':')
  const last = tail === '' ? [] : tail.split(':')
  const zeros = Array.from({ length: Math.max(0, 8 - groups.length - last.length) }, () => '0')
  return [...groups, ...zeros, ...last].slice(0, 4).join(':')
}
