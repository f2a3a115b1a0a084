// The limit of raw sockets over HTTP: a whole message leaves immediately, and nothing is checked.
//
//   node http-raw.js --port N --to URL              HTTP -> HTTP
//   node http-raw.js --port N -- COMMAND [ARG…]     HTTP -> stdio
//
// HTTP to HTTP is two sockets for each client: every message is cut by its Content-Length and leaves unchanged. If
// one end is lines, a body is a line, and an answer finds its request by the bytes of its id, as in `http-forwarder.ts`.

import { type Socket, connect, createServer } from 'node:net'
import type { Readable, Writable } from 'node:stream'

import { endsOf, exitWithStdin, idOf, readLines, readMessages } from './http-ends.js'

const LINE_END = Buffer.from('\n')
const HEAD = 'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: '

const { port, url, child } = endsOf()

type Taker = (start: string, body: Buffer, whole: Buffer) => void

function listen(takerOf: (socket: Socket) => Taker): void {
  const server = createServer({ noDelay: true }, (socket) => {
    const take = takerOf(socket)
    readMessages(socket, (start, body, whole) => {
      if (start.startsWith('GET /health ')) socket.write(`${HEAD}2\r\n\r\n{}`)
      else take(start, body, whole)
    })
  })
  server.listen(port, '127.0.0.1')
}

function toHttp({ port, hostname }: URL): (socket: Socket) => Taker {
  return (socket) => {
    const out = connect({ port: Number(port), host: hostname, noDelay: true })
    readMessages(out, (_start, _body, whole) => socket.write(whole))
    socket.once('close', () => out.destroy())
    return (_start, _body, whole) => out.write(whole)
  }
}

function toChild(to: Writable, from: Readable): (socket: Socket) => Taker {
  const waiting = new Map<string, Socket>()
  readLines(from, (pieces) => {
    const id = idOf(pieces)
    const body = Buffer.concat(pieces)
    waiting.get(id)?.write(Buffer.concat([Buffer.from(`${HEAD}${body.length}\r\n\r\n`), body]))
    waiting.delete(id)
  })
  return (socket) => (_start, body) => {
    const id = idOf([body])
    if (body.length > 0) to.write(Buffer.concat([body, LINE_END]))
    if (id === '') socket.write(`HTTP/1.1 ${body.length > 0 ? 202 : 200} OK\r\nContent-Length: 0\r\n\r\n`)
    else waiting.set(id, socket)
  }
}

if (url !== undefined) listen(toHttp(url))
if (child !== undefined) listen(toChild(child.stdin, child.stdout))
exitWithStdin()
