// The common parts of the bench's own HTTP programs.

import { spawn } from 'node:child_process'
import type { Socket } from 'node:net'
import type { Readable, Writable } from 'node:stream'
import { parseArgs } from 'node:util'

const LF = 10
const ID = Buffer.from('"id":')
const JSONRPC = Buffer.from('{"jsonrpc"')
/** An id that stands last is in these. */
const END_BYTES = 64
const EMPTY = Buffer.alloc(0)
/** An id of the bench is a number; this is more than it has. */
const ID_BYTES_MAX = 24

const HEAD_END = Buffer.from('\r\n\r\n')
const HEAD_BYTES_MAX = 64 * 1024
const BODY_BYTES_MAX = 64 * 1024 * 1024

/** The two ends that the command line names for a program. */
interface Ends {
  /** Undefined for lines on stdin and stdout. */
  readonly port: number | undefined
  /** A server over HTTP, or else one on pipes. */
  readonly url: URL | undefined
  readonly child: { readonly stdin: Writable; readonly stdout: Readable } | undefined
}

/** Reads `[--port N] --to URL`, or `--port N -- COMMAND [ARG…]`, which it starts. */
export function endsOf(): Ends {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: { port: { type: 'string' }, to: { type: 'string' } },
  })
  const port = values.port === undefined ? undefined : Number(values.port)
  const [program, ...args] = positionals
  if (program === undefined) return { port, url: new URL(values.to ?? ''), child: undefined }
  const child = spawn(program, args, { stdio: ['pipe', 'pipe', 'inherit'] })
  child.once('exit', () => process.exit(1))
  return { port, url: undefined, child }
}

/** Ends the process when the bench has ended, which alone holds the other end of its stdin. */
export function exitWithStdin(): void {
  process.stdin.resume()
  process.stdin.once('end', () => process.exit(0))
  process.stdin.once('error', () => process.exit(0))
}

/** The bytes of the number after the first `"id":`, or the last where it does not stand at the start; empty without one. */
export function idOf(pieces: readonly Buffer[]): string {
  const [first = EMPTY] = pieces
  if (first.subarray(0, JSONRPC.length).equals(JSONRPC)) return idAt(first, first.indexOf(ID))
  const end = Buffer.concat(pieces.slice(-2).map((piece) => piece.subarray(-END_BYTES)))
  return idAt(end, end.lastIndexOf(ID))
}

function idAt(bytes: Buffer, found: number): string {
  const at = found + ID.length
  return found < 0 ? '' : (/^\d+/.exec(bytes.toString('latin1', at, at + ID_BYTES_MAX))?.[0] ?? '')
}

/** Calls `line` with the pieces of every line, without its end. */
export function readLines(from: Readable, line: (pieces: readonly Buffer[]) => void): void {
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

/** A message of HTTP: its head as text, its body, and both as they came. */
type OnMessage = (start: string, body: Buffer, whole: Buffer) => void

/** Cuts what a socket sends into messages that have a Content-Length, or no body. */
export function readMessages(socket: Socket, onMessage: OnMessage): void {
  let pieces: Buffer[] = []
  let bytes = 0
  /** Fewer bytes than this make no whole message. */
  let wanted = 0
  const push = (chunk: Buffer): void => {
    pieces.push(chunk)
    bytes += chunk.length
    if (bytes < wanted) return
    let rest = pieces.length === 1 ? chunk : Buffer.concat(pieces)
    wanted = 0
    while (rest.length > 0) {
      const length = lengthOfFirst(rest)
      if (length === undefined || rest.length < length.whole) {
        wanted = length?.whole ?? 0
        break
      }
      const { start, body, whole } = length
      onMessage(start, rest.subarray(body, whole), rest.subarray(0, whole))
      rest = rest.subarray(whole)
    }
    pieces = rest.length === 0 ? [] : [rest]
    bytes = rest.length
  }
  socket.on('data', (chunk: Buffer) => {
    try {
      push(chunk)
    } catch (error) {
      process.stderr.write(`not read: ${String(error)}\n`)
      socket.destroy()
    }
  })
  socket.on('error', () => socket.destroy())
}

/** The head of the message at the start of `bytes`, where its body begins, and its length; undefined while the head is not whole. */
function lengthOfFirst(bytes: Buffer): { start: string; body: number; whole: number } | undefined {
  const end = bytes.indexOf(HEAD_END)
  if (end < 0) {
    if (bytes.length > HEAD_BYTES_MAX) throw new Error('a head that is too long')
    return undefined
  }
  const start = bytes.toString('latin1', 0, end)
  const length = Number(/\r\ncontent-length: *(\d+)/i.exec(start)?.[1] ?? 0)
  if (length > BODY_BYTES_MAX || /\r\ntransfer-encoding:/i.test(start))
    throw new Error('a body that is not read')
  const body = end + HEAD_END.length
  return { start, body, whole: body + length }
}
