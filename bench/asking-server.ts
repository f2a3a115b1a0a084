// A small MCP server over Streamable HTTP, of a revision with sessions: its tool `ask` asks its client, and goes on waiting.
//
//   node asking-server.js

import { randomUUID } from 'node:crypto'
import { type IncomingMessage, type ServerResponse, createServer } from 'node:http'

import { exitWithStdin } from './http-ends.js'

const initialized =
  '{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"asking","version":"1"}}'
const tools =
  '{"tools":[{"name":"ask","inputSchema":{"type":"object"}},{"name":"quiet","inputSchema":{"type":"object"}}]}'
const params =
  '{"message":"Which branch?","requestedSchema":{"type":"object","properties":{"b":{"type":"string"}}}}'
let asked = 0

interface Message {
  readonly id: unknown
  readonly method: string
  readonly params: unknown
}

function isMessage(value: unknown): value is Message {
  return typeof value === 'object' && value !== null && 'method' in value
}

function answer({ id, method, params: said }: Message, response: ServerResponse): void {
  const reply = (member: string, status = 200): void => {
    const headers = { 'content-type': 'application/json', 'mcp-session-id': randomUUID() }
    response.writeHead(status, headers).end(`{"jsonrpc":"2.0","id":${JSON.stringify(id)},${member}}`)
  }
  if (id === undefined) return void response.writeHead(202).end()
  if (method === 'initialize') return reply(`"result":${initialized}`)
  if (method === 'tools/list') return reply(`"result":${tools}`)
  if (method !== 'tools/call') return reply('"error":{"code":-32601,"message":"Method not found"}', 400)
  if (JSON.stringify(said).includes('quiet')) return reply('"result":{"content":[]}')
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  const question = `{"jsonrpc":"2.0","id":"q${++asked}","method":"elicitation/create","params":${params}}`
  response.write(`data: ${question}\n\n`)
}

async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
  if (request.method !== 'POST') return void response.writeHead(405).end()
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(Buffer.from(chunk))
  const message: unknown = JSON.parse(Buffer.concat(chunks).toString())
  if (isMessage(message)) answer(message, response)
  else response.writeHead(202).end()
}

const server = createServer((request, response) => void serve(request, response))
server.listen(0, '127.0.0.1', () => {
  const address = server.address()
  process.stdout.write(`${typeof address === 'object' ? address?.port : ''}\n`)
})
exitWithStdin()
