// Connections that have not authenticated.
//
// With a token, these are the connections that have not shown it; without one, those on which no whole
// request has arrived. With a token, each network has a separate limit, so that a network with many open
// connections affects only itself. A sender with many networks can still open every connection; then the
// oldest of all is closed.

import type { Clock } from '../../runtime/deadline.js'
import type { HttpServerLimits } from './limits.js'
import type { FrontSocket } from './request.js'

/** The network of a connection, and when it was opened. */
interface Origin {
  readonly network: string
  readonly sinceMs: number
}

/** Keeps connections until they have shown what is asked for. */
export class UnauthenticatedConnections {
  readonly #limits: HttpServerLimits
  readonly #clock: Clock
  /** The oldest first, as in every set below. */
  readonly #origins = new Map<FrontSocket, Origin>()
  readonly #byNetwork = new Map<string, Set<FrontSocket>>()

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
    const sockets = this.#byNetwork.get(network) ?? new Set()
    this.#byNetwork.set(network, sockets.add(socket))
    this.#origins.set(socket, { network, sinceMs: this.#clock.now() })
    socket.once('close', () => this.know(socket))
    return isCrowded ? network : undefined
  }

  /** It has shown what is asked for, or is gone. */
  know(socket: FrontSocket): void {
    const origin = this.#origins.get(socket)
    if (origin === undefined) return
    this.#origins.delete(socket)
    const sockets = this.#byNetwork.get(origin.network)
    sockets?.delete(socket)
    if (sockets?.size === 0) this.#byNetwork.delete(origin.network)
  }

  /** Closes the oldest: of a network that has too many, otherwise of all. Gives its network; undefined when there is none. */
  makeRoom(): string | undefined {
    for (const [network, sockets] of this.#byNetwork)
      if (sockets.size > this.#limits.strangersMax) return this.#close(sockets, network)
    const [oldest] = this.#origins
    return oldest === undefined ? undefined : this.#close([oldest[0]], oldest[1].network)
  }

  #makesRoomIn(network: string): boolean {
    const { strangersMax, strangerMs } = this.#limits
    const untilMs = this.#clock.now() - strangerMs
    const sockets = this.#byNetwork.get(network) ?? new Set()
    let isCrowded = false
    for (const socket of sockets) {
      const { sinceMs } = this.#origins.get(socket) ?? { sinceMs: 0 }
      if (sockets.size < strangersMax || sinceMs > untilMs) break
      this.#close([socket], network)
      isCrowded = true
    }
    return isCrowded
  }

  #close([oldest]: Iterable<FrontSocket>, network: string): string {
    if (oldest !== undefined) {
      this.know(oldest)
      oldest.destroy()
    }
    return network
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
