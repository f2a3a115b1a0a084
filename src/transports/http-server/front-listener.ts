// The listening socket of the front, and its connections.
//
// When all connections are in use, the listener closes one for a new one: first the oldest unauthenticated connection of the
// network that has most of them, then the connection that has been idle longest between two requests. It never closes a
// connection with a request in progress, so it may refuse the new one.

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
import { RareWarnings } from './rare-warnings.js'

/** Serves what comes; it listens once and closes once. */
export class FrontListener implements FrontServer {
  readonly environment: HttpEnvironment
  readonly serve: (request: HttpRequest) => void
  readonly #hasToken: () => boolean
  readonly #server: Server
  /** All connections, the oldest first. */
  readonly #connections = new Set<FrontConnection>()
  /** The networks of those that have not shown the token, or have sent no request where the front has none; the oldest first. */
  readonly #strangers = new Map<FrontConnection, string>()
  readonly #notices: RareWarnings
  readonly #closed: Promise<void>
  #sweeper: { cancel(): void } | undefined
  /** Whether every connection ends with what is being answered on it. */
  isStopping = false
  #hasListened = false
  /** The field `Date`, and its second. */
  #date = ''
  #second = -1

  constructor(environment: HttpEnvironment, hasToken: () => boolean, serve: (request: HttpRequest) => void) {
    this.environment = environment
    this.#hasToken = hasToken
    this.serve = serve
    this.#server = createServer(
      { noDelay: true, keepAlive: true, keepAliveInitialDelay: TCP_KEEP_ALIVE_MS },
      (socket) => this.#come(socket),
    )
    // The system could not give a connection that came, and will try again.
    this.#server.on('error', (error) => {
      if (this.#hasListened) this.#notices.note('full', `no connection can be accepted: ${errorText(error)}`)
    })
    this.#notices = new RareWarnings(environment)
    this.#closed = new Promise((resolve) => this.#server.once('close', resolve))
  }

  /** The client of this connection has authenticated. */
  know(connection: FrontConnection): void {
    this.#strangers.delete(connection)
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
    for (const connection of this.#connections) connection.stop()
  }

  /** Waits up to `waitMs` for responses in progress, and cuts the connections that are left. */
  async close(waitMs: number): Promise<void> {
    this.stop()
    if (!this.#hasListened) return
    const last = this.environment.setTimer(waitMs, () => {
      for (const connection of this.#connections) connection.cut()
    })
    await this.#closed
    this.#sweeper?.cancel()
    last.cancel()
  }

  // For its connections to call.

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

  #come(socket: HttpSocket): void {
    const { limits, room } = this.environment
    const isFull = this.#connections.size >= limits.connectionsMax || room() === 'none'
    if (isFull && !this.#makesRoom()) return void socket.destroy()
    const connection = new FrontConnection(socket, this)
    this.#connections.add(connection)
    this.#strangers.set(connection, networkOf(socket.remoteAddress ?? ''))
  }

  #makesRoom(): boolean {
    // One client cannot drive out the others.
    const [stranger, network] = ofMost([...this.#strangers], ([, each]) => each)[0] ?? []
    const closed = stranger ?? this.#longestResting()
    let goes = 'a new one is refused'
    if (closed !== undefined) goes = 'the one that has rested longest is closed for a new one'
    if (network !== undefined) {
      const what = this.#hasToken() ? 'has not shown the token' : 'has sent no request'
      goes = `the oldest that ${what} is closed for a new one, here one of ${network}`
    }
    this.#notices.note(
      'full',
      `all ${this.#connections.size} connections that there may be are in use: ${goes}`,
    )
    if (closed === undefined) return false
    this.know(closed)
    closed.cut()
    return true
  }

  #longestResting(): FrontConnection | undefined {
    let longest: FrontConnection | undefined
    for (const connection of this.#connections)
      if (connection.restsSinceMs < (longest?.restsSinceMs ?? Infinity)) longest = connection
    return longest
  }

  #sweep(): void {
    for (const connection of this.#connections) connection.sweep()
  }
}

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

/** The network of an address: for IPv6 its first half, because one client usually has all addresses of that. */
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
