// A server with sessions over HTTP: `ask` asks its client and waits for the answer, `hold` waits for ever.

import { once } from 'node:events'
import { type IncomingMessage, type Server, type ServerResponse, createServer } from 'node:http'
import { at, numberAt, parsed, textAt } from '../../integration/support/json.js'
import type { Scope } from '../../integration/support/spawned.js'

const initialized =
  '{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"asking","version":"1"}}'
const tools = ['ask', 'hold'].map((name) => `{"name":"${name}","inputSchema":{"type":"object"}}`)
const form = '{"message":"Which?","requestedSchema":{"type":"object","properties":{}}}'

/** What it has to do with its clients so far. */
export class AskingHttp {
  /** Responses of calls that are not over, by what it has asked. */
  readonly open: Map<string, ServerResponse> = new Map()
  readonly sessions: Set<string> = new Set()
  calls = 0
  /** Questions that were refused. */
  refused = 0
  readonly #server: Server = createServer((request, response) => void this.#serve(request, response))

  async listen(scope: Scope): Promise<string> {
    this.#server.listen(0, '127.0.0.1')
    await once(this.#server, 'listening')
    scope.after(() => {
      this.#server.close()
      this.#server.closeAllConnections()
    })
    return `http://127.0.0.1:${numberAt(this.#server.address(), 'port')}/mcp`
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(Buffer.from(chunk))
    if (request.method === 'DELETE') this.sessions.delete(String(request.headers['mcp-session-id']))
    if (request.method !== 'POST') return void response.writeHead(request.method === 'GET' ? 405 : 200).end()
    this.#take(parsed(Buffer.concat(chunks).toString()), response)
  }

  #take(message: unknown, response: ServerResponse): void {
    const id = JSON.stringify(at(message, 'id'))
    const reply = (member: string, status = 200, headers: object = {}): void => {
      response.writeHead(status, { 'content-type': 'application/json', ...headers })
      response.end(`{"jsonrpc":"2.0","id":${id},${member}}`)
    }
    switch (textAt(message, 'method')) {
      case 'initialize': {
        const session = `session-${this.sessions.size}-${this.calls}`
        this.sessions.add(session)
        return reply(`"result":${initialized}`, 200, { 'mcp-session-id': session })
      }
      case 'tools/list':
        return reply(`"result":{"tools":[${tools.join(',')}]}`)
      case 'tools/call':
        return this.#call(message, id, response)
      case '':
        this.#answered(message)
        break
      default:
        if (at(message, 'id') !== undefined) return reply('"error":{"code":-32601,"message":"no"}', 400)
    }
    response.writeHead(202).end()
  }

  #call(message: unknown, id: string, response: ServerResponse): void {
    const question = `q${++this.calls} of ${id}`
    this.open.set(question, response)
    response.once('close', () => this.open.delete(question))
    response.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders()
    if (textAt(message, 'params', 'name') !== 'ask') return
    const asked = `{"jsonrpc":"2.0","id":"${question}","method":"elicitation/create","params":${form}}`
    response.write(`data: ${asked}\n\n`)
  }

  #answered(message: unknown): void {
    const question = textAt(message, 'id')
    const isRefused = at(message, 'error') !== undefined
    if (isRefused) this.refused++
    const [, id = ''] = question.split(' of ')
    const text = JSON.stringify(isRefused ? 'refused' : 'answered')
    const result = `{"content":[{"type":"text","text":${text}}],"isError":${isRefused}}`
    this.open.get(question)?.end(`data: {"jsonrpc":"2.0","id":${id},"result":${result}}\n\n`)
  }
}
