import type { SimContext } from './byte-flow.js'
import { HttpReader, type HttpHead, chunked, headOf } from './http-reader.js'
import { parse, rawId, textAt } from './json.js'
import type { FaultName } from './matrix.js'
import type { Random } from './random.js'
import { namedIn, revisionIn } from './request-meta.js'
import { type Milestone, Script, type ScriptHost } from './script.js'
import type { ServerFacts, SimServer } from './server.js'
import { type Connecting, SimSocket } from './socket.js'

const PAGE = '<html><body>It does not work.</body></html>'
const HTML = ['Content-Type: text/html']
const NO_DNS = { kind: 'fails', code: 'ENOTFOUND', message: 'getaddrinfo ENOTFOUND sim' } as const

export class HttpServer implements SimServer {
  readonly facts: ServerFacts
  onMilestone: (milestone: Milestone) => void = () => {}
  readonly context: SimContext
  readonly #sessions = new Map<string, HttpSession>()
  readonly #sockets = new Set<SimSocket>()
  #opened = 0
  #dialed = 0
  #connecting: Connecting = { kind: 'connects' }
  /** Answers for the next requests. */
  #refusals: { readonly status: number; readonly headers: readonly string[] }[] = []

  /** The other faults belong to processes, or to the proxy. */
  readonly #strikes: Readonly<Partial<Record<FaultName, (random: Random) => void>>> = {
    'rst-before-headers': () => this.#each((session) => session.cut('before-headers')),
    'rst-mid-headers': () => this.#each((session) => session.cut('mid-headers')),
    'rst-mid-body': () => this.#each((session) => session.cut('mid-body')),
    'rst-mid-event': () => this.#each((session) => session.cut('mid-event')),
    'http-404': () => this.#forget(),
    'http-429': (random) =>
      this.#refuseNext(random, 429, random.chance(0.5) ? [`Retry-After: ${random.int(0, 3)}`] : []),
    'http-502': (random) => {
      this.#each((session) => session.refuse(502, HTML, PAGE))
      this.#refuseNext(random, 502, HTML)
    },
    'tls-failure': () => this.#cutOff({ kind: 'fails-tls' }),
    'dns-failure': () => this.#cutOff(NO_DNS),
  }

  constructor(context: SimContext, facts: ServerFacts) {
    this.facts = facts
    this.context = context
  }

  get scripts(): Script[] {
    return [...this.#sessions.values()].map(({ script }) => script)
  }

  get sockets(): SimSocket[] {
    return [...this.#sockets].filter((socket) => !socket.destroyed)
  }

  get unread(): number {
    return this.sockets.reduce((sum, { unread }) => sum + unread, 0)
  }

  get unheard(): number {
    return this.sockets.reduce((sum, { unheard }) => sum + unheard, 0)
  }

  connect(isTls: boolean): SimSocket {
    const { plan } = this.facts
    const name = `${plan.name}:${++this.#dialed}`
    let exchange: SimExchange | undefined
    const reader = new HttpReader({
      head: (head) => (exchange = new SimExchange(socket, head)),
      body: (bytes) => exchange?.add(bytes),
      whole: () => exchange && this.#requested(exchange),
      over: () => {
        this.#sockets.delete(socket)
        this.#each((session) => session.hungUp(socket))
      },
    })
    const shape = { sent: plan.stdout, received: plan.stdout, lingers: false }
    const socket: SimSocket = new SimSocket(this.context, name, shape, reader)
    this.#sockets.add(socket)
    socket.connect(this.#connecting, isTls, this.context.dice(name).next() * 20)
    this.context.clock.after(0, () => this.onMilestone('started'))
    return socket
  }

  strike(fault: FaultName, random: Random): void {
    this.facts.struck = true
    this.#strikes[fault]?.(random)
  }

  mend(): void {
    this.#connecting = { kind: 'connects' }
    this.#refusals = []
    this.facts.mend()
    this.#each((session) => session.mend())
    for (const socket of this.#sockets) socket.reads(true)
  }

  /** The program ends and starts again immediately, without its sessions. */
  crash(): void {
    this.#forget()
    for (const socket of this.#sockets) socket.reset()
  }

  #each(run: (session: HttpSession) => void): void {
    for (const session of this.#sessions.values()) run(session)
  }

  #forget(): void {
    this.#each((session) => session.end())
    this.#sessions.clear()
  }

  #refuseNext(random: Random, status: number, headers: readonly string[]): void {
    for (let count = random.int(1, 3); count > 0; count--) this.#refusals.push({ status, headers })
  }

  #cutOff(connecting: Connecting): void {
    this.#connecting = connecting
    for (const socket of this.#sockets) socket.reset()
  }

  #requested(exchange: SimExchange): void {
    const { method } = exchange
    const { isStateless, standalone } = this.facts.plan
    const refusal = this.#refusals.shift()
    if (refusal !== undefined) return exchange.respond(refusal.status, refusal.headers, PAGE)
    if (isStateless === true)
      return method === 'POST' ? this.#requestedAlone(exchange) : exchange.respond(405, [], '')
    const id = exchange.headers.get('mcp-session-id')
    const session = id === undefined ? undefined : this.#sessions.get(id)
    if (id === undefined) {
      if (textAt(parse(exchange.body), 'method') === 'initialize') this.#newSession().take(exchange)
      else exchange.respond(400, [], 'no session')
    } else if (session === undefined) exchange.respond(404, [], 'no such session')
    else if (method === 'POST') session.take(exchange)
    else if (method === 'GET') {
      if (standalone) session.listen(exchange)
      else exchange.respond(405, [], '')
    } else {
      this.#sessions.delete(id)
      session.end()
      exchange.respond(200, [], '')
    }
  }

  /** Requests without a session are independent, and their ids may be equal. */
  #requestedAlone(exchange: SimExchange): void {
    const fault = mirrorFault(exchange)
    if (fault !== undefined) this.context.ledger.fail('wrong-era', `${this.facts.plan.name}: ${fault}`)
    for (const [name, session] of this.#sessions) if (session.isDone) this.#sessions.delete(name)
    this.#newSession().take(exchange)
  }

  #newSession(): HttpSession {
    const name = `${this.facts.plan.name}~${++this.#opened}`
    const session = new HttpSession(name, this)
    this.#sessions.set(name, session)
    return session
  }
}

/** A header field that does not match the message (MCP 2026-07-28, Streamable HTTP). */
function mirrorFault({ headers, body }: SimExchange): string | undefined {
  const message = parse(body)
  const method = textAt(message, 'method')
  if (method === 'initialize') return undefined
  const wanted = [
    ['mcp-protocol-version', revisionIn(message)],
    ['mcp-method', method],
    ['mcp-name', namedIn(method ?? '', message)],
    ['mcp-session-id', undefined],
  ] as const
  const wrong = wanted.find(([field, value]) => headers.get(field) !== value)
  return wrong && `${wrong[0]} is ${headers.get(wrong[0])}, not ${wrong[1]}: ${body}`
}

type Cut = 'before-headers' | 'mid-headers' | 'mid-body' | 'mid-event'

class HttpSession implements ScriptHost {
  readonly name: string
  readonly facts: ServerFacts
  readonly context: SimContext
  readonly script: Script
  readonly #server: HttpServer
  readonly #exchanges = new Map<string, SimExchange>()
  /** Requests whose responses were cut. Their messages are lost, since no other stream may carry them. */
  readonly #lost = new Set<string>()
  #stream: SimExchange | undefined
  #nextCut: Cut | undefined
  stays = true

  constructor(name: string, server: HttpServer) {
    this.name = name
    this.facts = server.facts
    this.context = server.context
    this.#server = server
    this.script = new Script(this)
  }

  after(delayMs: number, run: () => void): void {
    this.context.clock.after(delayMs, () => {
      if (this.stays) run()
    })
  }

  /** A message about a request uses the response of that request, if it can carry more than one message. */
  say(text: string, about?: string): boolean {
    if (about !== undefined && this.#lost.has(about)) return false
    const exchange = about === undefined ? undefined : this.#exchanges.get(about)
    const isAnswer = textAt(parse(text), 'method') === undefined
    if (exchange !== undefined && about !== undefined && isAnswer) this.#answer(exchange, about, text)
    else if (exchange !== undefined && (this.facts.plan.events || exchange.isEndless))
      exchange.event([], text)
    else if (this.#stream !== undefined && !this.#stream.done) this.#stream.event([], text)
    else return false
    return true
  }

  sayHalf(text: string, about = ''): void {
    const exchange = this.#exchanges.get(about)
    if (exchange !== undefined) this.#cutOne(about, exchange, 'mid-body', text)
  }

  exit(): void {
    this.#server.crash()
  }

  reached(milestone: Milestone): void {
    this.#server.onMilestone(milestone)
  }

  junk(): void {
    this.#stream?.event([], 'INFO this is a log')
  }

  take(exchange: SimExchange): void {
    const id = rawId(exchange.body)
    if (textAt(parse(exchange.body), 'method') !== undefined && id !== undefined) {
      this.#lost.delete(id)
      this.#exchanges.set(id, exchange)
    } else exchange.respond(202, [], '')
    this.script.receive(exchange.body)
  }

  /** The proxy has closed a connection. */
  hungUp(socket: SimSocket): void {
    for (const [id, exchange] of this.#exchanges) {
      if (exchange.socket !== socket || exchange.isOver) continue
      this.#exchanges.delete(id)
      this.script.left(id)
    }
  }

  /** All requests have been answered or closed. */
  get isDone(): boolean {
    return [...this.#exchanges.values()].every(({ isOver }) => isOver)
  }

  /** The stream for messages outside of requests. */
  listen(exchange: SimExchange): void {
    this.#stream?.finish()
    this.#stream = exchange
    exchange.open([])
  }

  cut(how: Cut): void {
    const open = this.#open()
    if (open.length === 0) this.#nextCut = how
    for (const [id, exchange] of open) this.#cutOne(id, exchange, how, 'half a message')
  }

  /** Answers all requests whose responses have not begun. */
  refuse(status: number, headers: readonly string[], body: string): void {
    for (const [id, exchange] of this.#open()) {
      if (!exchange.fresh) continue
      this.#lose(id)
      exchange.respond(status, headers, body)
    }
  }

  mend(): void {
    this.#nextCut = undefined
    this.script.mend()
  }

  /** The server forgets the session. Its open requests are never answered. */
  end(): void {
    this.stays = false
    this.#stream?.finish()
    for (const [id, exchange] of this.#open()) this.#cutOne(id, exchange, 'before-headers', '')
  }

  #open(): [string, SimExchange][] {
    return [...this.#exchanges].filter(([, exchange]) => !exchange.done)
  }

  #lose(id: string): void {
    this.#exchanges.delete(id)
    this.#lost.add(id)
  }

  #cutOne(id: string, exchange: SimExchange, how: Cut, text: string): void {
    this.#lose(id)
    const half = text.slice(0, text.length / 2)
    const isEvent = how === 'mid-event'
    if (isEvent) exchange.open([])
    if (!exchange.fresh) return exchange.cut(isEvent ? chunked(`data: ${half}`) : '')
    if (how === 'mid-headers') return exchange.cut('HTTP/1.1 200 OK\r\nContent-Ty')
    const head = headOf(200, ['Content-Type: application/json', 'Content-Length: 9999'])
    exchange.cut(how === 'mid-body' ? `${head}${half}` : '')
  }

  #answer(exchange: SimExchange, id: string, text: string): void {
    const cut = this.#nextCut
    this.#nextCut = undefined
    if (cut !== undefined) return this.#cutOne(id, exchange, cut, text)
    this.#exchanges.delete(id)
    const { events, isStateless } = this.facts.plan
    const opens = isStateless !== true && text.includes('"protocolVersion"')
    const headers = opens ? [`Mcp-Session-Id: ${this.name}`] : []
    if (!events) return exchange.respond(200, [...headers, 'Content-Type: application/json'], text)
    exchange.event(headers, text)
    exchange.finish()
  }
}

class SimExchange {
  readonly method: string
  readonly headers: ReadonlyMap<string, string>
  readonly socket: SimSocket
  readonly #pieces: Buffer[] = []
  #stage: 'open' | 'streaming' | 'done' = 'open'

  constructor(socket: SimSocket, { first, headers }: HttpHead) {
    this.socket = socket
    this.method = first.split(' ')[0] ?? ''
    this.headers = headers
  }

  add(bytes: Buffer): void {
    this.#pieces.push(bytes)
  }

  get body(): string {
    return Buffer.concat(this.#pieces).toString()
  }

  /** The response stays open until the client closes it. */
  get isEndless(): boolean {
    return this.body.includes('"method":"subscriptions/listen"')
  }

  get fresh(): boolean {
    return this.#stage === 'open'
  }

  get done(): boolean {
    return this.isOver || this.socket.destroyed
  }

  /** The server has sent all of the response. */
  get isOver(): boolean {
    return this.#stage === 'done'
  }

  respond(status: number, headers: readonly string[], body: string): void {
    this.#end(`${headOf(status, [...headers, `Content-Length: ${Buffer.byteLength(body)}`])}${body}`)
  }

  /** Adds an event, and opens the stream if necessary. */
  event(headers: readonly string[], data: string): void {
    this.open(headers)
    if (!this.done) this.socket.say(chunked(`data: ${data}\n\n`))
  }

  open(headers: readonly string[]): void {
    if (!this.fresh || this.done) return
    this.#stage = 'streaming'
    const all = [...headers, 'Content-Type: text/event-stream', 'Transfer-Encoding: chunked']
    this.socket.say(headOf(200, all))
  }

  finish(): void {
    this.#end('0\r\n\r\n')
  }

  /** Writes these bytes and cuts the connection behind them. */
  cut(bytes: string): void {
    if (this.#end(bytes)) this.socket.resetBehind()
  }

  #end(bytes: string): boolean {
    if (this.done) return false
    this.#stage = 'done'
    this.socket.say(bytes)
    return true
  }
}
