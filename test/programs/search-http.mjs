// A search service over Streamable HTTP: `node search-http.mjs PORT KEY`.
//
// Like real services, it keeps sessions, sends events without a space behind the colon, and answers a call with another
// key with a JSON object that is no JSON-RPC. The text of its results is JSON in a string.

import { createServer } from 'node:http'

const [port, key] = process.argv.slice(2)
let sessions = 0

const tools = [
  {
    name: 'web_search',
    description: 'Search the web',
    inputSchema: {
      type: 'object',
      properties: {
        query: { type: 'string', description: 'What to search for' },
        count: { type: 'integer', minimum: 1, maximum: 20 },
      },
      required: ['query'],
    },
  },
]

function found({ query, count = 1 }) {
  const pages = Array.from({ length: count }, (_, at) => ({
    title: `${query} ${at + 1}`,
    link: 'https://a.example',
  }))
  return { content: [{ type: 'text', text: JSON.stringify(JSON.stringify(pages)) }] }
}

const noKey = { code: 401, success: false, msg: 'Api key not found, please get your apikey' }

function resultOf({ method, params }) {
  if (method === 'initialize')
    return {
      protocolVersion: params.protocolVersion,
      capabilities: { tools: {} },
      serverInfo: { name: 'search', version: '1.0.0' },
    }
  if (method === 'tools/list') return { tools }
  if (method !== 'tools/call') return {}
  return found(params.arguments)
}

const server = createServer((request, response) => {
  if (request.method !== 'POST') return void response.writeHead(405).end()
  const parts = []
  request.on('data', (part) => parts.push(part))
  request.on('end', () => {
    const message = JSON.parse(Buffer.concat(parts).toString())
    if (message.id === undefined) return void response.writeHead(202).end()
    if (message.method === 'tools/call' && request.headers.authorization !== `Bearer ${key}`) {
      response.writeHead(200, { 'content-type': 'application/json' })
      return void response.end(JSON.stringify(noKey))
    }
    const answer = { jsonrpc: '2.0', id: message.id, result: resultOf(message) }
    const session = message.method === 'initialize' ? { 'mcp-session-id': `s-${++sessions}` } : {}
    response.writeHead(200, { 'content-type': 'text/event-stream', ...session })
    response.end(`id:1\nevent:message\ndata:${JSON.stringify(answer)}\n\n`)
  })
})
server.listen(Number(port), '127.0.0.1')
process.stdin.on('end', () => process.exit()).resume()
