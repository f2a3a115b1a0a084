// A minimal MCP stdio server that costs as little as a Node process can.
//
//   node server.js [--tools N] [--payload text|plain] [--parse]
//
// Calls are recognised by comparing bytes at known offsets and answered from
// prepared bytes; only the handshake and the lists go through JSON.parse. What
// one read brings is answered with one write. With 64 in flight a call costs about
// 1 µs of processor time here, most of it its share of the system calls (0.6 µs with
// 1,000 in flight), and a blob one small write and a reference to a shared buffer. With `--parse` an
// echo is parsed and serialised instead, as an ordinary server does it.

import { parseArgs } from 'node:util'

import { resultOf } from './rare.js'
import { CALL_AFTER_ID, ECHO_ARGUMENTS, LINE_HEAD, RESULT_AFTER_ID, RESULT_END, stringBody } from './wire.js'

const LF = 10
const QUOTE = 34
const COMMA = 44
/** Answers of one read are put together here while stdout keeps up. */
const SCRATCH_BYTES = 1 << 20
/** A text longer than this is sent from where it lies instead of being copied. */
const COPY_BYTES_MAX = 4096

const HEAD = Buffer.from(LINE_HEAD)
const AFTER_ID = Buffer.from(CALL_AFTER_ID)
const ECHO = Buffer.from(`echo${ECHO_ARGUMENTS}`)
const SWALLOW = Buffer.from(`swallow${ECHO_ARGUMENTS}`)
const BLOB = Buffer.from('blob","arguments":{"size":')
const BEFORE_TEXT = Buffer.from(RESULT_AFTER_ID)
const AFTER_TEXT = Buffer.from(RESULT_END)
/** `"}}}` closes a call with a text. */
const CALL_CLOSE_BYTES = 4

const { values: flags } = parseArgs({
  options: {
    tools: { type: 'string', default: '3' },
    payload: { type: 'string', default: 'text' },
    parse: { type: 'boolean', default: false },
  },
})
const toolCount = Number(flags.tools)
const payload = flags.payload === 'plain' ? 'plain' : 'text'

const blobs = new Map<number, Buffer>()
const scratch = Buffer.allocUnsafe(SCRATCH_BYTES)

/** Gathers the answers to one read and writes them together. */
class Answers {
  #out: Buffer = scratch
  #filled = 0
  #from = 0

  begin(): void {
    // stdout holds a reference to what it could not write at once, so the
    // scratch buffer is free again only when nothing of it waits.
    this.#out = process.stdout.writableLength === 0 ? scratch : Buffer.allocUnsafe(SCRATCH_BYTES)
    this.#filled = 0
    this.#from = 0
    process.stdout.cork()
  }

  end(): void {
    this.#release()
    process.stdout.uncork()
  }

  put(bytes: Uint8Array, start: number, end: number): void {
    if (this.#filled + end - start > SCRATCH_BYTES) this.#renew()
    const out = this.#out
    let at = this.#filled
    // Shorter than a call into native code for the few dozen bytes it is used on.
    for (let from = start; from < end; from += 1) {
      out[at] = bytes[from] ?? 0
      at += 1
    }
    this.#filled = at
  }

  putAll(bytes: Uint8Array): void {
    this.put(bytes, 0, bytes.length)
  }

  /** Sends without copying; `bytes` must never change. */
  refer(bytes: Uint8Array): void {
    this.#release()
    process.stdout.write(bytes)
  }

  #release(): void {
    if (this.#filled > this.#from) process.stdout.write(this.#out.subarray(this.#from, this.#filled))
    this.#from = this.#filled
  }

  #renew(): void {
    this.#release()
    this.#out = Buffer.allocUnsafe(SCRATCH_BYTES)
    this.#filled = 0
    this.#from = 0
  }
}

const answers = new Answers()

function startsWith(line: Uint8Array, at: number, want: Uint8Array): boolean {
  for (let i = 0; i < want.length; i += 1) if (line[at + i] !== want[i]) return false
  return true
}

function blob(size: number): Buffer {
  const known = blobs.get(size)
  if (known !== undefined) return known
  const made = stringBody(size, payload)
  blobs.set(size, made)
  return made
}

function readSize(line: Uint8Array, from: number): number {
  let size = 0
  for (let at = from; ; at += 1) {
    const digit = (line[at] ?? 0) - 48
    if (digit < 0 || digit > 9) return size
    size = size * 10 + digit
  }
}

function openAnswer(line: Uint8Array, idEnd: number): void {
  answers.put(line, 0, idEnd)
  answers.putAll(BEFORE_TEXT)
}

/** Answers a call of the expected shape; false when the line is anything else. */
function answerCall(line: Buffer): boolean {
  if (!startsWith(line, 0, HEAD)) return false
  let idEnd = HEAD.length
  while (idEnd < line.length && line[idEnd] !== COMMA) idEnd += 1
  if (!startsWith(line, idEnd, AFTER_ID)) return false
  const name = idEnd + AFTER_ID.length
  if (!flags.parse && startsWith(line, name, ECHO)) return answerEcho(line, idEnd, name + ECHO.length)
  if (startsWith(line, name, BLOB)) return answerBlob(line, idEnd, readSize(line, name + BLOB.length))
  if (startsWith(line, name, SWALLOW)) return answerSwallow(line, idEnd, name + SWALLOW.length)
  return false
}

function answerEcho(line: Buffer, idEnd: number, textAt: number): boolean {
  const textEnd = line.length - CALL_CLOSE_BYTES
  if (line[textEnd] !== QUOTE) return false
  openAnswer(line, idEnd)
  if (textEnd - textAt <= COPY_BYTES_MAX) answers.put(line, textAt, textEnd)
  else answers.refer(line.subarray(textAt, textEnd))
  answers.putAll(AFTER_TEXT)
  return true
}

function answerBlob(line: Buffer, idEnd: number, size: number): boolean {
  openAnswer(line, idEnd)
  answers.refer(blob(size))
  answers.putAll(AFTER_TEXT)
  return true
}

/** Answers how many bytes the text had, as eight digits, so that nothing can be lost on the way unseen. */
function answerSwallow(line: Buffer, idEnd: number, textAt: number): boolean {
  openAnswer(line, idEnd)
  const bytes = line.length - CALL_CLOSE_BYTES - textAt
  answers.putAll(Buffer.from(String(bytes).padStart(8, '0')))
  answers.putAll(AFTER_TEXT)
  return true
}

/** The handshake, lists and whatever else is rare, and echoes under `--parse`. */
function answerSlowly(line: Buffer): void {
  const message: unknown = JSON.parse(line.toString())
  if (typeof message !== 'object' || message === null || !('id' in message) || !('method' in message)) return
  const { id, method } = message
  const result = resultOf(method, 'params' in message ? message.params : undefined, toolCount)
  const error = { code: -32601, message: `Method '${String(method)}' not found` }
  const outcome = result === undefined ? { error } : { result }
  const answer = Buffer.from(JSON.stringify({ jsonrpc: '2.0', id, ...outcome }) + '\n')
  if (answer.length <= COPY_BYTES_MAX) answers.putAll(answer)
  else answers.refer(answer)
}

function receiveLine(line: Buffer): void {
  if (line.length > 0 && !answerCall(line)) answerSlowly(line)
}

/** Pieces of a line whose end has not come; joined once, when it comes. */
let pieces: Buffer[] = []

process.stdin.on('data', (chunk: Buffer) => {
  answers.begin()
  let at = 0
  for (let end = chunk.indexOf(LF); end >= 0; end = chunk.indexOf(LF, at)) {
    const last = chunk.subarray(at, end)
    receiveLine(pieces.length === 0 ? last : Buffer.concat([...pieces, last]))
    if (pieces.length > 0) pieces = []
    at = end + 1
  }
  if (at < chunk.length) pieces.push(at === 0 ? chunk : chunk.subarray(at))
  answers.end()
})
process.stdin.on('end', () => process.exit(0))
process.stdout.on('error', () => process.exit(0))
