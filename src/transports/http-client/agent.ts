// The sockets to one server, kept alive between requests.
//
// Each upstream has an agent of its own, so that no socket is ever used with two
// sets of credentials. Bytes that come on a socket nobody has asked anything on
// would be taken for the next answer, so such a socket is destroyed.

import {
  Agent as PlainAgent,
  type ClientRequest,
  type RequestOptions,
  request as plainRequest,
} from 'node:http'
import { Agent as TlsAgent, request as tlsRequest } from 'node:https'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import type { HttpLimits } from './options.js'

/** Makes a socket; for whoever owns the network. */
type Connect = (to: { readonly host: string; readonly port: number; readonly isTls: boolean }) => Duplex

/** Opens requests to one origin. */
export class HttpAgent {
  readonly isTls: boolean
  readonly #agent: PlainAgent | TlsAgent

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
    this.#agent.on('free', (socket: Socket) => this.#idle(socket))
  }

  /** @throws TypeError when a header cannot be sent */
  request(options: RequestOptions): ClientRequest {
    const request = (this.isTls ? tlsRequest : plainRequest)({ ...options, agent: this.#agent })
    request.once('socket', (socket) => socket.off('data', destroy))
    return request
  }

  /** Closes every socket, those in use too. */
  destroy(): void {
    this.#agent.destroy()
  }

  #idle(socket: Socket): void {
    const isFree = Object.values(this.#agent.freeSockets).some(
      (sockets) => sockets?.includes(socket) === true,
    )
    if (isFree) socket.on('data', destroy)
  }
}

function destroy(this: Socket): void {
  this.destroy()
}
