// Real sockets for the requests to a server.

import { type Socket, connect } from 'node:net'
import { TCP_KEEP_ALIVE_MS } from '../http-wire/tcp-keep-alive.js'
import type { Connect, SocketPlace } from './agent.js'

/** Makes plain sockets. */
export function connectPlain({ host, port }: SocketPlace): Socket {
  return connect({ host, port, noDelay: true, keepAlive: true, keepAliveInitialDelay: TCP_KEEP_ALIVE_MS })
}

/** What makes sockets for this address; TLS is loaded only where it is spoken. */
export async function connectorFor(url: URL): Promise<Connect> {
  if (url.protocol !== 'https:') return connectPlain
  const { tlsConnector } = await import('./connect-tls.js')
  return tlsConnector()
}
