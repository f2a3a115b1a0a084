// One MCP session of a scripted server over HTTP.

import type { ScriptHost, Milestone } from './script-host.js'
import type { ServerScript } from './server-script.js'
import { scriptOf } from './script-of.js'
import type { SimContext } from './byte-flow.js'
import type { SimExchange } from './http-exchange.js'
import { chunked, headOf } from './http-exchange.js'
import { parse, rawId, textAt } from './json.js'
import type { Ledger } from './ledger.js'
import type { ServerFacts } from './server-facts.js'
import type { SimSocket } from './socket.js'

/** What a session gets from its server. */
export interface SessionContext {
  readonly context: SimContext
  readonly facts: ServerFacts
  readonly ledger: Ledger
  readonly reached: (milestone: Milestone, name: string) => void
  /** The program that has all sessions has ended. */
  readonly exited: () => void
}

/** Where a response is cut. */
export type Cut = 'before-headers' | 'mid-headers' | 'mid-body' | 'mid-event'

/** Its script, and the exchanges that carry what it says. */
export class HttpSession {
  readonly name: string
  readonly script: ServerScript
  readonly #parts: SessionContext
  readonly #exchanges = new Map<string, SimExchange>()
  /** Requests whose responses were cut: what belongs to them is lost, since no other stream may carry it. */
  readonly #lost = new Set<string>()
  #stream: SimExchange | undefined
  #over = false
  /** The next response that leaves is cut. */
  #nextCut: Cut | undefined

  constructor(name: string, parts: SessionContext) {
    this.name = name
    this.#parts = parts
    this.script = scriptOf(this.#scriptHost(), parts.facts, parts.ledger, parts.context)
  }

  /** Takes a message that was posted. */
  take(exchange: SimExchange): void {
    const message = parse(exchange.body)
    const id = rawId(exchange.body)
    const asks = textAt(message, 'method') !== undefined && id !== undefined
    if (asks) {
      this.#lost.delete(id)
      this.#exchanges.set(id, exchange)
    } else exchange.respond(202, [], '')
    this.script.receive(exchange.body)
  }

  /** Nobody listens on a connection any more. */
  hungUp(socket: SimSocket): void {
    for (const [id, exchange] of this.#exchanges) {
      if (exchange.socket !== socket || exchange.isOver) continue
      this.#exchanges.delete(id)
      this.script.left(id)
    }
  }

  /** What was asked is answered, or it has heard that nobody wants an answer. */
  get isDone(): boolean {
    return [...this.#exchanges.values()].every(({ isOver }) => isOver)
  }

  /** The stream on which it speaks by itself. */
  listen(exchange: SimExchange): void {
    this.#stream?.finish()
    this.#stream = exchange
    exchange.open([])
  }

  /** Cuts every response that is under way, or else the next one. */
  cut(how: Cut): void {
    const open = this.#open()
    if (open.length === 0) this.#nextCut = how
    for (const [id, exchange] of open) this.#cutOne(id, exchange, how, 'half a message')
  }

  /** Answers everything that was not begun to be answered, whatever was asked. */
  refuse(status: number, headers: readonly string[], body: string): void {
    for (const [id, exchange] of this.#open()) {
      if (!exchange.fresh) continue
      this.#lose(id)
      exchange.respond(status, headers, body)
    }
  }

  /** Nothing that was to be spoilt is. */
  mend(): void {
    this.#nextCut = undefined
    this.script.mend()
  }

  /** It is forgotten: nothing that was under way comes to an end. */
  end(): void {
    this.#over = true
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
    if (!exchange.fresh) return exchange.cut(how === 'mid-event' ? chunked(`data: ${half}`) : '')
    switch (how) {
      case 'before-headers':
        return exchange.cut('')
      case 'mid-headers':
        return exchange.cut('HTTP/1.1 200 OK\r\nContent-Ty')
      case 'mid-body':
        return exchange.cut(
          `${headOf(200, ['Content-Type: application/json', 'Content-Length: 9999'])}${half}`,
        )
      case 'mid-event':
        exchange.open([])
        return exchange.cut(chunked(`data: ${half}`))
    }
  }

  #scriptHost(): ScriptHost {
    const { context, reached, exited } = this.#parts
    const isOver = (): boolean => this.#over
    return {
      name: this.name,
      get stays() {
        return !isOver()
      },
      say: (text, about) => this.#say(text, about),
      sayHalf: (text, about) => this.#sayHalf(text, about),
      junk: () => this.#stream?.event([], 'INFO this is a log'),
      after: (delayMs, run) =>
        context.clock.after(delayMs, () => {
          if (!isOver()) run()
        }),
      exit: exited,
      reached: (milestone) => reached(milestone, this.name),
    }
  }

  #sayHalf(text: string, about: string | undefined): void {
    const exchange = this.#exchanges.get(about ?? '')
    if (exchange !== undefined) this.#cutOne(about ?? '', exchange, 'mid-body', text)
  }

  /** What belongs to a request travels on its own response, where that can carry more than one message. */
  #say(text: string, about: string | undefined): boolean {
    if (about !== undefined && this.#lost.has(about)) return false
    const exchange = about === undefined ? undefined : this.#exchanges.get(about)
    const isAnswer = textAt(parse(text), 'method') === undefined
    if (exchange !== undefined && about !== undefined && isAnswer) return this.#answer(exchange, about, text)
    if (exchange !== undefined && (this.#parts.facts.plan.events || isEndless(exchange)))
      exchange.event([], text)
    else if (this.#stream !== undefined && !this.#stream.done) this.#stream.event([], text)
    else return false
    return true
  }

  #answer(exchange: SimExchange, id: string, text: string): boolean {
    const cut = this.#nextCut
    this.#nextCut = undefined
    if (cut !== undefined) {
      this.#cutOne(id, exchange, cut, text)
      return true
    }
    this.#exchanges.delete(id)
    const { events, isStateless } = this.#parts.facts.plan
    const opens = isStateless !== true && text.includes('"protocolVersion"')
    const headers = opens ? [`Mcp-Session-Id: ${this.name}`] : []
    if (events) {
      exchange.event(headers, text)
      exchange.finish()
    } else exchange.respond(200, [...headers, 'Content-Type: application/json'], text)
    return true
  }
}

/** It is answered when nobody listens any more. */
function isEndless({ body }: SimExchange): boolean {
  return body.includes('"method":"subscriptions/listen"')
}
