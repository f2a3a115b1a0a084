// An HTTP server on the loopback with scripted answers, and a sink that records.

import {
  type IncomingHttpHeaders,
  type IncomingMessage,
  type RequestListener,
  type ServerResponse,
  createServer,
} from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import type { Socket } from 'node:net'
import type { TlsOptions } from 'node:tls'
import type { Sink } from '../../../src/jsonrpc/connection.js'
import type { TransportError } from '../../../src/jsonrpc/jsonrpc-errors.js'
import { toLine } from '../../../src/jsonrpc/line.js'
import { type Message, splice } from '../../../src/jsonrpc/splice.js'
import { Redactor } from '../../../src/text/redactor.js'
import { HttpLink, type LinkOptions } from '../../../src/transports/http-client/link.js'
import { HttpAgent, connectPlain } from '../../../src/transports/http1/client.js'
import { DoubtfulRefusals } from '../../../src/transports/http-client/forgotten-session.js'
import {
  type HttpClientLimits,
  type HttpTarget,
  defaultHttpClientLimits,
} from '../../../src/transports/http-client/options.js'
import { at, parsed } from '../../integration/support/json.js'
import { HANG_MS } from '../../integration/support/waiting.js'
import type { Scope } from '../../support/scope.js'
import { send as sendTo } from './sending.js'

export type { Scope } from '../../support/scope.js'

export interface Seen {
  readonly method: string
  readonly url: string
  readonly headers: IncomingHttpHeaders
  readonly body: string
  readonly rpc: unknown
  readonly id: unknown
}

export interface Scripted {
  readonly url: URL
  readonly seen: readonly Seen[]
  readonly heads: readonly string[]
  readonly sockets: Set<Socket>
  close(): Promise<void>
}

export type Handler = (seen: Seen, response: ServerResponse, request: IncomingMessage) => void

export interface ScriptedOptions {
  /** Bodies are not JSON. */
  readonly raw?: boolean
  readonly tls?: TlsOptions
  /** Whether the script answers the probe for the revision. Otherwise the server refuses it. */
  readonly isAsked?: boolean
}

export async function scripted(
  scope: Scope,
  handler: Handler,
  { raw = false, tls, isAsked = false }: ScriptedOptions = {},
): Promise<Scripted> {
  const seen: Seen[] = []
  const heads: string[] = []
  const sockets = new Set<Socket>()
  const listener: RequestListener = (request, response) => {
    heads.push(request.rawHeaders.join(' '))
    const parts: Buffer[] = []
    request.on('data', (chunk: Buffer) => parts.push(chunk))
    request.on('end', () => {
      const body = Buffer.concat(parts).toString()
      const value = body === '' || raw ? undefined : parsed(body)
      const { method = '', url = '', headers } = request
      if (!isAsked && at(value, 'method') === 'server/discover') return void response.writeHead(404).end()
      const one = { method, url, headers, body, rpc: at(value, 'method'), id: at(value, 'id') }
      seen.push(one)
      handler(one, response, request)
    })
  }
  const server = tls === undefined ? createServer(listener) : createTlsServer(tls, listener)
  server.on('connection', (socket) => {
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const port = at(server.address(), 'port')
  const close = (): Promise<void> =>
    new Promise((resolve) => {
      server.close(() => resolve())
      for (const socket of sockets) socket.destroy()
    })
  scope.after(close)
  const scheme = tls === undefined ? 'http' : 'https'
  return { url: new URL(`${scheme}://127.0.0.1:${String(port)}/mcp`), seen, heads, sockets, close }
}

/** Records all events of a connection, and waits for more. */
export class Heard {
  readonly messages: string[] = []
  readonly during: unknown[] = []
  readonly failures: { readonly id: unknown; readonly error: TransportError }[] = []
  readonly oversize: unknown[] = []
  readonly wire: string[] = []
  /** Indices of the messages that came in parts. */
  readonly inParts: number[] = []
  closed: { readonly cause: TransportError | undefined } | undefined
  #wake: () => void = () => {}

  get sink(): Sink {
    return {
      message: (line, during) =>
        this.#note(() => {
          this.messages.push(line.toString())
          this.during.push(during)
        }),
      failed: (id, error) => this.#note(() => this.failures.push({ id, error })),
      oversize: (id, bytes, isCall) => this.#note(() => this.oversize.push([id, bytes, isCall])),
      drained: () => this.#wake(),
      ended: () => {},
      closed: (cause) => this.#note(() => (this.closed = { cause })),
      wire: (direction, bytes) => void this.wire.push(`${direction} ${Buffer.from(bytes).toString()}`),
    }
  }

  /** A sink that takes long messages in parts, and sees no bytes. */
  get sinkOfParts(): Sink {
    const { wire: _wire, ...sink } = this.sink
    return {
      ...sink,
      received: (frame, during) => {
        const long = frame.kind === 'result' ? frame.long : undefined
        if ((long?.parts.length ?? 0) > 1) this.inParts.push(this.messages.length)
        sink.message(frame.line, during)
      },
    }
  }

  async until(is: () => boolean): Promise<void> {
    const giveUp = Date.now() + HANG_MS
    while (!is()) {
      if (Date.now() > giveUp) throw new Error(`did not come: ${JSON.stringify(this)}`)
      await new Promise<void>((resolve) => {
        this.#wake = resolve
        setTimeout(resolve, 20)
      })
    }
  }

  #note(note: () => void): void {
    note()
    this.#wake()
  }
}

export const testTimers = {
  now: (): number => performance.now(),
  wallNow: (): number => Date.now(),
  setTimer: (delayMs: number, fire: () => void): { cancel(): void } => {
    const timer = setTimeout(fire, delayMs)
    return { cancel: () => clearTimeout(timer) }
  },
  random: (): number => 0.5,
}

export const testLimits: HttpClientLimits = { ...defaultHttpClientLimits, reconnectMsMin: 1 }

export function target(url: URL, more: Partial<HttpTarget> = {}): HttpTarget {
  return {
    url,
    headers: {},
    credentials: undefined,
    redactor: new Redactor([]),
    retries: 2,
    retryDelayMs: 5,
    reconnectMs: 5,
    refusal: (status) => ({ message: `refused ${status}`, remedy: undefined }),
    log: () => {},
    trace: undefined,
    refusals: new DoubtfulRefusals(),
    patienceMs: 30_000,
    timers: testTimers,
    limits: testLimits,
    ...more,
  }
}

export interface Opened {
  readonly heard: Heard
  readonly connection: HttpLink
  readonly send: (text: string) => void
  readonly request: (id: number | string, method: string) => void
}

export function connect(
  scope: Scope,
  url: URL,
  more: Partial<HttpTarget> = {},
  { takesParts = false, ...link }: LinkOptions & { readonly takesParts?: boolean } = {},
): Opened {
  const heard = new Heard()
  const given = target(url, more)
  const agent = new HttpAgent(url, given.limits, connectPlain)
  const connection = new HttpLink(given, agent, link)
  connection.start(takesParts ? heard.sinkOfParts : heard.sink)
  scope.after(async () => {
    await connection.close()
    agent.destroy()
  })
  const send = (text: string): void => sendTo(connection, bytesOf(text))
  const request = (id: number | string, method: string): void =>
    send(JSON.stringify({ jsonrpc: '2.0', id, method, params: {} }))
  return { heard, connection, send, request }
}

/** Makes one request with the id 1, and waits for its answer or failure. */
export async function called(...args: Parameters<typeof connect>): Promise<Opened> {
  const opened = connect(...args)
  const { heard, request } = opened
  request(1, 'work')
  await heard.until(() => heard.messages.length + heard.failures.length === 1)
  return opened
}

export function bytesOf(text: string): Message {
  return splice(toLine(text), [])
}

export function json(
  response: ServerResponse,
  body: string,
  status = 200,
  headers: Readonly<Record<string, string>> = {},
): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers })
  response.end(body)
}

export function answerOf(id: unknown, result = '{}'): string {
  return `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":${result}}`
}

export function events(
  response: ServerResponse,
  text: string,
  headers: Readonly<Record<string, string>> = {},
): void {
  response.writeHead(200, { 'content-type': 'text/event-stream', ...headers })
  response.write(text)
}
