// The listening socket of the front, and its connections.
//
// When all connections that there may be are in use, one is closed for a new one: first the oldest of those that have
// not authenticated, then the one that has been idle longest between two requests. A connection with a request in
// progress is never closed, so the new one may be refused.
//
// When the listener stops, no connection is closed before what was written on it has left.

import { type Server, createServer } from 'node:net'
import {
  FrontConnection,
  type FrontServer,
  type HttpRequest,
  type HttpSocket,
  TCP_KEEP_ALIVE_MS,
} from '../http1/server.js'
import type { HttpEnvironment } from './endpoint.js'
import { repeat } from './repeat.js'
import { RareWarnings } from './rare-warnings.js'

/** The shortest time between two log lines that the system gives no connections. */
const COMPLAINT_MS = 60_000

/** From this share of the connections on, none is kept for a request that may come later. */
const SHORT_SHARE = 0.75

/** The idle time while descriptors are short: long enough for a client that sends its next request immediately. */
const SCARCE_IDLE_MS = 1000

/** A connection that has not shown what is asked for: the token, or else a request. */
interface Stranger {
  readonly network: string
  readonly sinceMs: number
}

/** Serves what comes; it listens once and closes once. */
export class FrontListener implements FrontServer {
  readonly environment: HttpEnvironment
  readonly serve: (request: HttpRequest) => void
  readonly #hasToken: () => boolean
  readonly #server: Server
  /** The oldest first; undefined for one that is no stranger any more. */
  readonly #connections = new Map<FrontConnection, Stranger | undefined>()
  #strangers = 0
  readonly #notices: RareWarnings
  readonly #closed: Promise<void>
  #sweeper: { cancel(): void } | undefined
  /** Whether every connection ends with what is being answered on it. */
  isStopping = false
  #hasListened = false
  /** When a response is made, and the second for which that holds. */
  #date = ''
  #second = -1
  #complainedMs = -Infinity

  /** `hasToken` says whether a token is asked for. */
  constructor(environment: HttpEnvironment, hasToken: () => boolean, serve: (request: HttpRequest) => void) {
    this.environment = environment
    this.#hasToken = hasToken
    this.serve = serve
    this.#server = createServer(
      { noDelay: true, keepAlive: true, keepAliveInitialDelay: TCP_KEEP_ALIVE_MS },
      (socket) => this.#come(socket),
    )
    this.#server.on('error', (error) => this.#hasNoConnection(error))
    this.#notices = new RareWarnings(environment)
    this.#closed = new Promise((resolve) => this.#server.once('close', resolve))
  }

  /** The client of this connection has authenticated. */
  know(connection: FrontConnection): void {
    if (this.#connections.get(connection) === undefined) return
    this.#connections.set(connection, undefined)
    this.#strangers--
  }

  /** Gives the port. @throws the system's error */
  async listen(host: string, port: number): Promise<number> {
    const { limits, listen = listening } = this.environment
    const given = await listen(this.#server, host, port)
    this.#hasListened = true
    // `stop` was called meanwhile, and `close` waits for the end.
    if (this.isStopping) this.#server.close()
    this.#sweeper = repeat(this.environment, limits.lateCheckMs, () => this.#sweep())
    return given
  }

  /** Takes no new connection, and ends each as soon as nothing is asked on it. */
  stop(): void {
    if (this.isStopping) return
    this.isStopping = true
    if (!this.#hasListened) return
    this.#server.close()
    for (const connection of this.#connections.keys()) connection.stop()
  }

  /** Waits up to `waitMs` for responses in progress, and cuts the connections that are left. */
  async close(waitMs: number): Promise<void> {
    this.stop()
    if (!this.#hasListened) return
    const last = this.environment.setTimer(waitMs, () => {
      for (const connection of this.#connections.keys()) connection.cut()
    })
    await this.#closed
    this.#sweeper?.cancel()
    last.cancel()
  }

  // For its connections to call.

  /** Strangers do not count: they are closed for new ones first. */
  get isShort(): boolean {
    return this.#connections.size - this.#strangers > this.environment.limits.connectionsMax * SHORT_SHARE
  }

  date(): string {
    const second = Math.floor(this.environment.wallNow() / 1000)
    if (second !== this.#second) this.#date = `date: ${new Date(second * 1000).toUTCString()}\r\n`
    this.#second = second
    return this.#date
  }

  asked(connection: FrontConnection): void {
    if (!this.#hasToken()) this.know(connection)
  }

  gone(connection: FrontConnection): void {
    this.know(connection)
    this.#connections.delete(connection)
  }

  /** The system could not give a connection that came, and will try again; it may have much to say about that. */
  #hasNoConnection(error: Error): void {
    const nowMs = this.environment.now()
    if (!this.#hasListened || nowMs - this.#complainedMs < COMPLAINT_MS) return
    this.#complainedMs = nowMs
    this.environment.failed(error)
  }

  #come(socket: HttpSocket): void {
    const { limits, room } = this.environment
    const isFull = this.#connections.size >= limits.connectionsMax || room() === 'none'
    if (isFull && !this.#makesRoom()) return void socket.destroy()
    const network = networkOf(socket.remoteAddress ?? '')
    if (this.#hasToken()) this.#makesRoomIn(network)
    this.#connections.set(new FrontConnection(socket, this), { network, sinceMs: this.environment.now() })
    this.#strangers++
  }

  /** Closes the oldest stranger, first of a network that has too many, or the connection that has rested longest. */
  #makesRoom(): boolean {
    const all = `all ${this.#connections.size} connections that there may be are in use`
    const counts = new Map<string, number>()
    const strangers = this.#listStrangers()
    for (const [, { network }] of strangers) counts.set(network, (counts.get(network) ?? 0) + 1)
    const { unauthenticatedPerNetworkMax } = this.environment.limits
    const isOfMany = (network: string): boolean => (counts.get(network) ?? 0) > unauthenticatedPerNetworkMax
    const [stranger, origin] = strangers.find(([, { network }]) => isOfMany(network)) ?? strangers[0] ?? []
    const closed = stranger ?? this.#longestResting()
    let goes = 'a new one is refused'
    if (closed !== undefined) goes = 'the one that has rested longest is closed for a new one'
    if (origin !== undefined) {
      const what = this.#hasToken() ? 'has not shown the token' : 'has sent no request'
      goes = `the oldest that ${what} is closed for a new one, here one of ${origin.network}`
    }
    if (closed !== undefined) this.#cut(closed)
    this.#notices.note('full', `${all}: ${goes}`)
    return closed !== undefined
  }

  /** A stranger counts after a moment: a proxy in front opens hundreds together, and their requests are in flight. */
  #makesRoomIn(network: string): void {
    const { unauthenticatedPerNetworkMax, strangerMs } = this.environment.limits
    const untilMs = this.environment.now() - strangerMs
    const own = this.#listStrangers().filter(([, stranger]) => stranger.network === network)
    const surplus = own.slice(0, Math.max(0, own.length - unauthenticatedPerNetworkMax + 1))
    const late = surplus.filter(([, { sinceMs }]) => sinceMs <= untilMs)
    for (const [connection] of late) this.#cut(connection)
    if (late.length === 0) return
    const many = `${network} has ${unauthenticatedPerNetworkMax} connections that have not shown the token`
    this.#notices.note('network', `${many}: the oldest of them are closed for new ones`)
  }

  #listStrangers(): (readonly [FrontConnection, Stranger])[] {
    return [...this.#connections].flatMap(([connection, stranger]) =>
      stranger === undefined ? [] : [[connection, stranger] as const],
    )
  }

  #cut(connection: FrontConnection): void {
    this.know(connection)
    connection.cut()
  }

  #longestResting(): FrontConnection | undefined {
    let longest: FrontConnection | undefined
    for (const connection of this.#connections.keys())
      if (connection.restsSinceMs < (longest?.restsSinceMs ?? Infinity)) longest = connection
    return longest
  }

  #sweep(): void {
    const { limits, room } = this.environment
    const scarceMs = Math.min(limits.idleConnectionMs, SCARCE_IDLE_MS)
    const idleMs = room() === 'enough' ? limits.idleConnectionMs : scarceMs
    for (const connection of this.#connections.keys()) connection.sweep(idleMs)
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
