// An MCP server over HTTP to which one fault happens in one phase, once.

import { type IncomingMessage, type Server, type ServerResponse, createServer } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { at, parsed, textAt } from '../../integration/support/json.js'
import type { Scope } from '../../integration/support/spawned.js'
import type { FaultName } from '../faults.js'
import type { PhaseName } from '../phases.js'

/** Phases in which a call is held until the other side says `strike`. */
const held: readonly PhaseName[] = ['queued', 'draining', 'reloading']

/** How often a server refuses to be opened before one that tries it is let through. */
const REFUSALS = 2

export class AilingHttp {
  readonly executed: string[] = []
  hasStruck = false
  /** Sessions that somebody has tried to open. */
  opened = 0
  /** The next call is struck. */
  #isArmed = false
  readonly #sockets = new Set<Socket>()
  readonly #fault: FaultName
  readonly #phase: PhaseName
  readonly #server: Server
  #held: { response: ServerResponse; message: unknown } | undefined
  #onHeld: () => void = () => undefined
  readonly #isHeld: Promise<void>

  private constructor(fault: FaultName, phase: PhaseName) {
    this.#fault = fault
    this.#phase = phase
    this.#isHeld = new Promise((resolve) => {
      this.#onHeld = resolve
    })
    this.#server = createServer((request, response) => void this.#take(request, response))
    this.#server.on('connection', (socket) => {
      this.#sockets.add(socket)
      socket.on('close', () => this.#sockets.delete(socket))
    })
  }

  static async start(scope: Scope, fault: FaultName, phase: PhaseName): Promise<AilingHttp> {
    const ailing = new AilingHttp(fault, phase)
    await new Promise<void>((resolve) => {
      ailing.#server.listen(0, '127.0.0.1', resolve)
    })
    scope.after(() => {
      ailing.#server.closeAllConnections()
      ailing.#server.close()
    })
    return ailing
  }

  get url(): string {
    const address = this.#server.address()
    const port = isAddress(address) ? address.port : 0
    return `http://127.0.0.1:${port}/mcp`
  }

  /** Resolves when a call is being held. */
  holding(): Promise<void> {
    return this.#isHeld
  }

  /** Strikes while nothing goes on: its connections, or whatever comes next. */
  strikeIdle(): void {
    if (this.#fault !== 'rst-before-headers') {
      this.#isArmed = true
      return
    }
    this.hasStruck = true
    for (const socket of this.#sockets) socket.resetAndDestroy()
  }

  /** Strikes the call that is held. */
  strike(): void {
    const { response, message } = this.#held ?? {}
    if (response === undefined) return
    if (!this.#strikes(response, message)) this.#answer(response, message)
  }

  async #take(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (request.method !== 'POST')
      return void response.writeHead(request.method === 'DELETE' ? 200 : 405).end()
    if (this.#phase === 'half-written' && this.#isCall(request)) {
      request.once('data', () => this.#strikes(response, undefined))
    }
    const chunks: Buffer[] = []
    request.on('error', () => undefined)
    for await (const chunk of request) chunks.push(Buffer.from(chunk))
    this.#message(parsed(Buffer.concat(chunks).toString()), response)
  }

  /** Only a call is longer than this. */
  #isCall(request: IncomingMessage): boolean {
    return Number(request.headers['content-length']) > 100_000
  }

  #message(message: unknown, response: ServerResponse): void {
    const method = at(message, 'method')
    if (response.destroyed) return
    if (at(message, 'id') === undefined) return this.#told(method, response)
    if (method === 'initialize' && this.#phase === 'during-initialize' && this.#strikes(response, message))
      return
    if (method === 'initialize' && this.#phase === 'half-open') {
      if (++this.opened <= REFUSALS) return void response.writeHead(500).end('not today')
      if (this.#strikes(response, message)) return
    }
    if (method !== 'tools/call') return this.#answer(response, message)
    this.#called(message, response)
  }

  #told(method: unknown, response: ServerResponse): void {
    if (method === 'notifications/initialized' && this.#phase === 'before-initialized') {
      if (this.#strikes(response, undefined)) return
    }
    response.writeHead(202).end()
  }

  #called(message: unknown, response: ServerResponse): void {
    const isFirst = !this.hasStruck && this.#held === undefined
    if (isFirst && held.includes(this.#phase)) {
      this.#held = { response, message }
      return this.#onHeld()
    }
    if (isFirst && (this.#phase === 'cancelled' || this.#phase === 'timed-out')) {
      this.#held = { response, message }
      // The proxy closes the response of a call that is over.
      response.once('close', () => (this.hasStruck = true))
      return this.#onHeld()
    }
    if (this.#phase === 'progress-seen' && !this.hasStruck) return this.#progress(message, response)
    if ((this.#phase === 'written' || this.#isArmed) && this.#strikes(response, message)) return
    this.#answer(response, message)
  }

  #progress(message: unknown, response: ServerResponse): void {
    const params = { progressToken: at(message, 'params', '_meta', 'progressToken'), progress: 1 }
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.write(
      `data: ${JSON.stringify({ jsonrpc: '2.0', method: 'notifications/progress', params })}\n\n`,
    )
    this.#executes(message)
    setTimeout(() => {
      this.hasStruck = true
      response.write('data: {"jsonrpc":"2.0","id":')
      reset(response)
    }, 20)
  }

  /** Whether it strikes now; the response is spoilt then. */
  #strikes(response: ServerResponse, message: unknown): boolean {
    if (this.hasStruck) return false
    this.hasStruck = true
    // Whoever is told 404 or 429 was not taken, and may ask again.
    if (this.#fault !== 'http-404' && this.#fault !== 'http-429') this.#executes(message)
    const text = resultOf(message)
    const fault: string = this.#fault
    switch (fault) {
      case 'rst-before-headers':
        break
      case 'rst-mid-headers':
        response.socket?.write('HTTP/1.1 200 OK\r\nContent-Ty')
        break
      case 'rst-mid-body':
        response.writeHead(200, { 'content-type': 'application/json', 'content-length': text.length })
        response.write(text.slice(0, text.length / 2))
        break
      case 'rst-mid-event':
        response.writeHead(200, { 'content-type': 'text/event-stream' })
        response.write(`data: ${text.slice(0, text.length / 2)}`)
        break
      case 'http-404':
        response.writeHead(404).end()
        return true
      case 'http-429':
        response.writeHead(429, { 'retry-after': '0' }).end('slow down')
        return true
      default:
        response.writeHead(502, { 'content-type': 'text/html' }).end('<html>Bad Gateway</html>')
        return true
    }
    reset(response)
    return true
  }

  #executes(message: unknown): void {
    if (at(message, 'method') === 'tools/call')
      this.executed.push(textAt(message, 'params', 'arguments', 'nonce'))
  }

  #answer(response: ServerResponse, message: unknown): void {
    if (response.destroyed) return
    this.#executes(message)
    const headers = { 'content-type': 'application/json', 'mcp-session-id': 'one' }
    response.writeHead(200, headers).end(resultOf(message))
  }
}

/** What has been written leaves before the connection is reset. */
function reset(response: ServerResponse): void {
  setImmediate(() => response.socket?.resetAndDestroy())
}

function isAddress(address: AddressInfo | string | null): address is AddressInfo {
  return typeof address === 'object' && address !== null
}

function resultOf(message: unknown): string {
  return JSON.stringify({ jsonrpc: '2.0', id: at(message, 'id') ?? 0, result: valueOf(message) })
}

function valueOf(message: unknown): unknown {
  switch (at(message, 'method')) {
    case 'initialize': {
      const protocolVersion = at(message, 'params', 'protocolVersion')
      return { protocolVersion, capabilities: { tools: {} }, serverInfo: { name: 'ailing', version: '1' } }
    }
    case 'tools/list':
      return { tools: [{ name: 'nonce', inputSchema: { type: 'object' } }] }
    default:
      return { content: [{ type: 'text', text: textAt(message, 'params', 'arguments', 'nonce') }] }
  }
}
