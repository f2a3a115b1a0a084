// Streamable HTTP for the reference server, as revision 2025-11-25 has it: a session for each client, an
// event stream for each request, and a standalone stream that says nothing.

import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { text } from 'node:stream/consumers'

/** Listens on loopback; resolves with the address. */
export async function listen(port, newSession) {
  const sessions = new Map()
  const server = createServer((request, response) => {
    serve(request, response, sessions, newSession).catch((error) => refuse(response, 400, error.message))
  })
  server.listen(port, '127.0.0.1')
  await once(server, 'listening')
  return `http://127.0.0.1:${server.address().port}/mcp`
}

async function serve(request, response, sessions, newSession) {
  if (!isLocal(request.headers)) return refuse(response, 403, 'Forbidden: this is a server of this machine')
  const message = request.method === 'POST' ? JSON.parse(await text(request)) : undefined
  if (message?.method === 'initialize') return open(message, response, sessions, newSession)
  const id = request.headers['mcp-session-id']
  const session = sessions.get(id)
  if (session === undefined)
    return refuse(
      response,
      id === undefined ? 400 : 404,
      id === undefined ? 'No session' : 'Session not found',
    )
  if (message !== undefined) return receive(message, response, id, session)
  if (request.method === 'GET') return stream(response, id).flushHeaders()
  if (request.method !== 'DELETE') return refuse(response, 405, 'Method not allowed')
  sessions.delete(id)
  response.writeHead(200).end()
}

function open(message, response, sessions, newSession) {
  const id = randomUUID()
  sessions.set(id, newSession())
  return receive(message, response, id, sessions.get(id))
}

async function receive(message, response, id, session) {
  const isRequest = message.method !== undefined && message.id !== undefined
  if (isRequest) stream(response, id)
  else response.writeHead(202)
  await session.receive(message, (said) =>
    response.write(`event: message\ndata: ${JSON.stringify(said)}\n\n`),
  )
  response.end()
}

function stream(response, id) {
  const headers = { 'Content-Type': 'text/event-stream', 'Cache-Control': 'no-cache', 'Mcp-Session-Id': id }
  return response.writeHead(200, headers)
}

function refuse(response, status, message) {
  if (response.headersSent) return response.destroy()
  response.writeHead(status, { 'Content-Type': 'application/json' })
  response.end(JSON.stringify({ jsonrpc: '2.0', id: null, error: { code: -32000, message } }))
}

/** The header fields of a page whose name was rebound to this machine name another host. */
function isLocal({ host, origin }) {
  const local = ['localhost', '127.0.0.1', '[::1]']
  return [`http://${host}`, origin ?? 'http://localhost'].every((url) =>
    local.includes(new URL(url).hostname),
  )
}
