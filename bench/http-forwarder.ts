// The practical limit over HTTP: node:http and keep-alive agents, and nothing parsed.
//
//   node http-forwarder.js --port N --to URL              HTTP -> HTTP
//   node http-forwarder.js --port N -- COMMAND [ARG…]     HTTP -> stdio
//   node http-forwarder.js --to URL                       stdio -> HTTP
//
// HTTP to HTTP is two pipes and the header fields unchanged. If one end is
// lines, a line is a body. A request over HTTP finds its answer by the bytes of
// its id, which indexOf finds at the start or at the end, so that every id must
// be in flight once. The forwarder has no sessions, no limits and no checks.

import { Agent, type IncomingMessage, type ServerResponse, createServer, request } from 'node:http'
import type { Readable, Writable } from 'node:stream'

import { endsOf, exitWithStdin, idOf, readLines } from './http-ends.js'

const LINE_END = Buffer.from('\n')
const EMPTY = Buffer.alloc(0)
const KEEP_ALIVE_MS = 120_000

const agent = new Agent({ keepAlive: true })

const { port, url, child } = endsOf()

type Handler = (incoming: IncomingMessage, response: ServerResponse) => void

function listen(handler: Handler): void {
  const server = createServer((incoming, response) => {
    if (incoming.url === '/health') response.end('{}')
    else handler(incoming, response)
  })
  server.keepAliveTimeout = KEEP_ALIVE_MS
  server.listen(port, '127.0.0.1')
}

function toHttp(url: URL): Handler {
  const { hostname: host, port, pathname: path } = url
  return (incoming, response) => {
    const { method, rawHeaders: headers } = incoming
    const out = request({ agent, host, port, path, method, headers }, (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.rawHeaders)
      answer.pipe(response)
    })
    out.once('error', () => response.destroy())
    incoming.pipe(out)
  }
}

function writeLine(to: Writable, pieces: readonly Buffer[]): void {
  // A corked stream hands all the pieces to one writev, uncopied.
  to.cork()
  for (const piece of pieces) to.write(piece)
  to.write(LINE_END)
  to.uncork()
}

const lengthOf = (pieces: readonly Buffer[]) => pieces.reduce((sum, { length }) => sum + length, 0)

function toChild(to: Writable, from: Readable): Handler {
  const waiting = new Map<string, ServerResponse>()
  readLines(from, (pieces) => {
    const id = idOf(pieces)
    const response = waiting.get(id)
    if (response === undefined) return
    waiting.delete(id)
    response.writeHead(200, { 'Content-Type': 'application/json', 'Content-Length': lengthOf(pieces) })
    for (const piece of pieces) response.write(piece)
    response.end()
  })
  return (incoming, response) => {
    const pieces: Buffer[] = []
    incoming.on('data', (chunk: Buffer) => pieces.push(chunk))
    incoming.once('end', () => {
      const [first = EMPTY] = pieces
      const id = idOf(pieces)
      if (first.length > 0) writeLine(to, pieces)
      if (id === '') response.writeHead(first.length > 0 ? 202 : 200, { 'Content-Length': 0 }).end()
      else waiting.set(id, response)
    })
  }
}

function fromLines(url: URL): void {
  const { hostname: host, port, pathname: path } = url
  const fixed = { 'Content-Type': 'application/json', Accept: 'application/json, text/event-stream' }
  readLines(process.stdin, (pieces) => {
    const headers = { ...fixed, 'Content-Length': lengthOf(pieces) }
    const out = request({ agent, host, port, path, method: 'POST', headers }, (answer) => {
      const answered: Buffer[] = []
      answer.on('data', (chunk: Buffer) => answered.push(chunk))
      answer.once('end', () => {
        if (answered.length > 0) writeLine(process.stdout, answered)
      })
    })
    out.once('error', (error) => process.stderr.write(`forwarder: ${error.message}\n`))
    for (const piece of pieces) out.write(piece)
    out.end()
  })
  process.stdin.once('end', () => process.exit(0))
}

if (url !== undefined && port === undefined) fromLines(url)
else {
  if (url !== undefined) listen(toHttp(url))
  if (child !== undefined) listen(toChild(child.stdin, child.stdout))
  exitWithStdin()
}
