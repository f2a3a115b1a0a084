// Loaded before the proxy (`node --import`): causes a fault inside it, where FAULT_AT says.
//
// `timer`, `rejection`: in a callback of nobody's, when SIGUSR2 comes.
// `stdin`, `child`, `request`: behind the handlers of ours that take a chunk with `boom` in it, or such a request.
// `again`: one fault after the other, for as long as the process lives.

import child_process from 'node:child_process'
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
  if (at === 'rejection') void Promise.reject(fault())
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

if (at === 'child') {
  const { spawn } = child_process
  child_process.spawn = (...args) => {
    const child = spawn(...args)
    if (child.stdout) throwBehind(child.stdout, 'data', hasBoom)
    return child
  }
}

if (at === 'request') {
  const { createServer } = net
  net.createServer = (...args) =>
    createServer(...args).on('connection', (socket) => throwBehind(socket, 'data', hasBoom))
}

syncBuiltinESMExports()
