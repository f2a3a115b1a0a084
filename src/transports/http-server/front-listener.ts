// The listening socket of the front, and its connections.
//
// When all connections are in use, the listener closes one for a new one: first the oldest unauthenticated
// connection of the network that has the most of them, then the connection that has been idle longest between
// two requests. It never closes a connection with a request in progress, so it may refuse the new one.

import { type Server, createServer } from 'node:net'
import {
  FrontConnection,
  type FrontServer,
  type HttpRequest,
  type HttpSocket,
  TCP_KEEP_ALIVE_MS,
} from '../http1/server.js'
import { ofMost } from '../../runtime/limited-table.js'
import { errorText } from '../../text/error-text.js'
import type { HttpEnvironment } from './endpoint.js'
import { repeat } from '../../runtime/deadline.js'
import { Deferred } from '../../runtime/deferred.js'
import { RareWarnings } from './rare-warnings.js'

/** Serves requests. It listens once and closes once. */
export class FrontListener implements FrontServer {
  readonly environment: HttpEnvironment
  readonly serve: (request: HttpRequest) => void
  readonly #hasToken: () => boolean
  readonly #server: Server
  /** All connections, the oldest first. */
  readonly #connections = new Set<FrontConnection>()
  /** Connections without the token, or without a request if no token is required, with their networks; the oldest first. */
  readonly #strangers = new Map<FrontConnection, string>()
  readonly #notices: RareWarnings
  readonly #closed: Promise<void>
  #sweeper: { cancel(): void } | undefined
  /** Whether every response that begins now is the last of its connection. */
  isDraining = false
  #hasListened = false
  #isClosed = false
  /** Connections with a response that lasts until its client or the front ends it. */
  readonly #lasting = new Set<FrontConnection>()
  /** Resolves when each remaining connection has a lasting response, after the socket was handed over. */
  readonly quiet = new Deferred<void>()
  /** Ends the responses that end last. */
  readonly #last: (() => void)[] = []

  constructor(environment: HttpEnvironment, hasToken: () => boolean, serve: (request: HttpRequest) => void) {
    this.environment = environment
    this.#hasToken = hasToken
    this.serve = serve
    this.#server = createServer(
      { noDelay: true, keepAlive: true, keepAliveInitialDelay: TCP_KEEP_ALIVE_MS },
      (socket) => this.#accept(socket),
    )
    // The system could not accept a connection, and will try again.
    this.#server.on('error', (error) => {
      if (this.#hasListened) this.#notices.note('full', `no connection can be accepted: ${errorText(error)}`)
    })
    this.#notices = new RareWarnings(environment)
    this.#closed = new Promise((resolve) => this.#server.once('close', resolve))
  }

  /** The client of this connection has authenticated. */
  onAuthenticated(connection: FrontConnection): void {
    this.#strangers.delete(connection)
  }

  /** Returns the port. @throws the error of the system */
  async listen(host: string, port: number): Promise<number> {
    const { limits, listen = listenAt } = this.environment
    const given = await listen(this.#server, host, port)
    this.#hasListened = true
    // `close` was called meanwhile.
    if (this.#isClosed) this.#server.close()
    else this.#sweepEvery(limits.lateCheckMs)
    return given
  }

  /**
   * Ends each connection with its next response, or after a moment without requests, so that an active client
   * gets that response. With `handsOver`, the successor accepts new connections on the same socket.
   */
  drain(handsOver: boolean): void {
    if (this.isDraining) return
    this.isDraining = true
    if (!this.#hasListened) return
    if (handsOver) this.#server.close()
    // A client that loses one of its connections uses another, which may have been idle for long.
    for (const connection of this.#connections) connection.countIdle()
    this.#sweepEvery(this.environment.limits.lastCheckMs)
    this.#look()
  }

  /** The response lasts until its client or the front ends it. */
  onLastingResponse({ wire, response }: Pick<HttpRequest, 'wire' | 'response'>): void {
    this.#lasting.add(wire)
    response.whenClosed(() => this.#lasting.delete(wire))
    this.#look()
  }

  /** Accepts no new connection, waits up to `waitMs` for responses in progress, and cuts the remaining connections. */
  async close(waitMs: number): Promise<void> {
    this.#isClosed = true
    this.isDraining = true
    if (!this.#hasListened) return
    this.#server.close()
    for (const end of this.#last.splice(0)) end()
    for (const connection of this.#connections) connection.stop()
    const last = this.environment.setTimer(waitMs, () => {
      for (const connection of this.#connections) connection.cut()
    })
    await this.#closed
    this.#sweeper?.cancel()
    last.cancel()
  }

  // Only connections call the following methods.

  requestRead(connection: FrontConnection): void {
    if (!this.#hasToken()) this.onAuthenticated(connection)
  }

  gone(connection: FrontConnection): void {
    this.onAuthenticated(connection)
    this.#connections.delete(connection)
    this.#look()
  }

  endLast(end: () => void): boolean {
    if (this.isDraining && !this.#isClosed) this.#last.push(end)
    return this.isDraining && !this.#isClosed
  }

  #look(): void {
    if (this.isDraining && this.#connections.size === this.#lasting.size) this.quiet.resolve()
  }

  #accept(socket: HttpSocket): void {
    const { limits, room } = this.environment
    const isFull = this.#connections.size >= limits.connectionsMax || room() === 'none'
    if (isFull && !this.#makesRoom()) return void socket.destroy()
    const connection = new FrontConnection(socket, this)
    this.#connections.add(connection)
    this.#strangers.set(connection, networkOf(socket.remoteAddress ?? ''))
  }

  #makesRoom(): boolean {
    // One client must not displace the others.
    const [stranger, network] = ofMost([...this.#strangers], ([, each]) => each)[0] ?? []
    const closed = stranger ?? this.#longestIdle()
    let goes = 'a new one is refused'
    if (closed !== undefined) goes = 'the one that has been idle longest is closed for a new one'
    if (network !== undefined) {
      const what = this.#hasToken() ? 'has not shown the token' : 'has sent no request'
      goes = `the oldest that ${what} is closed for a new one, here one of ${network}`
    }
    this.#notices.note('full', `all ${this.#connections.size} allowed connections are in use: ${goes}`)
    if (closed === undefined) return false
    this.onAuthenticated(closed)
    closed.cut()
    return true
  }

  #longestIdle(): FrontConnection | undefined {
    let longest: FrontConnection | undefined
    for (const connection of this.#connections)
      if (connection.idleSinceMs < (longest?.idleSinceMs ?? Infinity)) longest = connection
    return longest
  }

  #sweepEvery(ms: number): void {
    this.#sweeper?.cancel()
    this.#sweeper = repeat(this.environment, ms, () => {
      for (const connection of this.#connections) connection.sweep()
    })
  }
}

function listenAt(server: Server, host: string, port: number): Promise<number> {
  return untilListening(server, port, (done) => server.listen({ host, port }, done))
}

/** Resolves to the port once `listen` is done. @throws the error of the system */
export function untilListening(
  server: Server,
  port: number,
  listen: (done: () => void) => void,
): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    listen(() => {
      server.off('error', reject)
      const address = server.address()
      resolve(typeof address === 'object' && address !== null ? address.port : port)
    })
  })
}

/** The network of an address. For IPv6, it is the first half, because one client usually has all of it. */
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
