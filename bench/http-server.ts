// A minimal MCP server over Streamable HTTP that costs as little as a Node process can.
//
//   node http-server.js --port N
//
// It reads sockets itself: node:http on this end would cost more than most of what
// is measured. Every answer is JSON with its length. Calls are recognised by
// comparing bytes and answered from prepared bytes; only the handshake and the
// lists are parsed. Clients must send a Content-Length, as all that are measured do.

import { randomUUID } from 'node:crypto'
import { type Socket, createServer } from 'node:net'
import { parseArgs } from 'node:util'

import { exitWithStdin, readMessages } from './http-ends.js'
import { resultOf } from './rare.js'
import {
  CALL_AFTER_ID,
  CALL_CLOSE,
  ECHO_ARGUMENTS,
  LAST_CALL,
  LAST_HEAD,
  LAST_RESULT,
  LINE_HEAD,
  RESULT_AFTER_ID,
  RESULT_CLOSE,
  blob,
  startsWith,
} from './wire.js'

const COMMA = 44
const COLON = 58
const TOOLS = 3

const HEAD = Buffer.from(LINE_HEAD)
const AFTER_ID = Buffer.from(CALL_AFTER_ID)
const ECHO = Buffer.from(`echo${ECHO_ARGUMENTS}`)
const SWALLOW = Buffer.from(`swallow${ECHO_ARGUMENTS}`)
const BLOB = Buffer.from('blob","arguments":{"size":')
const ID_LAST_CALL = Buffer.from(LAST_CALL)

const { values: flags } = parseArgs({
  options: { port: { type: 'string' } },
})

function head(status: string, bodyBytes: number, more = ''): string {
  return `HTTP/1.1 ${status}\r\nContent-Type: application/json\r\n${more}Content-Length: ${bodyBytes}\r\n\r\n`
}

/** What stands around the text of an answer; the id stands where the call had it. */
interface Frame {
  readonly before: string
  readonly after: string
}

/** A small answer leaves in one write, a large text from where it lies. */
function answerText(socket: Socket, { before, after }: Frame, text: Buffer): void {
  const bytes = before.length + text.length + after.length
  if (text.length < 4096) {
    socket.write(head('200 OK', bytes) + before + text.toString('latin1') + after, 'latin1')
    return
  }
  socket.cork()
  socket.write(head('200 OK', bytes) + before, 'latin1')
  socket.write(text)
  socket.write(after, 'latin1')
  socket.uncork()
}

/** Answers a call of the expected shape; false when the body is anything else. */
function answerCall(socket: Socket, body: Buffer): boolean {
  if (startsWith(body, 0, ID_LAST_CALL)) {
    const idStart = body.lastIndexOf(COLON) + 1
    const id = body.toString('latin1', idStart, body.length - 1)
    const frame = { before: LAST_RESULT, after: `${RESULT_CLOSE}${LAST_HEAD}${id}}` }
    const close = idStart - LAST_HEAD.length - CALL_CLOSE.length
    return answerTool(socket, frame, { body, name: ID_LAST_CALL.length, close })
  }
  if (!startsWith(body, 0, HEAD)) return false
  const idEnd = body.indexOf(COMMA, HEAD.length)
  if (!startsWith(body, idEnd, AFTER_ID)) return false
  const id = body.toString('latin1', HEAD.length, idEnd)
  const frame = { before: `${LINE_HEAD}${id}${RESULT_AFTER_ID}`, after: `${RESULT_CLOSE}}` }
  const close = body.length - 1 - CALL_CLOSE.length
  return answerTool(socket, frame, { body, name: idEnd + AFTER_ID.length, close })
}

interface ToolCall {
  readonly body: Buffer
  /** Where the name of the tool begins. */
  readonly name: number
  /** Where the text ends, if there is one. */
  readonly close: number
}

function answerTool(socket: Socket, frame: Frame, { body, name, close }: ToolCall): boolean {
  if (startsWith(body, name, ECHO)) answerText(socket, frame, body.subarray(name + ECHO.length, close))
  else if (startsWith(body, name, BLOB)) {
    const size = Number.parseInt(body.toString('latin1', name + BLOB.length, name + BLOB.length + 10), 10)
    answerText(socket, frame, blob(size))
  } else if (startsWith(body, name, SWALLOW)) {
    const length = close - name - SWALLOW.length
    answerText(socket, frame, Buffer.from(String(length).padStart(8, '0')))
  } else return false
  return true
}

function answerSlowly(socket: Socket, body: Buffer): void {
  const message: unknown = JSON.parse(body.toString())
  const isRequest = typeof message === 'object' && message !== null && 'id' in message && 'method' in message
  if (!isRequest) {
    socket.write(head('202 Accepted', 0))
    return
  }
  const { id, method } = message
  const result = resultOf(method, 'params' in message ? message.params : undefined, TOOLS)
  const error = { code: -32601, message: `Method '${String(method)}' not found` }
  const answer = JSON.stringify({ jsonrpc: '2.0', id, ...(result === undefined ? { error } : { result }) })
  const session = method === 'initialize' ? `Mcp-Session-Id: ${randomUUID()}\r\n` : ''
  socket.write(head('200 OK', Buffer.byteLength(answer), session) + answer)
}

function answer(socket: Socket, start: string, body: Buffer): void {
  if (start.startsWith('POST ')) {
    if (!answerCall(socket, body)) answerSlowly(socket, body)
  } else if (start.startsWith('DELETE ')) socket.write(head('200 OK', 0))
  else if (start.startsWith('GET /health ')) socket.write(head('200 OK', 2) + '{}')
  else socket.write(head('405 Method Not Allowed', 0, 'Allow: POST, DELETE\r\n'))
}

const server = createServer({ noDelay: true }, (socket) => {
  readMessages(socket, (start, body) => answer(socket, start, body))
})
server.listen(Number(flags.port), '127.0.0.1')
exitWithStdin()
