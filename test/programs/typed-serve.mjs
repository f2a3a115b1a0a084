// The common part of the servers of revision 2026-07-28, on stdin and stdout or, with `--http PORT`, over
// Streamable HTTP at every path: requests that each say what they are of, and of which nothing is remembered.
//
// A handler gets the params and the request: `tell` says something about it before its result, `signal` says that it
// was given up, `http` has the path and the response where there is one. It gives a result, whose type is `complete`
// unless it says another one, or throws `{ code, message, data, status }`.

import { createServer } from 'node:http'
import { text as bodyOf } from 'node:stream/consumers'
import { notify, onLines, send as say } from './serve.mjs'

export { text } from './serve.mjs'

export const version = '2026-07-28'
export const key = (name) => `io.modelcontextprotocol/${name}`
const serverInfo = { name: 'typed', version: '1.0.0' }

/** How long lists hold, and for whom. */
export const hints = { ttlMs: 0, cacheScope: 'private' }
export const refused = (code, message, data) => ({ code, message, ...(data !== undefined && { data }) })
export const tool = (name, more) => ({ name, inputSchema: { type: 'object' }, ...more })

/** The result of `server/discover`. */
export const describe = (capabilities, versions = [version]) => ({
  supportedVersions: versions,
  capabilities,
  ...hints,
})

async function answer(handlers, { id, method, params }, request) {
  try {
    const meta = params?._meta ?? {}
    const requested = meta[key('protocolVersion')]
    if (typeof requested !== 'string' || meta[key('clientCapabilities')] === undefined)
      throw { status: 400, ...refused(-32602, 'a request says what it is of') }
    if (requested !== version)
      throw { status: 400, ...refused(-32022, 'another version', { supported: [version], requested }) }
    const handler = handlers[method]
    if (handler === undefined) throw { status: 404, ...refused(-32601, `no such method: ${method}`) }
    const result = await handler(params, request)
    if (result === undefined) return undefined
    const { _meta, resultType = 'complete', ...rest } = result
    const all = { resultType, ...rest, _meta: { [key('serverInfo')]: serverInfo, ..._meta } }
    return { message: { jsonrpc: '2.0', id, result: all } }
  } catch ({ code = -32603, message, data, status }) {
    return { message: { jsonrpc: '2.0', id, error: refused(code, message, data) }, status }
  }
}

/** Answers requests; `onMessage` gets every message. */
export function serve(handlers, onMessage = () => undefined) {
  const at = process.argv.indexOf('--http')
  if (at < 0) onStdio(handlers, onMessage)
  else overHttp(handlers, onMessage, Number(process.argv[at + 1]))
}

function onStdio(handlers, onMessage) {
  const running = new Map()
  onLines(async (line) => {
    const message = JSON.parse(line)
    onMessage(message)
    const { id, method, params } = message
    if (method === 'notifications/cancelled') return running.get(params.requestId)?.abort()
    if (id === undefined || method === undefined) return
    const controller = new AbortController()
    running.set(id, controller)
    const { signal } = controller
    const said = await answer(handlers, message, { id, tell: notify, signal })
    // A request without a result stays open until it is cancelled.
    if (said === undefined) return
    running.delete(id)
    if (!signal.aborted) say(said.message)
  })
}

/** The required header fields of a message. */
const fieldsOf = ({ method, params }) => ({
  'mcp-protocol-version': params?._meta?.[key('protocolVersion')],
  'mcp-method': method,
  'mcp-name': { 'tools/call': params?.name, 'prompts/get': params?.name, 'resources/read': params?.uri }[
    method
  ],
})

function overHttp(handlers, onMessage, port) {
  const server = createServer(async (request, response) => {
    const respond = (status, message) =>
      response
        .writeHead(status, { 'Content-Type': 'application/json' })
        .end(message && JSON.stringify(message))
    if (request.method !== 'POST') return respond(405)
    const message = JSON.parse(await bodyOf(request))
    onMessage(message, request)
    if (message.id === undefined) return respond(202)
    const wrong = Object.entries(fieldsOf(message)).find(([name, value]) => request.headers[name] !== value)
    if (wrong !== undefined) {
      const error = refused(-32020, `${wrong[0]} is not ${wrong[1]}`)
      return respond(400, { jsonrpc: '2.0', id: message.id, error })
    }
    const controller = new AbortController()
    response.on('close', () => controller.abort())
    const event = (message) => {
      if (!response.headersSent) response.writeHead(200, { 'Content-Type': 'text/event-stream' })
      response.write(`data: ${JSON.stringify(message)}\n\n`)
    }
    const tell = (method, params) => event({ jsonrpc: '2.0', method, params })
    const http = { path: request.url, response }
    const said = await answer(handlers, message, { id: message.id, tell, signal: controller.signal, http })
    if (said === undefined || response.writableEnded) return
    if (!response.headersSent) return respond(said.status ?? 200, said.message)
    event(said.message)
    response.end()
  })
  server.listen(port, '127.0.0.1', () => {
    process.stdout.write(`http://127.0.0.1:${server.address().port}/mcp\n`)
  })
}
