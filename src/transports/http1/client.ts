// The connections to one server, kept alive between requests.
//
// Each upstream has a separate agent, so that no connection is ever used with
// two sets of credentials. The one that rested last is used first: of those that
// are not needed any more the others close by themselves.

import type { Connect, SocketPlace } from '../../runtime/runtime.js'
import { hostAndPort } from '../address.js'
import { Channel, type ChannelUser } from './client-socket.js'
import { asError } from './trouble.js'

export { connectorFor } from './connect.js'
export type { TlsMeans } from './connect-tls.js'
export { HttpSyntaxError, fieldLine } from './grammar.js'
export { type SocketTrouble, SocketTroubleError, socketTrouble } from './trouble.js'
export type { Channel, ChannelUser, HttpAnswer } from './client-socket.js'

/** How many connections there may be, and how long one rests. */
export interface HttpAgentLimits {
  readonly socketsMax: number
  readonly idleSocketsMax: number
  readonly idleSocketMs: number
}

/** A request that waits until there may be another connection. */
interface Waiting {
  readonly head: string
  readonly body: Uint8Array | undefined
}

/** Sends requests to one origin. */
export class HttpAgent {
  readonly #place: SocketPlace
  readonly #connect: Connect
  readonly #limits: HttpAgentLimits
  readonly #channels = new Set<Channel>()
  readonly #resting: Channel[] = []
  /** In the order in which they came. */
  readonly #waiting = new Map<ChannelUser, Waiting>()
  #isDestroyed = false

  constructor(url: URL, limits: HttpAgentLimits, connect: Connect) {
    this.#place = { ...hostAndPort(url), isTls: url.protocol === 'https:' }
    this.#limits = limits
    this.#connect = connect
  }

  /** Sends a head and a body. @throws what `connect` throws; any error once it is destroyed */
  request(head: string, body: Uint8Array | undefined, user: ChannelUser): void {
    if (this.#isDestroyed) throw closed()
    const resting = this.#resting.pop()
    if (resting !== undefined) return start(resting, user, { head, body })
    if (this.#channels.size >= this.#limits.socketsMax) this.#waiting.set(user, { head, body })
    else this.#open(user, { head, body })
  }

  /** Removes a request that has no connection yet. */
  forget(user: ChannelUser): void {
    this.#waiting.delete(user)
  }

  /** Closes every connection, those in use too; nothing is sent any more. */
  destroy(): void {
    this.#isDestroyed = true
    for (const channel of this.#channels) channel.close()
    const users = [...this.#waiting.keys()]
    this.#waiting.clear()
    for (const user of users) user.failed(closed())
  }

  /** The channel has no exchange any more and may have another. */
  rests(channel: Channel): void {
    const [next] = this.#waiting
    if (next !== undefined) {
      this.#waiting.delete(next[0])
      return start(channel, ...next)
    }
    const { idleSocketsMax, idleSocketMs } = this.#limits
    if (this.#resting.length >= idleSocketsMax || idleSocketMs === 0) return channel.close()
    this.#resting.push(channel)
  }

  /** The channel is closed. */
  gone(channel: Channel): void {
    this.#channels.delete(channel)
    const at = this.#resting.indexOf(channel)
    if (at >= 0) this.#resting.splice(at, 1)
    if (!this.#isDestroyed) this.#openNext()
  }

  /** One that cannot be opened must not keep those behind it waiting. */
  #openNext(): void {
    for (const [user, waiting] of this.#waiting) {
      this.#waiting.delete(user)
      try {
        return this.#open(user, waiting)
      } catch (error) {
        user.failed(asError(error))
      }
    }
  }

  #open(user: ChannelUser, waiting: Waiting): void {
    const socket = this.#connect(this.#place)
    const channel = new Channel(socket, this.#place.isTls, this.#limits.idleSocketMs, this)
    this.#channels.add(channel)
    start(channel, user, waiting)
  }
}

function start(channel: Channel, user: ChannelUser, { head, body }: Waiting): void {
  user.gets(channel)
  channel.send(head, body, user)
}

function closed(): Error {
  return new Error('the connections to the server have been closed')
}
