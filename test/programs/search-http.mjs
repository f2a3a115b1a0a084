// A search service over Streamable HTTP: `node search-http.mjs PORT KEY`.
//
// Like real services, it keeps sessions, sends events without a space behind the colon, and answers a call with another
// key with a JSON object that is no JSON-RPC. The text of its results is JSON in a string.

import { createServer } from 'node:http'
import { text as bodyOf } from 'node:stream/consumers'
import { text, tool } from './serve.mjs'

const [port, key] = process.argv.slice(2)
let sessions = 0

const properties = {
  query: { type: 'string', description: 'What to search for' },
  count: { type: 'integer', minimum: 1, maximum: 20 },
}
const results = {
  initialize: ({ protocolVersion }) => ({
    protocolVersion,
    capabilities: { tools: {} },
    serverInfo: { name: 'search', version: '1.0.0' },
  }),
  'tools/list': () => ({ tools: [tool('web_search', 'Search the web', properties, ['query'])] }),
  'tools/call': ({ arguments: { query, count = 1 } }) => {
    const pages = Array.from({ length: count }, (_, at) => ({
      title: `${query} ${at + 1}`,
      link: 'https://a.example',
    }))
    return text(JSON.stringify(JSON.stringify(pages)))
  },
}
const noKey = { code: 401, success: false, msg: 'Api key not found, please get your apikey' }

const server = createServer(async (request, response) => {
  if (request.method !== 'POST') return response.writeHead(405).end()
  const { id, method, params } = JSON.parse(await bodyOf(request))
  if (id === undefined) return response.writeHead(202).end()
  if (method === 'tools/call' && request.headers.authorization !== `Bearer ${key}`)
    return response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(noKey))
  const answer = { jsonrpc: '2.0', id, result: results[method]?.(params) ?? {} }
  const session = method === 'initialize' ? { 'mcp-session-id': `s-${++sessions}` } : {}
  response.writeHead(200, { 'content-type': 'text/event-stream', ...session })
  response.end(`id:1\nevent:message\ndata:${JSON.stringify(answer)}\n\n`)
})
server.listen(Number(port), '127.0.0.1')
process.stdin.on('end', () => process.exit()).resume()
