// A listening socket that another program has opened and passed on: socket activation, as in systemd
// (sd_listen_fds(3)). That program keeps the socket while this one restarts, and connections wait in it.

import { type Server, Socket } from 'node:net'
import { untilListening } from '../transports/http-server/front-listener.js'

/** The first descriptor that is passed. */
const FIRST = 3

/** How many connections may wait for a successor; the system may allow fewer. */
const BACKLOG = 4096

export interface InheritedSocket {
  readonly socket: Socket
  readonly host: string
  readonly port: number
}

/**
 * The socket that was passed to this process, or why it cannot be used; undefined if there is none. The
 * function removes the variables from `env`, because the programs that this process starts must not see them.
 */
export function inheritedSocket(env: NodeJS.ProcessEnv, pid: number): InheritedSocket | string | undefined {
  const { LISTEN_FDS: count = '', LISTEN_PID: owner = '' } = env
  for (const name of ['LISTEN_FDS', 'LISTEN_PID', 'LISTEN_FDNAMES']) delete env[name]
  // A program in between may not know the id of this process, and then leaves it out.
  if (count === '' || count === '0' || (owner !== '' && owner !== String(pid))) return undefined
  if (count !== '1')
    return `LISTEN_FDS is ${count}; one socket can be served, so give the unit one ListenStream`
  try {
    const socket = new Socket({ fd: FIRST, readable: false, writable: false })
    const address = socket.address()
    if ('port' in address) return { socket, host: address.address, port: address.port }
  } catch {
    // The text below is the reason here too.
  }
  return `descriptor ${FIRST} is no socket of TCP, although LISTEN_FDS is 1; ListenStream must be an address and a port`
}

/** Accepts connections for a server on a socket that listens already. */
export function acceptOn(socket: Socket): (server: Server, host: string, port: number) => Promise<number> {
  return (server, _host, port) => untilListening(server, port, (done) => server.listen(socket, BACKLOG, done))
}
