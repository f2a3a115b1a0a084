// Sockets that speak TLS; loaded when a server does.

import type { Buffer } from 'node:buffer'
import { isIP } from 'node:net'
import { connect } from 'node:tls'
import { TCP_KEEP_ALIVE_MS } from '../http-wire/tcp-keep-alive.js'
import type { Connect } from './agent.js'

/** Makes sockets that go on with the last session of the ones before them, which spares a round trip. */
export function tlsConnector(): Connect {
  let session: Buffer | undefined
  return ({ host, port }) => {
    const socket = connect({
      host,
      port,
      ALPNProtocols: ['http/1.1'],
      ...(isIP(host) === 0 ? { servername: host } : {}),
      ...(session === undefined ? {} : { session }),
    })
    socket.setNoDelay(true)
    socket.setKeepAlive(true, TCP_KEEP_ALIVE_MS)
    socket.on('session', (next) => {
      session = next
    })
    // A session that the server refuses for an error must not spoil the next connection too.
    socket.on('error', () => {
      session = undefined
    })
    return socket
  }
}
