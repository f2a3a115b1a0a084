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
import { findCall, found, slowAnswer } from './served.js'
import { LAST_HEAD, LAST_RESULT, LINE_HEAD, RESULT_AFTER_ID, RESULT_CLOSE } from './wire.js'

const TOOLS = 3

const { values: flags } = parseArgs({ options: { port: { type: 'string' } } })

function head(status: string, bodyBytes: number, more = ''): string {
  return `HTTP/1.1 ${status}\r\nContent-Type: application/json\r\n${more}Content-Length: ${bodyBytes}\r\n\r\n`
}

/** The id stands where the call had it. A small answer leaves in one write, a large text from where it lies. */
function answerCall(socket: Socket, message: Buffer): void {
  const id = message.toString('latin1', found.idStart, found.idEnd)
  const before = found.isIdLast ? LAST_RESULT : `${LINE_HEAD}${id}${RESULT_AFTER_ID}`
  const after = found.isIdLast ? `${RESULT_CLOSE}${LAST_HEAD}${id}}` : `${RESULT_CLOSE}}`
  const text = found.text.subarray(found.textFrom, found.textEnd)
  const start = head('200 OK', before.length + text.length + after.length) + before
  if (text.length < 4096) {
    socket.write(start + text.toString('latin1') + after, 'latin1')
    return
  }
  socket.cork()
  socket.write(start, 'latin1')
  socket.write(text)
  socket.write(after, 'latin1')
  socket.uncork()
}

function answerSlowly(socket: Socket, body: Buffer): void {
  const slow = slowAnswer(body, TOOLS)
  if (slow === undefined) {
    socket.write(head('202 Accepted', 0))
    return
  }
  const session = slow.method === 'initialize' ? `Mcp-Session-Id: ${randomUUID()}\r\n` : ''
  socket.write(head('200 OK', Buffer.byteLength(slow.answer), session) + slow.answer)
}

function answer(socket: Socket, start: string, body: Buffer): void {
  if (start.startsWith('POST ')) {
    if (findCall(body)) answerCall(socket, body)
    else answerSlowly(socket, body)
  } else if (start.startsWith('DELETE ')) socket.write(head('200 OK', 0))
  else if (start.startsWith('GET /health ')) socket.write(head('200 OK', 2) + '{}')
  else socket.write(head('405 Method Not Allowed', 0, 'Allow: POST, DELETE\r\n'))
}

const server = createServer({ noDelay: true }, (socket) => {
  readMessages(socket, (start, body) => answer(socket, start, body))
})
server.listen(Number(flags.port), '127.0.0.1')
exitWithStdin()
