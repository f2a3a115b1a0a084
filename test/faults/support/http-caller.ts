// A client over Streamable HTTP with few sockets.

import { Agent, request } from 'node:http'
import { at, parsed } from '../../integration/support/json.js'
import { both } from '../../transports/support/http.js'

/** The longest wait for a response, far beyond the time on a busy machine. */
const WAIT_MS = 600_000

export interface Posted {
  readonly status: number
  readonly session: string | undefined
  /** Every message of the response: the JSON body, or the events of a stream. */
  readonly messages: readonly unknown[]
  readonly body: string
}

/** Uses one endpoint, with a session once it has opened one. */
export class HttpCaller {
  readonly #agent: Agent
  readonly #port: number
  readonly #token: string | undefined
  session: string | undefined
  #last = 0

  constructor(port: number, socketsMax = 1, token?: string) {
    this.#port = port
    this.#token = token
    this.#agent = new Agent({ keepAlive: true, maxSockets: socketsMax })
  }

  nextId(): number {
    return ++this.#last
  }

  async open(): Promise<Posted> {
    const clientInfo = { name: 'faults', version: '1' }
    const params = { protocolVersion: '2025-06-18', capabilities: {}, clientInfo }
    const posted = await this.request('initialize', params)
    this.session = posted.session
    await this.post(JSON.stringify({ jsonrpc: '2.0', method: 'notifications/initialized' }))
    return posted
  }

  request(method: string, params: unknown = {}, id: string | number = this.nextId()): Promise<Posted> {
    return this.post(JSON.stringify({ jsonrpc: '2.0', id, method, params }))
  }

  call(name: string, args: unknown = {}): Promise<Posted> {
    return this.request('tools/call', { name, arguments: args })
  }

  leave(): Promise<Posted> {
    return this.post(undefined, 'DELETE')
  }

  close(): void {
    this.#agent.destroy()
  }

  post(body: string | Uint8Array | undefined, method = 'POST'): Promise<Posted> {
    const { session } = this
    const headers = {
      accept: both,
      ...(method === 'POST' && { 'content-type': 'application/json' }),
      ...(this.#token !== undefined && { authorization: `Bearer ${this.#token}` }),
      ...(session !== undefined && { 'mcp-session-id': session }),
      ...(body !== undefined && { 'content-length': Buffer.byteLength(body) }),
    }
    const what = `${method} ${String(body).slice(0, 200)}`
    return new Promise((resolve, reject) => {
      const options = {
        host: '127.0.0.1',
        port: this.#port,
        path: '/mcp',
        method,
        headers,
        agent: this.#agent,
      }
      const sent = request(options, (response) => {
        const chunks: Buffer[] = []
        response.on('data', (chunk: Buffer) => chunks.push(chunk))
        response.on('error', reject)
        response.on('end', () => {
          const text = Buffer.concat(chunks).toString()
          const id = response.headers['mcp-session-id']
          const isStream = response.headers['content-type'] === 'text/event-stream'
          resolve({
            status: response.statusCode ?? 0,
            session: typeof id === 'string' ? id : undefined,
            messages: isStream ? eventsOf(text) : messageOf(text),
            body: text,
          })
        })
      })
      sent.on('error', reject)
      const late = setTimeout(() => sent.destroy(new Error(`no response to ${what}`)), WAIT_MS)
      sent.on('close', () => clearTimeout(late))
      sent.end(body)
    })
  }
}

function messageOf(text: string): unknown[] {
  return text === '' ? [] : [parsed(text)]
}

function eventsOf(text: string): unknown[] {
  return text
    .split('\n')
    .filter((line) => line.startsWith('data: {'))
    .map((line) => parsed(line.slice(6)))
}

export function answerOf({ messages }: Posted): unknown {
  return messages.find((message) => at(message, 'method') === undefined)
}
