// Loaded before the proxy (`node --import`): causes a fault inside it, where FAULT_AT says.
//
// `timer`: in a callback of no handler, when SIGUSR2 comes.
// `stdin`, `request`: behind the handlers that take a chunk with `boom` in it, or such a request.
// `again`: one fault after the other, for as long as the process lives.

import { syncBuiltinESMExports } from 'node:module'
import net from 'node:net'

const at = process.env.FAULT_AT
const fault = () => new Error('injected fault')

/** Lets everybody see the event, and throws. */
function throwBehind(emitter, name, isMeant) {
  const { emit } = emitter
  emitter.emit = function (event, ...args) {
    const result = emit.call(this, event, ...args)
    if (event === name && isMeant(...args)) throw fault()
    return result
  }
}

const hasBoom = (chunk) => Buffer.from(chunk).includes('boom')

process.on('SIGUSR2', () => {
  if (at === 'timer')
    setTimeout(() => {
      throw fault()
    }, 0)
  if (at === 'again')
    setInterval(() => {
      throw fault()
    }, 50)
})

if (at === 'stdin') throwBehind(process.stdin, 'data', hasBoom)

if (at === 'request') {
  const { createServer } = net
  net.createServer = (...args) =>
    createServer(...args).on('connection', (socket) => throwBehind(socket, 'data', hasBoom))
}

syncBuiltinESMExports()
