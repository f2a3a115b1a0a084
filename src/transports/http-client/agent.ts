// The sockets to one server, kept alive between requests.
//
// Each upstream has an agent of its own, so that no socket is ever used with two
// sets of credentials. Bytes that come on a socket nobody has asked anything on
// would be taken for the next answer, so such a socket is destroyed.

import { Agent as PlainAgent, type ClientRequest, request as plainRequest } from 'node:http'
import { Agent as TlsAgent, request as tlsRequest } from 'node:https'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import type { HttpLimits } from './options.js'

/** Makes a socket; for whoever owns the network. */
type Connect = (to: { readonly host: string; readonly port: number; readonly isTls: boolean }) => Duplex

/** Where a request goes, and what it says there. */
export interface RequestPlace {
  readonly method: string
  readonly host: string
  readonly port: number
  readonly path: string
  /** Names and values in turn. */
  readonly headers: readonly string[]
}

/** Opens requests to one origin. */
export class HttpAgent {
  readonly isTls: boolean
  readonly #agent: PlainAgent | TlsAgent
  /** Sockets that are watched: all that have ever been idle. */
  readonly #watched = new WeakSet<Socket>()
  /** Those on which nothing has been asked. */
  readonly #idle = new WeakSet<Socket>()

  constructor(
    url: URL,
    limits: Pick<HttpLimits, 'socketsMax' | 'idleSocketsMax' | 'idleSocketMs'>,
    connect?: Connect,
  ) {
    const options = {
      keepAlive: true,
      maxSockets: limits.socketsMax,
      maxFreeSockets: limits.idleSocketsMax,
      timeout: limits.idleSocketMs,
      noDelay: true,
    }
    this.isTls = url.protocol === 'https:'
    this.#agent = this.isTls ? new TlsAgent(options) : new PlainAgent(options)
    if (connect !== undefined) {
      const { isTls } = this
      this.#agent.createConnection = ({ host, port }) =>
        connect({ host: host ?? '', port: Number(port), isTls })
    }
    this.#agent.on('free', (socket: Socket) => this.#rest(socket))
  }

  /** @throws TypeError when a header cannot be sent */
  request({ method, host, port, path, headers }: RequestPlace): ClientRequest {
    const options = { agent: this.#agent, method, host, port, path, headers }
    const request = (this.isTls ? tlsRequest : plainRequest)(options)
    request.on('socket', (socket) => this.#idle.delete(socket))
    return request
  }

  /** Closes every socket, those in use too. */
  destroy(): void {
    this.#agent.destroy()
  }

  /** One that is given to a request which waited is told of that afterwards. */
  #rest(socket: Socket): void {
    this.#idle.add(socket)
    if (this.#watched.has(socket)) return
    this.#watched.add(socket)
    // For good: to add and to take away a listener for each request would start and stop the stream each time.
    socket.on('data', () => {
      if (this.#idle.has(socket)) socket.destroy()
    })
    // Node would give one that the server has ended to the next request.
    socket.on('end', () => socket.destroy())
  }
}
