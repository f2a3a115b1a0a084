// A server on the loopback that works on bare sockets.

import { type Server, type Socket, createServer } from 'node:net'
import { listening } from '../../support/listening.js'
import type { Scope } from './scripted.js'

export interface RawServer {
  readonly server: Server
  readonly port: number
  /** All sockets that have ever connected, in order. */
  readonly sockets: readonly Socket[]
}

/** Calls back for every connection. All connections end with the test. */
export async function rawServer(
  scope: Scope,
  connected: (socket: Socket) => void,
  allowHalfOpen = false,
): Promise<RawServer> {
  const sockets: Socket[] = []
  const server = createServer({ allowHalfOpen }, (socket) => {
    sockets.push(socket)
    socket.on('error', () => undefined)
    connected(socket)
  })
  const port = await listening(scope, server)
  scope.after(() => {
    for (const socket of sockets) socket.destroy()
  })
  return { server, port, sockets }
}
