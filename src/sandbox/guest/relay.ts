// The first program of a confined server that may reach some hosts. It opens the way out, and starts the server.
//
// usage: relay.js PORT SOCKET COMMAND [ARG…]

import { spawn } from 'node:child_process'
import { connect } from 'node:net'
import process from 'node:process'
import { exitCodeOf } from '../processes.js'
import { openWayOut } from './way-out.js'

const [port, socket = '', command = '', ...args] = process.argv.slice(2)

function fail(why: string): never {
  process.stderr.write(`sandbox: ${why}\n`)
  process.exit(126)
}

// The service removes the name of the socket before it closes this connection. The mount remains.
await new Promise<void>((resolve) => {
  const first = connect(socket).on('error', () => undefined)
  first.once('close', () => resolve())
  first.resume().end()
})
await openWayOut(Number(port), socket).catch((error: Error) => fail(`no port leads out: ${error.message}`))
const child = spawn(command, args, { stdio: 'inherit' })
// The whole group receives these signals, so the server receives them directly.
for (const name of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.on(name, () => undefined)
child.on('error', (error) => fail(error.message))
child.on('exit', (code, signal) => process.exit(exitCodeOf(code, signal)))
