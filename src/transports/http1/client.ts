// The connections to one server, kept alive between requests.
//
// Each upstream has a separate agent, so that no connection is ever used with
// two sets of credentials. The connection that was used last is used first, so that
// surplus ones time out.

import type { Connect, SocketPlace } from '../../runtime/runtime.js'
import { type LookupFunction, type Socket, connect } from 'node:net'
import { hostAndPort } from '../address.js'
import { TCP_KEEP_ALIVE_MS } from './bytes.js'
import type { TlsMeans } from './connect-tls.js'
import { ClientSocket, type ClientSocketUser, type Dial } from './client-socket.js'
import { asError } from './trouble.js'

export type { TlsMeans } from './connect-tls.js'
export { HttpSyntaxError, fieldLine } from './grammar.js'
export { type SocketTrouble, SocketTroubleError, socketTrouble } from './trouble.js'
export type { ClientSocket, ClientSocketUser, Dial, HttpAnswer } from './client-socket.js'

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
  readonly #dial: Dial
  readonly #limits: HttpAgentLimits
  readonly #channels = new Set<ClientSocket>()
  readonly #resting: ClientSocket[] = []
  /** In the order in which they came. */
  readonly #waiting = new Map<ClientSocketUser, Waiting>()
  #isDestroyed = false

  constructor(url: URL, limits: HttpAgentLimits, dial: Dial) {
    this.#place = { ...hostAndPort(url), isTls: url.protocol === 'https:' }
    this.#limits = limits
    this.#dial = dial
  }

  /** Sends a head and a body. @throws what `dial` throws; any error once it is destroyed */
  request(head: string, body: Uint8Array | undefined, user: ClientSocketUser): void {
    if (this.#isDestroyed) throw closed()
    const resting = this.#resting.pop()
    if (resting !== undefined) return start(resting, user, { head, body })
    if (this.#channels.size >= this.#limits.socketsMax) this.#waiting.set(user, { head, body })
    else this.#open(user, { head, body })
  }

  /** Removes a request that has no connection yet. */
  forget(user: ClientSocketUser): void {
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
  rests(channel: ClientSocket): void {
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
  gone(channel: ClientSocket): void {
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

  #open(user: ClientSocketUser, waiting: Waiting): void {
    const channel = new ClientSocket(this.#dial, this.#place, this.#limits.idleSocketMs, this)
    this.#channels.add(channel)
    start(channel, user, waiting)
  }
}

function start(channel: ClientSocket, user: ClientSocketUser, { head, body }: Waiting): void {
  user.gets(channel)
  channel.send(head, body, user)
}

function closed(): Error {
  return new Error('the connections to the server have been closed')
}

// Real sockets for the requests to a server.

/** How a server is reached. */
export interface Way {
  /** Undefined reaches it directly. */
  readonly proxy?: URL | undefined
  /** The TLS options, in addition to the defaults of the machine. */
  readonly tls?: TlsMeans | undefined
  /** Resolves names in place of the machine, where no proxy does. */
  readonly lookup?: LookupFunction | undefined
  /** Makes the sockets in place of the machine. */
  readonly connect?: Connect | undefined
}

/** Makes plain sockets. */
export function connectPlain(to: SocketPlace): Socket {
  return connectTo(to, undefined)
}

function connectTo({ host, port }: SocketPlace, lookup: LookupFunction | undefined): Socket {
  const keepAlive = { noDelay: true, keepAlive: true, keepAliveInitialDelay: TCP_KEEP_ALIVE_MS }
  return connect({ host, port, ...keepAlive, ...(lookup !== undefined && { lookup }) })
}

/** Resolves to the function that makes sockets for this address; TLS and tunnels are loaded only where they are used. */
export async function dialFor(url: URL, { proxy, tls, lookup, connect: given }: Way = {}): Promise<Dial> {
  if (proxy === undefined) return given ?? connectorFor(url, tls, lookup)
  const { tunnelDial } = await import('./tunnel.js')
  const isTls = url.protocol === 'https:'
  const secure = isTls ? (await import('./connect-tls.js')).tlsConnector(tls) : undefined
  return tunnelDial(proxy, given ?? (await connectorFor(proxy)), secure)
}

async function connectorFor({ protocol }: URL, tls?: TlsMeans, lookup?: LookupFunction): Promise<Connect> {
  if (protocol !== 'https:') return (to) => connectTo(to, lookup)
  const { tlsConnector } = await import('./connect-tls.js')
  const connectTls = tlsConnector(tls, lookup)
  return (to) => connectTls(to)
}
