// A CONNECT proxy on the loopback. All its tunnels lead to one port.

import { type Server, type Socket, connect, createServer } from 'node:net'
import { type TlsOptions, createServer as createTlsServer } from 'node:tls'
import { at } from '../../integration/support/json.js'
import type { Scope } from './scripted.js'

export interface ConnectProxy {
  readonly port: number
  readonly heads: readonly string[]
}

export interface ConnectProxyOptions {
  /** The port at the end of each tunnel, in place of the requested one. */
  readonly to?: number
  /** Its answer when it refuses the tunnel. */
  readonly says?: string
  /** The number of pieces of its successful answer. */
  readonly pieces?: number
  readonly tls?: TlsOptions
}

export async function connectProxy(
  scope: Scope,
  { to, says, pieces = 1, tls }: ConnectProxyOptions,
): Promise<ConnectProxy> {
  const heads: string[] = []
  const sockets = new Set<Socket>()
  const come = (socket: Socket): void => {
    sockets.add(socket)
    socket.on('error', () => socket.destroy())
    let head = ''
    const take = (chunk: Buffer): void => {
      head += chunk.toString('latin1')
      if (!head.includes('\r\n\r\n')) return
      heads.push(head)
      socket.off('data', take)
      if (to === undefined) return void socket.end(says ?? 'HTTP/1.1 502 Bad Gateway\r\n\r\n')
      const further = connect(to, '127.0.0.1', () => {
        const said = 'HTTP/1.1 200 Connection established\r\nVia: x\r\n\r\n'
        const length = Math.ceil(said.length / pieces)
        const all = Array.from({ length: pieces }, (_, i) => said.slice(i * length, (i + 1) * length))
        const next = (): void => {
          const piece = all.shift()
          if (piece !== undefined) socket.write(piece, () => setImmediate(next))
          else socket.pipe(further).pipe(socket)
        }
        next()
      })
      sockets.add(further)
      further.on('error', () => socket.destroy())
      further.on('close', () => socket.destroy())
      socket.on('close', () => further.destroy())
    }
    socket.on('data', take)
  }
  const server: Server = tls === undefined ? createServer(come) : createTlsServer(tls, come)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  scope.after(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  return { port: Number(at(server.address(), 'port')), heads }
}
