// Ports of this machine: one that is free, and one on which somebody begins to listen.

import { connect, createServer } from 'node:net'
import type { Runtime } from '../runtime/runtime.js'
import { hostAndPort } from '../transports/http-client/address.js'

/** How often a port is tried. */
const TRY_MS = 25

/** A port that nobody listens on now. */
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

/** Whether somebody listens there before `deadline`; gives up as soon as `isOver`. */
export async function isListening(
  url: URL,
  runtime: Runtime,
  deadline: number,
  isOver: () => boolean,
): Promise<boolean> {
  while (!isOver() && runtime.now() < deadline) {
    if (await accepts(url)) return true
    await new Promise<void>((resolve) => void runtime.setTimer(TRY_MS, resolve))
  }
  return false
}

function accepts(url: URL): Promise<boolean> {
  const socket = connect(hostAndPort(url))
  const isOpen = new Promise<boolean>((resolve) => {
    socket.once('connect', () => resolve(true))
    socket.once('error', () => resolve(false))
  })
  return isOpen.finally(() => socket.destroy())
}
