// Redis as Debian has it, which keeps nothing on disk.

import { connect } from 'node:net'
import type { Scope } from '../../integration/support/spawned.js'
import { type Running, startProgram } from './system-program.js'

export function startRedis(scope: Scope, policy = 'noeviction'): Promise<Running> {
  return startProgram(scope, {
    command: 'redis-server',
    args: (_, config) => [config],
    config: (folder, port) =>
      `port ${port}\nbind 127.0.0.1\ndir ${folder}\nsave ""\nappendonly no\nmaxmemory-policy ${policy}\n`,
  })
}

/** Sends one command as a person with a terminal would. */
export function tellRedis(port: number, command: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1', () => socket.write(`${command}\r\n`))
    socket.on('error', reject)
    socket.on('data', () => {
      socket.destroy()
      resolve()
    })
  })
}
