// The practical limit over HTTP: node:http and keep-alive agents, and nothing parsed.
//
//   node http-forwarder.js --port N --to URL              HTTP -> HTTP
//   node http-forwarder.js --port N -- COMMAND [ARG…]     HTTP -> stdio
//   node http-forwarder.js --to URL                       stdio -> HTTP
//
// HTTP to HTTP is two pipes and the header fields as they came. Where one end is
// lines, a line is a body: what is asked over HTTP finds its answer by the bytes
// of its id, which is looked for with indexOf, at the start or at the end, and needs every id to be in flight
// once. It has no sessions, no limits and no checks.

import { spawn } from 'node:child_process'
import { Agent, type IncomingMessage, type ServerResponse, createServer, request } from 'node:http'
import type { Readable, Writable } from 'node:stream'
import { parseArgs } from 'node:util'

import { exitWithStdin } from './http-ends.js'

const LF = 10
const LINE_END = Buffer.from('\n')
const ID = Buffer.from('"id":')
const JSONRPC = Buffer.from('{"jsonrpc"')
/** An id that stands last is in these. */
const END_BYTES = 64
const EMPTY = Buffer.alloc(0)
/** An id of the bench is a number; this is more than it has. */
const ID_BYTES_MAX = 24
const KEEP_ALIVE_MS = 120_000

const agent = new Agent({ keepAlive: true })

const { values: flags, positionals: command } = parseArgs({
  allowPositionals: true,
  options: { port: { type: 'string' }, to: { type: 'string' } },
})

type Handler = (incoming: IncomingMessage, response: ServerResponse) => void

function listen(handler: Handler): void {
  const server = createServer((incoming, response) => {
    if (incoming.url === '/health') response.end('{}')
    else handler(incoming, response)
  })
  server.keepAliveTimeout = KEEP_ALIVE_MS
  server.listen(Number(flags.port), '127.0.0.1')
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

/** The bytes of the number after the first `"id":`, or the last where it does not stand at the start; empty without one. */
function idOf(pieces: readonly Buffer[]): string {
  const [first = EMPTY] = pieces
  if (first.subarray(0, JSONRPC.length).equals(JSONRPC)) return idAt(first, first.indexOf(ID))
  const end = Buffer.concat(pieces.slice(-2).map((piece) => piece.subarray(-END_BYTES)))
  return idAt(end, end.lastIndexOf(ID))
}

function idAt(bytes: Buffer, found: number): string {
  const at = found + ID.length
  return found < 0 ? '' : (/^\d+/.exec(bytes.toString('latin1', at, at + ID_BYTES_MAX))?.[0] ?? '')
}

function writeLine(to: Writable, pieces: readonly Buffer[]): void {
  // A corked stream hands all the pieces to one writev, uncopied.
  to.cork()
  for (const piece of pieces) to.write(piece)
  to.write(LINE_END)
  to.uncork()
}

/** Calls `line` with the pieces of every line, without its end. */
function readLines(from: Readable, line: (pieces: readonly Buffer[]) => void): void {
  let pieces: Buffer[] = []
  from.on('data', (chunk: Buffer) => {
    let at = 0
    for (let end = chunk.indexOf(LF); end >= 0; end = chunk.indexOf(LF, at)) {
      line([...pieces, chunk.subarray(at, end)])
      pieces = []
      at = end + 1
    }
    if (at < chunk.length) pieces.push(chunk.subarray(at))
  })
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

const url = flags.to === undefined ? undefined : new URL(flags.to)
const [program, ...args] = command
if (url !== undefined && flags.port === undefined) fromLines(url)
else if (url !== undefined) {
  listen(toHttp(url))
  exitWithStdin()
} else if (program !== undefined) {
  const child = spawn(program, args, { stdio: ['pipe', 'pipe', 'inherit'] })
  child.once('exit', () => process.exit(1))
  listen(toChild(child.stdin, child.stdout))
  exitWithStdin()
}
