// The first program of a confined server that may reach some hosts. It starts the server, and connects a port of the loopback,
// which the variables of the server name as its proxy, to the proxy on the host.
//
// usage: relay.js PORT SOCKET COMMAND [ARG…]

import { spawn } from 'node:child_process'
import { connect, createServer } from 'node:net'
import { constants } from 'node:os'
import process from 'node:process'

const SIGNALLED = 128

const [port, socket = '', command = '', ...args] = process.argv.slice(2)

const server = createServer({ allowHalfOpen: true }, (program) => {
  const outside = connect({ path: socket, allowHalfOpen: true })
  program.on('error', () => outside.destroy())
  outside.on('error', () => program.destroy())
  program.pipe(outside).pipe(program)
})

server.on('error', (error) => {
  process.stderr.write(`sandbox: no port leads out: ${error.message}\n`)
  process.exit(126)
})

server.listen(Number(port), '127.0.0.1', () => {
  const child = spawn(command, args, { stdio: 'inherit' })
  for (const name of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.on(name, () => child.kill(name))
  child.on('error', (error) => {
    process.stderr.write(`sandbox: ${error.message}\n`)
    process.exit(126)
  })
  child.on('exit', (code, signal) =>
    process.exit(code ?? SIGNALLED + (signal === null ? 0 : constants.signals[signal])),
  )
})
