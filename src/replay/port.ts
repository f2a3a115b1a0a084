// Ports of this machine: one that is free, and one on which a server listens.

import { connect, createServer } from 'node:net'
import { hostAndPort } from '../transports/http-client/address.js'

/** A port that is free now. */
export function freePort(): Promise<number> {
  const server = createServer()
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen(0, '127.0.0.1', () => {
      const address = server.address()
      const port = typeof address === 'object' && address !== null ? address.port : 0
      server.close(() => resolve(port))
    })
  })
}

/** Whether a server listens at an address. */
export function isListening(url: URL): Promise<boolean> {
  const socket = connect(hostAndPort(url))
  const isOpen = new Promise<boolean>((resolve) => {
    socket.once('connect', () => resolve(true))
    socket.once('error', () => resolve(false))
  })
  return isOpen.finally(() => socket.destroy())
}
