// Which connection is closed when all are in use.
//
// First the oldest of those that have not authenticated, then the one that has been idle longest between
// two requests. A connection with a request in progress is never closed, so the new one may be refused.

import type { FrontChannel } from './channel.js'
import { RareWarnings } from './rare-warnings.js'
import type { FrontSocket } from './request.js'
import { UnauthenticatedConnections, type UnauthenticatedLimits } from './unauthenticated-connections.js'

export interface ConnectionRoomLimits extends UnauthenticatedLimits {
  readonly connectionsMax: number
  readonly idleConnectionMs: number
}

export interface ConnectionRoomParts {
  readonly limits: ConnectionRoomLimits
  now(): number
  /** How many more the system has room for: sessions and connections, connections only, or neither. */
  room(): 'enough' | 'little' | 'none'
  /** Whether a token is asked for. */
  hasToken(): boolean
  warn(message: string): void
}

/** From this share of the connections on, none is kept for a request that may come later. */
const SHORT_SHARE = 0.75

/** Where descriptors are short: whoever asks again at once keeps its connection, which a newcomer could take. */
const SCARCE_IDLE_MS = 1000

export class ConnectionRoom {
  readonly #parts: ConnectionRoomParts
  readonly #channels: ReadonlySet<FrontChannel>
  readonly #strangers: UnauthenticatedConnections
  readonly #notices: RareWarnings<'full' | 'network'>

  constructor(parts: ConnectionRoomParts, channels: ReadonlySet<FrontChannel>) {
    this.#parts = parts
    this.#channels = channels
    this.#strangers = new UnauthenticatedConnections(parts.limits, () => parts.now())
    this.#notices = new RareWarnings(
      () => parts.now(),
      (message) => parts.warn(message),
    )
  }

  /** Whether room gets short: those that have shown nothing do not count, since they go first. */
  get isShort(): boolean {
    const known = this.#channels.size - this.#strangers.size
    return known > this.#parts.limits.connectionsMax * SHORT_SHARE
  }

  /** How long a connection may rest between two requests. */
  get idleMs(): number {
    const { idleConnectionMs } = this.#parts.limits
    return this.#parts.room() === 'enough' ? idleConnectionMs : Math.min(idleConnectionMs, SCARCE_IDLE_MS)
  }

  /** Whether a new connection may stay; another one may have to go for it. */
  admits(socket: FrontSocket): boolean {
    const { limits } = this.#parts
    const isFull = this.#channels.size >= limits.connectionsMax || this.#parts.room() === 'none'
    if (isFull && !this.#makesRoom()) return false
    const crowded = this.#strangers.admit(socket, this.#parts.hasToken())
    if (crowded === undefined) return true
    const many = `${crowded} has ${limits.strangersMax} connections that have not shown the token`
    this.#notices.note('network', `${many}: the oldest of them are closed for new ones`)
    return true
  }

  /** A request has come whole. */
  asked(socket: FrontSocket): void {
    if (!this.#parts.hasToken()) this.#strangers.know(socket)
  }

  /** It has shown the token. */
  know(socket: FrontSocket): void {
    this.#strangers.know(socket)
  }

  #makesRoom(): boolean {
    const all = `all ${this.#channels.size} connections that there may be are in use`
    const network = this.#strangers.makeRoom()
    if (network !== undefined) {
      const what = this.#parts.hasToken() ? 'has not shown the token' : 'has sent no request'
      this.#notices.note(
        'full',
        `${all}: the oldest that ${what} is closed for a new one, here one of ${network}`,
      )
      return true
    }
    const resting = this.#longestResting()
    resting?.cut()
    const goes =
      resting === undefined
        ? 'a new one is refused'
        : 'the one that has rested longest is closed for a new one'
    this.#notices.note('full', `${all}: ${goes}`)
    return resting !== undefined
  }

  #longestResting(): FrontChannel | undefined {
    let longest: FrontChannel | undefined
    for (const channel of this.#channels)
      if (channel.restsSinceMs < (longest?.restsSinceMs ?? Infinity)) longest = channel
    return longest
  }
}
