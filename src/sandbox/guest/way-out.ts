// The loopback port of the way out. It connects programs to a socket on which the proxy of the service listens.

import { type Server, type Socket, connect, createServer } from 'node:net'

export function openWayOut(port: number, socket: string): Promise<Server> {
  const server = createServer({ allowHalfOpen: true }, (program) => join(program, socket))
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, '127.0.0.1', () => resolve(server))
  })
}

function join(program: Socket, path: string): void {
  const outside = connect({ path, allowHalfOpen: true })
  program.setNoDelay(true)
  program.on('error', () => outside.destroy())
  // The last bytes of the proxy may contain the reason of a refusal.
  outside.on('error', () => program.destroySoon())
  program.pipe(outside).pipe(program)
}
