// When an agent ends, or connections cannot be made, all requests end and nothing keeps the process alive.

import assert from 'node:assert/strict'
import { once } from 'node:events'
import type { Socket } from 'node:net'
import { test } from 'node:test'
import { HttpLink } from '../../src/transports/http-client/link.js'
import { HttpAgent, type HttpAnswer, connectPlain } from '../../src/transports/http1/client.js'
import { rawServer } from './support/raw-server.js'
import { Heard, type Scope, bytesOf, target } from './support/scripted.js'
import { send } from './support/sending.js'

const limits = { socketsMax: 1, idleSocketMs: 4000 }

test('an agent that is closed tells those who ask, and those who come later', async (t) => {
  const { url, came } = await silent(t)
  const agent = new HttpAgent(url, { ...limits, socketsMax: 3 }, connectPlain)
  const asked = [asking(agent), asking(agent), asking(agent)]
  await came
  agent.destroy()
  for (const each of asked) await assert.rejects(each, /cut|closed/)
  await assert.rejects(asking(agent), /closed/)
})

for (const what of ['a redirect', 'a notification', 'the end of a session'] as const)
  test(`an answer without end to ${what} holds no connection and no process`, async (t) => {
    const endless = 'Content-Type: text/plain\r\nContent-Length: 1000\r\n\r\nx'
    const answer = `{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-06-18"}}`
    const ok = `HTTP/1.1 200 OK\r\nMcp-Session-Id: s\r\nContent-Type: application/json\r\n`
    const { url, sockets } = await silent(t, (request) => {
      if (request.startsWith('DELETE'))
        return what === 'the end of a session' ? `HTTP/1.1 200 OK\r\n${endless}` : NONE
      if (request.includes('"initialize"')) return `${ok}Content-Length: ${answer.length}\r\n\r\n${answer}`
      if (what === 'a notification') return `HTTP/1.1 202 Accepted\r\n${endless}`
      if (what === 'a redirect' && request.startsWith('POST / '))
        return `HTTP/1.1 307 Elsewhere\r\nLocation: /b\r\n${endless}`
      return NONE
    })
    const made: { readonly socket: Socket; isHeld: boolean }[] = []
    const more = { limits: { ...target(url).limits, idleSocketMs: 50 } }
    const agent = new HttpAgent(url, more.limits, (to) => {
      const one = { socket: connectPlain(to), isHeld: true }
      made.push(one)
      one.socket.ref = () => {
        one.isHeld = true
        return one.socket
      }
      one.socket.unref = () => {
        one.isHeld = false
        return one.socket
      }
      return one.socket
    })
    t.after(() => agent.destroy())
    const heard = new Heard()
    const connection = new HttpLink(target(url, more), agent)
    connection.start(heard.sink)
    send(connection, bytesOf('{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}'))
    await heard.until(() => heard.messages.length === 1)
    send(connection, bytesOf('{"jsonrpc":"2.0","method":"notifications/n"}'))
    await connection.close()
    const found = made.filter(({ socket, isHeld }) => isHeld && !socket.destroyed)
    assert.deepEqual(found, [])
    for (const { socket } of made) if (!socket.destroyed) await once(socket, 'close')
    assert.ok(sockets.length > 0)
  })

const HEAD = 'GET / HTTP/1.1\r\n\r\n'
const NONE = 'HTTP/1.1 204 No Content\r\n\r\n'

function asking(agent: HttpAgent): Promise<HttpAnswer> {
  return new Promise((resolve, reject) => {
    agent.request(HEAD, undefined, { responded: resolve, failed: reject })
  })
}

/** A server that answers nothing unless `says` returns bytes. */
async function silent(t: Scope, says: (request: string) => string = () => '') {
  let hears: (() => void) | undefined
  const came = new Promise<void>((resolve) => (hears = resolve))
  const { port, sockets } = await rawServer(t, (socket) => {
    socket.on('data', (bytes) => {
      hears?.()
      socket.write(says(bytes.toString()))
    })
  })
  return { url: new URL(`http://127.0.0.1:${port}/`), came, sockets }
}
