// The HTTP requests of one client of Streamable HTTP: its connections, and its session.

import type { SimContext } from './byte-flow.js'
import type { ClientInbox } from './client-inbox.js'
import type { SimFront } from './front.js'
import { HttpReader, chunked } from './http-reader.js'
import type { ClientPlan } from './plan.js'
import type { Random } from './random.js'
import type { SimSocket, SocketScript } from './socket.js'

export const PORT = 3095

export interface HttpPlan {
  /** It uses the older transport: events on one response, messages to another path. */
  readonly sse: boolean
  readonly session: boolean
  /** It opens a stream for messages outside of requests. */
  readonly listens: boolean
  readonly resumes: boolean
  readonly accept: string
  readonly chunked: boolean
  readonly idleMax: number
  readonly againMs: number
  readonly token?: string
}

interface HttpRequest {
  readonly method: 'POST' | 'GET' | 'DELETE'
  /** By default that of Streamable HTTP. */
  readonly path?: string
  readonly session: string | undefined
  readonly revision: string | undefined
  readonly lastId?: string | undefined
  readonly body?: string
  readonly isCut?: boolean
  readonly fields?: readonly string[]
}

export type Asking = Omit<HttpRequest, 'session' | 'revision'>

/** Added to `Content-Length` for a body whose end never comes. */
const MISSING_BYTES = 10

export function requestText(request: HttpRequest, plan: HttpPlan, random: Random): string {
  const { method, session, revision, lastId, body, isCut = false, fields = [] } = request
  const path = request.path ?? random.pick(['/mcp', '/api/default/mcp'])
  const head = [
    `${method} ${path} HTTP/1.1`,
    `Host: ${random.pick(['localhost', '127.0.0.1'])}:${PORT}`,
    `Accept: ${method === 'GET' ? 'text/event-stream' : plan.accept}`,
    ...(session === undefined ? [] : [`Mcp-Session-Id: ${session}`]),
    ...(revision === undefined ? [] : [`MCP-Protocol-Version: ${revision}`]),
    ...(plan.token === undefined ? [] : [`Authorization: Bearer ${plan.token}`]),
    ...fields,
    ...(lastId === undefined ? [] : [`Last-Event-ID: ${lastId}`]),
  ]
  if (body === undefined) return `${head.join('\r\n')}\r\n\r\n`
  const length = Buffer.byteLength(body) + (isCut ? MISSING_BYTES : 0)
  head.push(
    'Content-Type: application/json',
    plan.chunked ? 'Transfer-Encoding: chunked' : `Content-Length: ${length}`,
  )
  const written = plan.chunked ? `${chunked(body)}${isCut ? '' : '0\r\n\r\n'}` : body
  return `${head.join('\r\n')}\r\n\r\n${written}`
}

export interface Asked {
  arrived?(): void
  /** The proxy sends something in response. */
  answering?(): void
  head(status: number, headers: ReadonlyMap<string, string>): void
  /** A piece of the body. `upTo` is its end in the bytes of the connection. */
  body?(bytes: Buffer, upTo: number): void
  whole?(): void
  gone?(): void
}

export interface HttpParts {
  readonly context: SimContext
  readonly front: SimFront
  readonly plan: ClientPlan
  readonly http: HttpPlan
}

export type WireParts = HttpParts & { readonly inbox: ClientInbox }

/** The time limit for a stalled body, and the time until the proxy applies it. */
const HALF_BODY_MS = 20_000

export class HttpRequests {
  session: string | undefined
  isOver = false
  wasPaused = false
  isCutting = false
  readonly random: Random
  readonly #parts: HttpParts
  readonly #connect: (script: SocketScript, number: number) => SimSocket
  readonly #lines = new Set<HttpLine>()
  readonly #sockets: SimSocket[] = []
  #isPaused = false

  /** All connections go to the instance `label`, if given. */
  constructor(parts: HttpParts, dice = 'requests', nameOf?: (number: number) => string, label?: string) {
    const { context, front, plan } = parts
    this.#parts = parts
    this.random = context.dice(`${plan.name} ${dice}`)
    this.#connect = (script, number) =>
      front.connect(nameOf?.(number) ?? `${plan.name}.${number}`, plan, script, label)
  }

  get backlogBytes(): number {
    return this.#sockets.reduce((sum, socket) => sum + (socket.destroyed ? 0 : socket.writableLength), 0)
  }

  get released(): boolean {
    return this.#sockets.every(({ destroyed }) => destroyed)
  }

  ask(what: Asking, asked: Asked): HttpLine {
    const { context, plan, http } = this.#parts
    const speaks = plan.revision !== '2025-03-26' && (this.session !== undefined || !http.session)
    const request = { ...what, session: this.session, revision: speaks ? plan.revision : undefined }
    const line = this.send(requestText(request, http, this.random), asked)
    // The proxy must give up a body whose end does not come.
    if (what.isCut === true)
      context.clock.after(HALF_BODY_MS, () => {
        if (line.carries(asked) && !this.wasPaused)
          context.ledger.fail('late', `half a body of ${plan.name} is still waited for`)
      })
    return line
  }

  send(text: string, asked: Asked): HttpLine {
    const line = [...this.#lines].find(({ idle }) => idle) ?? new HttpLine(this)
    this.#lines.add(line)
    line.ask(text, asked)
    return line
  }

  /** Runs later if the front still listens. If the client has ended, `never` runs instead. */
  later(run: () => void, never: () => void = () => {}): void {
    const delayMs = this.random.next() * this.#parts.http.againMs
    this.#parts.context.clock.after(delayMs, () => {
      if (this.isOver) never()
      else if (this.#parts.front.listening) run()
    })
  }

  read(on: boolean): void {
    this.#isPaused = !on
    this.wasPaused ||= !on
    for (const { socket } of this.#lines) socket.reads(on)
  }

  /** Loses most of the connections, and busy ones more often than idle ones. */
  cut(random: Random): void {
    this.isCutting = true
    for (const line of this.#lines)
      if (random.chance(line.idle ? 0.2 : 0.8)) line.cut(random.pick(['reset', 'close']))
    this.isCutting = false
  }

  /** Closes the idle connections that the client does not keep. */
  closeIdle(): void {
    const idle = [...this.#lines].filter((line) => line.idle)
    for (const line of idle.slice(this.isOver ? 0 : this.#parts.http.idleMax)) line.cut('close')
  }

  leave(how: 'reset' | 'close'): void {
    for (const line of this.#lines) line.cut(how)
  }

  bad(what: string): void {
    this.#parts.context.ledger.fail('bad-line', `${this.#parts.plan.name}: ${what}`)
  }

  connect(script: SocketScript): SimSocket {
    const socket = this.#connect(script, this.#sockets.length + 1)
    this.#sockets.push(socket)
    if (this.#isPaused) socket.reads(false)
    return socket
  }

  closed(line: HttpLine): void {
    this.#lines.delete(line)
  }
}

export class HttpLine implements SocketScript {
  readonly socket: SimSocket
  readonly #owner: HttpRequests
  readonly #reader: HttpReader
  #asked: Asked | undefined
  #isLast = false
  #isOver = false

  constructor(owner: HttpRequests) {
    this.#owner = owner
    this.#reader = new HttpReader({
      head: ({ first, headers }) => this.#head(first, headers),
      body: (bytes, upTo) => this.#asked?.body?.(bytes, upTo),
      whole: () => this.#whole(),
      over: () => this.#over(),
    })
    this.socket = owner.connect(this)
  }

  get idle(): boolean {
    return this.#asked === undefined && !this.#isLast && !this.#isOver
  }

  carries(asked: Asked): boolean {
    return this.#asked === asked
  }

  ask(text: string, asked: Asked): void {
    this.#asked = asked
    this.socket.say(text, () => asked.arrived?.())
  }

  /** Ends the connection from the client's side, with RST or FIN. */
  cut(how: 'reset' | 'close'): void {
    if (this.#isOver) return
    if (how === 'reset') this.socket.reset()
    else this.socket.finish()
    this.#over()
  }

  wrote(): void {
    this.#asked?.answering?.()
  }

  bytes(chunk: Buffer): void {
    if (!this.#isOver) this.#reader.bytes(chunk)
  }

  end(): void {
    this.#reader.end()
  }

  #head(first: string, headers: ReadonlyMap<string, string>): void {
    const status = Number(/^HTTP\/1\.1 ([2-5]\d\d) /.exec(first)?.[1])
    if (Number.isNaN(status)) return this.#owner.bad(first)
    if (this.#asked === undefined) return this.#owner.bad(`${this.socket.name} is answered and has not asked`)
    this.#isLast ||= headers.get('connection') === 'close'
    this.#asked.head(status, headers)
  }

  #whole(): void {
    const asked = this.#asked
    this.#asked = undefined
    asked?.whole?.()
    if (this.#isLast) this.#over()
  }

  #over(): void {
    if (this.#isOver) return
    this.#isOver = true
    if (!this.socket.destroyed) this.socket.finish()
    const asked = this.#asked
    this.#asked = undefined
    this.#owner.closed(this)
    asked?.gone?.()
  }
}
