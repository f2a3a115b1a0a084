// What the HTTP front needs of Node's server.

import { type IncomingMessage, type Server, type ServerResponse, createServer } from 'node:http'
import type { Duplex } from 'node:stream'
import type { HttpLimits } from './limits.js'
import { Slices } from './slices.js'

const LATE = 'ERR_HTTP_REQUEST_TIMEOUT'

/** A server with our limits; what is no HTTP is refused by itself. */
export function serverWith(
  limits: HttpLimits,
  handle: (request: IncomingMessage, response: ServerResponse) => void,
): Server {
  const server = createServer(
    {
      insecureHTTPParser: false,
      maxHeaderSize: limits.headersBytesMax,
      headersTimeout: limits.headersTimeoutMs,
      requestTimeout: limits.requestTimeoutMs,
      connectionsCheckingInterval: limits.lateCheckMs,
      keepAliveTimeout: limits.idleConnectionMs,
      // The guard says it in JSON.
      requireHostHeader: false,
      noDelay: true,
    },
    handle,
  )
  server.maxHeadersCount = limits.headersMax
  server.maxConnections = limits.connectionsMax
  // Many may be late at once.
  const late = new Slices()
  server.on('clientError', (error: NodeJS.ErrnoException, socket) => {
    if (error.code === LATE) late.add(() => refuseBytes(error, socket))
    else refuseBytes(error, socket)
  })
  return server
}

/** Bytes that are no HTTP request: nothing behind them on this connection can be trusted. */
function refuseBytes(error: NodeJS.ErrnoException, socket: Duplex): void {
  if (!socket.writable || error.code === 'ECONNRESET') return void socket.destroy()
  const status = statuses.get(error.code ?? '') ?? '400 Bad Request'
  socket.end(`HTTP/1.1 ${status}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`, () => socket.destroy())
}

const statuses: ReadonlyMap<string, string> = new Map([
  ['HPE_HEADER_OVERFLOW', '431 Request Header Fields Too Large'],
  [LATE, '408 Request Timeout'],
])
