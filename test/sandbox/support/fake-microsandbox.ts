// A server that answers as microsandbox 0.2 does, and fails as the test asks.

import { type IncomingMessage, type Server, type ServerResponse, createServer } from 'node:http'
import { at } from '../../integration/support/json.js'

export interface FakeRequest {
  readonly method: string
  readonly params: unknown
  readonly authorization: string | undefined
}

/** Answers one request in place of the server's own answer; gives whether it has. */
export type Misbehave = (request: FakeRequest, response: ServerResponse) => boolean

const KEY = 'msb_key'

/** Listens on loopback until it is closed. */
export class FakeMicrosandbox {
  readonly requests: FakeRequest[] = []
  readonly running: Map<string, Map<string, string>> = new Map()
  misbehave: Misbehave = () => false
  readonly #server: Server
  readonly #needsKey: boolean

  constructor(needsKey = false) {
    this.#needsKey = needsKey
    this.#server = createServer((request, response) => void this.#serve(request, response))
  }

  listen(): Promise<string> {
    return new Promise((resolve) => {
      this.#server.listen(0, '127.0.0.1', () => {
        const address = this.#server.address()
        resolve(`http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}`)
      })
    })
  }

  close(): void {
    this.#server.closeAllConnections()
    this.#server.close()
  }

  calls(method: string): unknown[] {
    return this.requests.filter((each) => each.method === method).map(({ params }) => params)
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (request.url === '/api/v1/health') return answer(response, 200, { message: 'Service is healthy' })
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(Buffer.from(chunk))
    const body: unknown = JSON.parse(Buffer.concat(chunks).toString())
    const asked = {
      method: String(at(body, 'method')),
      params: at(body, 'params'),
      authorization: request.headers.authorization,
    }
    this.requests.push(asked)
    if (this.misbehave(asked, response)) return
    if (this.#needsKey && asked.authorization !== `Bearer ${KEY}`)
      return answer(response, 401, { error: 'Invalid credentials', code: 1001 })
    const result = this.#result(asked)
    if (result === undefined)
      return answer(response, 404, {
        jsonrpc: '2.0',
        error: { code: -32601, message: 'Method not found' },
        id: 1,
      })
    return answer(response, 200, { jsonrpc: '2.0', result, id: at(body, 'id') })
  }

  #result({ method, params }: FakeRequest): unknown {
    const sandbox = String(at(params, 'sandbox'))
    switch (method) {
      case 'sandbox.start':
        this.running.set(sandbox, new Map())
        return `Sandbox ${sandbox} started successfully`
      case 'sandbox.stop':
        this.running.delete(sandbox)
        return `Sandbox ${sandbox} stopped`
      case 'sandbox.repl.run':
        return { status: 'success', language: at(params, 'language'), output: this.#run(sandbox, params) }
      case 'sandbox.command.run': {
        const args = [at(params, 'args')].flat().join(' ')
        const isFailure = args.includes('exit 3')
        return {
          command: at(params, 'command'),
          args: at(params, 'args'),
          exit_code: isFailure ? 3 : 0,
          success: !isFailure,
          output: [
            { stream: 'stdout', text: `ran ${String(at(params, 'command'))} ${args}` },
            ...(isFailure ? [{ stream: 'stderr', text: 'failed' }] : []),
          ],
        }
      }
      default:
        return undefined
    }
  }

  /** It knows `name=value`, a name, a warning, and mistakes. */
  #run(sandbox: string, params: unknown): unknown[] {
    const names = this.running.get(sandbox) ?? new Map<string, string>()
    const code = String(at(params, 'code'))
    const [, name, value] = /^(\w+)=(.*)$/.exec(code) ?? []
    if (name !== undefined) names.set(name, value ?? '')
    if (name !== undefined) return []
    if (code === 'warn') return [{ stream: 'stderr', text: '<stdin>:1: DeprecationWarning: it is old' }]
    const found = names.get(code)
    const error = { stream: 'stderr', text: `NameError: name '${code}' is not defined` }
    return [found === undefined ? error : { stream: 'stdout', text: found }]
  }
}

export function answer(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json' })
  response.end(JSON.stringify(body))
}
