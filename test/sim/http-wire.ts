// A client that comes over Streamable HTTP.
//
// Every message travels alone and may overtake another. Who loses a connection has
// cancelled nothing; what was said on it is lost, unless it can be resumed.

import type { AnswerHead } from './answer-reader.js'
import type { ClientInbox } from './client-inbox.js'
import type { ClientWire, Said } from './client-wire.js'
import type { ToldEvent } from './event-reader.js'
import { HttpRequests, type Asking, type HttpRequestsParts } from './http-requests.js'
import {
  type Answer,
  Response,
  type ResponseOwner,
  type ClientExchange,
  answering,
  arrived,
  deaf,
  entriesOf,
  excuse,
  newExchange,
  release,
} from './client-exchange.js'
import { isGarbage, mayRefuse, refuse } from './http-refusals.js'
import type { Entry } from './ledger.js'
import type { HttpLine } from './http-line.js'
import type { Random } from './random.js'

/** Connections, a session perhaps, and what is told on them. */
export class HttpWire implements ClientWire, ResponseOwner {
  readonly answering: (exchange: ClientExchange) => void = answering
  readonly #parts: HttpRequestsParts
  readonly #random: Random
  readonly #requests: HttpRequests
  readonly #exchanges = new Set<ClientExchange>()
  readonly #aside: ClientExchange
  readonly #ids = new Set<string>()
  #inbox: ClientInbox | undefined
  #count = 0
  /** The client loses its connections at this moment. */
  #isCutting = false
  #isListening = false

  constructor(parts: HttpRequestsParts) {
    const { context, plan } = parts
    this.#parts = parts
    this.#random = context.dice(`${plan.name} http`)
    this.#aside = newExchange(`${plan.name}/aside`, undefined)
    this.#requests = new HttpRequests(parts)
  }

  get speaks(): boolean {
    return !this.#requests.isOver
  }

  get hears(): boolean {
    return this.#isListening
  }

  get backlogBytes(): number {
    return this.#requests.lines.backlogBytes
  }

  get released(): boolean {
    return this.#requests.lines.released
  }

  get session(): string | undefined {
    return this.#requests.session
  }

  start(inbox: ClientInbox): void {
    this.#inbox = inbox
  }

  send(said: Said): void {
    // A client that goes before its session has begun says nothing of what it still wanted.
    if (this.#parts.http.session && this.#requests.session === undefined && this.#count > 0)
      return said.entries.forEach((entry) => (entry.excused = true))
    const exchange = newExchange(`${this.#parts.plan.name}/${++this.#count}`, said)
    this.#exchanges.add(exchange)
    const isCut = isGarbage(said) && this.#random.chance(0.5)
    this.#ask(exchange, { method: 'POST', body: said.text, isCut })
  }

  taken(entry: Entry): number | undefined {
    const exchange = [...this.#exchanges].find((each) => entriesOf(each).includes(entry))
    // What was kept of a lost stream was said before, and comes once the proxy has read the request for it.
    if (exchange === undefined || exchange.isResumed !== exchange.isReplayed) return undefined
    // What one instance has read another one learns later.
    if (this.#parts.ledger.isSeveral) return undefined
    const socket = exchange.line?.socket
    return socket?.writableLength === 0 ? socket.taken : undefined
  }

  read(on: boolean): void {
    this.#requests.lines.read(on)
  }

  finish(): void {
    this.#requests.isOver = true
    if (this.#requests.session === undefined) return this.#requests.closeIdle()
    release(this.#inbox)
    this.#ask(newExchange(`${this.#parts.plan.name}/end`, undefined), { method: 'DELETE' })
  }

  vanish(): void {
    this.#requests.isOver = true
    this.#requests.lines.leave(this.#random.pick(['reset', 'close']))
  }

  cut(): void {
    if (this.#parts.http.session && this.#requests.session === undefined) return
    this.#isCutting = true
    this.#requests.lines.cut(this.#random)
    this.#isCutting = false
  }

  arrived(exchange: ClientExchange): void {
    const { http, front } = this.#parts
    arrived(exchange, () => (http.session ? front.next() : Infinity))
    if (exchange.said !== undefined && !http.accept.includes('event-stream')) deaf(exchange.said)
  }

  head({ status, headers }: AnswerHead, exchange: ClientExchange): void {
    const id = headers.get('mcp-session-id')
    if (exchange === this.#aside) this.#isListening = status === 200
    if (this.#requests.session !== undefined || id === undefined) return
    this.#requests.session = id
    this.#requests.later(() => this.#listen())
  }

  event({ id, data, upTo }: ToldEvent, exchange: ClientExchange): void {
    if (id !== undefined) exchange.lastId = id
    if (data === '') return
    // Instances give ids of their own.
    const mayRepeat = this.#parts.ledger.isSeveral && id?.includes('.') !== true
    if (id !== undefined && this.#ids.has(id) && !mayRepeat)
      this.#parts.ledger.fail('event-twice', `${this.#parts.plan.name} was told ${id} again: ${data}`)
    if (id !== undefined) this.#ids.add(id)
    this.#told(data, upTo, exchange)
  }

  answered(answer: Answer, exchange: ClientExchange): void {
    this.#exchanges.delete(exchange)
    if (answer.status === 404) this.#forgotten(answer, exchange)
    else if (exchange.said === undefined || exchange.isResumed) this.#otherwise(answer, exchange)
    else this.#answered(answer, exchange)
    this.#requests.closeIdle()
  }

  ended(exchange: ClientExchange): void {
    this.#exchanges.delete(exchange)
    if (exchange === this.#aside) {
      this.#isListening = false
      this.#requests.later(() => this.#listen())
    } else if (this.#asksAgain(exchange) && entriesOf(exchange).some(({ answers }) => answers.length === 0)) {
      exchange.lostResumes = Math.max(0, exchange.lostResumes - 1)
      this.#requests.later(() => this.#resume(exchange))
    }
    this.#requests.closeIdle()
  }

  /** An instance that ends also ends a stream that it has from another one. */
  #asksAgain({ lostResumes, isResumed }: ClientExchange): boolean {
    return lostResumes > 0 || (isResumed && this.#parts.ledger.isUnsettled)
  }

  lost(exchange: ClientExchange, line: HttpLine | undefined): void {
    const { front, http, ledger } = this.#parts
    // A stream of another instance ends with that one, or with the way to it.
    const isEnding = front.isEnding(line?.socket) || ledger.isUnsettled
    if (exchange === this.#aside) this.#isListening = false
    for (const entry of entriesOf(exchange)) entry.untimed = true
    const isOwn = this.#isCutting
    if (!this.#requests.isOver && front.listening) {
      if (exchange === this.#aside) return this.#requests.later(() => this.#listen())
      const { said, heard } = exchange
      // What nobody has got can be sent again; requests that it has lost itself a client gives up.
      if (said !== undefined && !heard && !(isOwn && said.entries.length > 0))
        return this.#requests.later(
          () => this.#ask(exchange, { method: 'POST', body: said.text }),
          () => excuse(exchange),
        )
      if (exchange.lastId !== undefined && http.resumes) {
        if (exchange.isResumed) exchange.lostResumes++
        return this.#requests.later(() => this.#resume(exchange))
      }
    }
    this.#exchanges.delete(exchange)
    const isExcused = isOwn || isEnding || this.#requests.lines.wasPaused || !exchange.heard
    if (isExcused || exchange.isResumed) excuse(exchange)
    if (http.session && this.#count === 1) this.#gone()
  }

  #told(text: string, upTo: number, exchange: ClientExchange): void {
    const answers = (entry: Entry): boolean => entriesOf(exchange).includes(entry)
    // An answer to a batch may have been there before its cancel, and have waited for the others.
    const place = { stream: exchange.name, upTo: entriesOf(exchange).length > 1 ? 0 : upTo }
    this.#inbox?.told(text, { ...place, answers })
  }

  #answered(answer: Answer, exchange: ClientExchange): void {
    const { status, text, upTo } = answer
    const { said } = exchange
    const entries = entriesOf(exchange)
    if (status === 200 && entries.length > 0) return this.#told(text, upTo, exchange)
    if (status === 202) return
    refuse(exchange, answer, this.#parts, this.#inbox)
    if (this.#requests.session === undefined && this.#parts.http.session) return this.#gone()
    if (entries.length > 0 || this.#requests.isOver || mayRefuse(said, answer, this.#parts)) return
    this.#requests.bad(`${said?.text} was answered with ${status} ${text}`)
  }

  /** There is no rest to be had, or not yet. */
  #otherwise({ status, text }: Answer, exchange: ClientExchange): void {
    if (exchange === this.#aside) this.#isListening = false
    if (this.#requests.isOver) return this.#ended(status)
    const { front, http, ledger } = this.#parts
    if (status === 409 || (status === 503 && ledger.isDisturbed))
      return this.#requests.later(() => (exchange === this.#aside ? this.#listen() : this.#resume(exchange)))
    if (status === 204 && entriesOf(exchange).every(isOver)) return
    excuse(exchange)
    // Without the answer to its `initialize` it has nothing more to say.
    if (http.session && this.#count === 1) this.#gone()
    const mayForget = front.forgets || ledger.isDisturbed
    if (status === 503 ? front.listening : status !== 400 || !mayForget)
      this.#requests.bad(`${exchange.name} was answered with ${status} ${text}`)
  }

  /** The session is ended, and everything in it. */
  #ended(status: number): void {
    const isGone = status === 200
    const { session } = this.#requests
    if (isGone && session !== undefined) this.#parts.ledger.endedSession(this.#parts.plan, session)
    for (const { entry } of this.#inbox?.waiting ?? [])
      if (isGone && entry.heardAt !== undefined) this.#parts.ledger.givenUp(entry)
    this.#requests.lines.leave('close')
  }

  /** The proxy does not know the session any more. */
  #forgotten({ text }: Answer, exchange: ClientExchange): void {
    const mayForget = this.#parts.front.mayForget(this.#requests.session)
    if (mayForget) release(this.#inbox)
    if (!mayForget && !this.#requests.lines.wasPaused && !this.#requests.isOver)
      this.#parts.ledger.fail('session-lost', `${this.#parts.plan.name} asked for ${exchange.name}: ${text}`)
    for (const entry of entriesOf(exchange)) {
      entry.mustSucceed = false
      this.#inbox?.refused(entry, text)
    }
    this.#gone()
  }

  #gone(): void {
    this.#requests.isOver = true
    this.#inbox?.gone()
    this.#requests.lines.leave('close')
  }

  #listen(): void {
    if (!this.#parts.http.listens || this.#aside.line !== undefined) return
    const { lastId } = this.#aside
    this.#ask(this.#aside, { method: 'GET', lastId: this.#parts.http.resumes ? lastId : undefined })
  }

  /** On one connection at a time: the rest goes to whoever has asked last, though that one may be lost by then. */
  #resume(exchange: ClientExchange): void {
    if (exchange.line !== undefined) return
    exchange.isResumed = true
    exchange.isReplayed = false
    this.#exchanges.add(exchange)
    // Positions on one connection say nothing about another.
    for (const entry of entriesOf(exchange)) entry.silentFrom = undefined
    this.#ask(exchange, { method: 'GET', lastId: exchange.lastId })
  }

  #ask(exchange: ClientExchange, what: Asking): void {
    exchange.line = this.#requests.ask(what, new Response(this, exchange, this.#parts.context))
  }
}

/** Whether the stream of a request may have ended with all that its client gets. */
function isOver({ cancelledAt, answers }: Entry): boolean {
  return cancelledAt !== undefined || answers.length > 0
}
