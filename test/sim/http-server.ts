// A scripted server that is reached over Streamable HTTP.

import type { FaultName } from './matrix.js'
import type { Milestone } from './script-host.js'
import type { ServerScript } from './server-script.js'
import type { SimContext } from './byte-flow.js'
import { RequestReader, SimExchange } from './http-exchange.js'
import { HttpSession } from './http-session.js'
import { revisionIn } from './request-meta.js'
import { parse, textAt } from './json.js'
import type { Ledger } from './ledger.js'
import type { Random } from './random.js'
import type { ServerFacts } from './server-facts.js'
import type { SimServer } from './server.js'
import { type Connecting, SimSocket } from './socket.js'

/** Its connections and sessions, and the faults between them and the proxy. */
export class HttpServer implements SimServer {
  readonly facts: ServerFacts
  onMilestone: (milestone: Milestone, instance: string) => void = () => {}
  readonly #context: SimContext
  readonly #ledger: Ledger
  readonly #sessions = new Map<string, HttpSession>()
  readonly #sockets = new Set<SimSocket>()
  #opened = 0
  #dialed = 0
  #connecting: Connecting = { kind: 'connects' }
  /** The next requests are refused so. */
  #refusals: Refusal[] = []

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
      this.#each((session) => session.refuse(502, ['Content-Type: text/html'], PAGE))
      this.#refuseNext(random, 502, ['Content-Type: text/html'])
    },
    'tls-failure': () => this.#cutOff({ kind: 'fails-tls' }),
    'dns-failure': () =>
      this.#cutOff({ kind: 'fails', code: 'ENOTFOUND', message: 'getaddrinfo ENOTFOUND sim' }),
  }

  constructor(context: SimContext, facts: ServerFacts, ledger: Ledger) {
    this.facts = facts
    this.#context = context
    this.#ledger = ledger
  }

  get scripts(): ServerScript[] {
    return [...this.#sessions.values()].map(({ script }) => script)
  }

  /** Connections that are open or being made. */
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
    const reader = new RequestReader(
      (head, body) => this.#requested(new SimExchange(socket, head, body)),
      () => {
        this.#sockets.delete(socket)
        this.#each((session) => session.hungUp(socket))
      },
    )
    const shape = { sent: plan.stdout, received: plan.stdout, lingers: false }
    const socket: SimSocket = new SimSocket(this.#context, name, shape, reader)
    this.#sockets.add(socket)
    socket.connect(this.#connecting, isTls, this.#context.dice(name).next() * 20)
    this.#context.clock.after(0, () => this.onMilestone('started', name))
    return socket
  }

  strike(fault: FaultName, random: Random): void {
    this.facts.struck = true
    this.#strikes[fault]?.(random)
  }

  mend(): void {
    this.#connecting = { kind: 'connects' }
    this.#refusals = []
    this.facts.holdsInitialize = false
    this.facts.refusesLists = false
    this.#each((session) => session.mend())
    for (const socket of this.#sockets) socket.reads(true)
  }

  #each(run: (session: HttpSession) => void): void {
    for (const session of this.#sessions.values()) run(session)
  }

  #forget(): void {
    this.#each((session) => session.end())
    this.#sessions.clear()
  }

  /** It is started again at once, and knows of nobody. */
  #crash(): void {
    this.#forget()
    for (const socket of this.#sockets) socket.reset()
  }

  #refuseNext(random: Random, status: number, headers: readonly string[]): void {
    for (let count = random.int(1, 3); count > 0; count--) this.#refusals.push({ status, headers })
  }

  #cutOff(connecting: Connecting): void {
    this.#connecting = connecting
    for (const socket of this.#sockets) socket.reset()
  }

  #requested(exchange: SimExchange): void {
    const refusal = this.#refusals.shift()
    if (refusal !== undefined) return exchange.respond(refusal.status, refusal.headers, PAGE)
    if (this.facts.plan.isStateless === true) return this.#requestedAlone(exchange)
    const id = exchange.headers.get('mcp-session-id')
    if (id === undefined) return this.#open(exchange)
    const session = this.#sessions.get(id)
    if (session === undefined) return exchange.respond(404, [], 'no such session')
    switch (exchange.method) {
      case 'POST':
        return session.take(exchange)
      case 'GET':
        return this.facts.plan.standalone ? session.listen(exchange) : exchange.respond(405, [], '')
      default:
        this.#sessions.delete(id)
        session.end()
        return exchange.respond(200, [], '')
    }
  }

  #open(exchange: SimExchange): void {
    if (textAt(parse(exchange.body), 'method') !== 'initialize')
      return exchange.respond(400, [], 'no session')
    this.#newSession().take(exchange)
  }

  /** Each request stands for itself, and may have the id of another one. */
  #requestedAlone(exchange: SimExchange): void {
    if (exchange.method !== 'POST') return exchange.respond(405, [], '')
    const fault = mirrorFault(exchange)
    if (fault !== undefined) this.#ledger.fail('wrong-era', `${this.facts.plan.name}: ${fault}`)
    for (const [name, session] of this.#sessions) if (session.isDone) this.#sessions.delete(name)
    this.#newSession().take(exchange)
  }

  #newSession(): HttpSession {
    const session = new HttpSession(`${this.facts.plan.name}~${++this.#opened}`, {
      context: this.#context,
      facts: this.facts,
      ledger: this.#ledger,
      reached: (milestone, name) => this.onMilestone(milestone, name),
      exited: () => this.#crash(),
    })
    this.#sessions.set(session.name, session)
    return session
  }
}

/** What header fields say otherwise than the message, where they have to repeat it (MCP 2026-07-28, Streamable HTTP). */
function mirrorFault({ headers, body }: SimExchange): string | undefined {
  const message = parse(body)
  const method = textAt(message, 'method')
  if (method === 'initialize') return undefined
  const name =
    method === 'tools/call' || method === 'prompts/get'
      ? textAt(message, 'params', 'name')
      : method === 'resources/read'
        ? textAt(message, 'params', 'uri')
        : undefined
  const wanted = [
    ['mcp-protocol-version', revisionIn(message)],
    ['mcp-method', method],
    ['mcp-name', name],
    ['mcp-session-id', undefined],
  ] as const
  const wrong = wanted.find(([field, value]) => headers.get(field) !== value)
  return wrong && `${wrong[0]} is ${headers.get(wrong[0])}, not ${wrong[1]}: ${body}`
}

interface Refusal {
  readonly status: number
  readonly headers: readonly string[]
}

const PAGE = '<html><body>It does not work.</body></html>'
