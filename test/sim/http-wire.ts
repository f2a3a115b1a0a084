// A client that uses Streamable HTTP. Messages may overtake each other. Losing a connection cancels nothing, but the
// messages on it are lost unless the client resumes the stream.

import type { ClientWire, Said } from './client.js'
import { type Answer, ClientExchange, type ResponseOwner, isGarbage, release } from './client-exchange.js'
import type { ToldEvent } from './http-reader.js'
import { type HttpLine, HttpRequests, type WireParts } from './http-requests.js'
import type { Entry } from './ledger.js'
import type { Random } from './random.js'

export class HttpWire implements ClientWire, ResponseOwner {
  readonly #parts: WireParts
  readonly #random: Random
  readonly #requests: HttpRequests
  readonly #exchanges = new Set<ClientExchange>()
  readonly #aside: ClientExchange
  readonly #ids = new Set<string>()
  #count = 0
  hears = false

  constructor(parts: WireParts) {
    this.#parts = parts
    this.#random = parts.context.dice(`${parts.plan.name} http`)
    this.#aside = new ClientExchange(this, parts, 'aside')
    this.#requests = new HttpRequests(parts)
  }

  get speaks(): boolean {
    return !this.#requests.isOver
  }

  get lines(): readonly HttpRequests[] {
    return [this.#requests]
  }

  get session(): string | undefined {
    return this.#requests.session
  }

  send(said: Said): void {
    // A client that leaves before its session has begun sends nothing more.
    if (this.#isSessionless && this.#count > 0) return said.entries.forEach((entry) => (entry.excused = true))
    const exchange = new ClientExchange(this, this.#parts, ++this.#count, said)
    this.#exchanges.add(exchange)
    const isCut = isGarbage(said) && this.#random.chance(0.5)
    exchange.ask(this.#requests, { method: 'POST', body: said.text, isCut })
  }

  taken(entry: Entry): number | undefined {
    const exchange = [...this.#exchanges].find(({ entries }) => entries.includes(entry))
    // Events that were kept for a lost stream precede the cancel, but arrive when the proxy has read the resuming
    // request.
    if (exchange === undefined || exchange.isResumed !== exchange.isReplayed) return undefined
    // Other instances learn of a message later than the one that read it.
    if (this.#parts.context.ledger.isSeveral) return undefined
    const socket = exchange.line?.socket
    return socket?.writableLength === 0 ? socket.taken : undefined
  }

  finish(): void {
    this.#requests.isOver = true
    if (this.#requests.session === undefined) return this.#requests.closeIdle()
    release(this.#parts.inbox)
    new ClientExchange(this, this.#parts, 'end').ask(this.#requests, { method: 'DELETE' })
  }

  vanish(): void {
    this.#requests.isOver = true
    this.#requests.leave(this.#random.pick(['reset', 'close']))
  }

  cut(): void {
    if (!this.#isSessionless) this.#requests.cut(this.#random)
  }

  order(): number {
    return this.#parts.http.session ? this.#parts.front.next() : Infinity
  }

  head(status: number, headers: ReadonlyMap<string, string>, exchange: ClientExchange): void {
    const id = headers.get('mcp-session-id')
    if (exchange === this.#aside) this.hears = status === 200
    if (this.#requests.session !== undefined || id === undefined) return
    this.#requests.session = id
    this.#requests.later(() => this.#listen())
  }

  event({ id, data, upTo }: ToldEvent, exchange: ClientExchange): void {
    const { context, plan } = this.#parts
    if (id !== undefined) exchange.lastId = id
    if (data === '') return
    // Each instance numbers its events separately.
    const mayRepeat = context.ledger.isSeveral && id?.includes('.') !== true
    if (id !== undefined && this.#ids.has(id) && !mayRepeat)
      context.ledger.fail('event-twice', `${plan.name} was told ${id} again: ${data}`)
    if (id !== undefined) this.#ids.add(id)
    exchange.told(data, upTo)
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
    const { entries, lostResumes, isResumed } = exchange
    // An instance that ends also ends the streams that it relays from another one.
    const isBroken = lostResumes > 0 || (isResumed && this.#parts.context.ledger.isUnsettled)
    if (exchange === this.#aside) {
      this.hears = false
      this.#requests.later(() => this.#listen())
    } else if (isBroken && entries.some(({ answers }) => answers.length === 0)) {
      exchange.lostResumes = Math.max(0, lostResumes - 1)
      this.#requests.later(() => this.#resume(exchange))
    }
    this.#requests.closeIdle()
  }

  lost(exchange: ClientExchange, line: HttpLine | undefined): void {
    const { front, http, context } = this.#parts
    // The stream of another instance ends when that instance ends or becomes unreachable.
    const isEnding = front.isEnding(line?.socket) || context.ledger.isUnsettled
    if (exchange === this.#aside) this.hears = false
    for (const entry of exchange.entries) entry.untimed = true
    const isOwn = this.#requests.isCutting
    if (!this.#requests.isOver && front.listening) {
      if (exchange === this.#aside) return this.#requests.later(() => this.#listen())
      const { said, heard } = exchange
      // A request that never arrived can be sent again. The client gives up requests that it lost itself.
      if (said !== undefined && !heard && !(isOwn && said.entries.length > 0))
        return this.#requests.later(
          () => exchange.ask(this.#requests, { method: 'POST', body: said.text }),
          () => exchange.excuse(),
        )
      if (exchange.lastId !== undefined && http.resumes) {
        if (exchange.isResumed) exchange.lostResumes++
        return this.#requests.later(() => this.#resume(exchange))
      }
    }
    this.#exchanges.delete(exchange)
    const isExcused = isOwn || isEnding || this.#requests.wasPaused || !exchange.heard
    if (isExcused || exchange.isResumed) exchange.excuse()
    if (http.session && this.#count === 1) this.#gone()
  }

  get #isSessionless(): boolean {
    return this.#parts.http.session && this.#requests.session === undefined
  }

  #answered(answer: Answer, exchange: ClientExchange): void {
    const { status, text, upTo } = answer
    const isAsking = exchange.entries.length > 0
    if (status === 200 && isAsking) return exchange.told(text, upTo)
    if (status === 202) return
    exchange.refuse(answer)
    if (this.#isSessionless) return this.#gone()
    if (!isAsking && !this.#requests.isOver && !exchange.mayBeRefused(answer))
      this.#requests.bad(`${exchange.said?.text} was answered with ${status} ${text}`)
  }

  /** The stream cannot be resumed, or not yet. */
  #otherwise({ status, text }: Answer, exchange: ClientExchange): void {
    const { front, http, context } = this.#parts
    if (exchange === this.#aside) this.hears = false
    if (this.#requests.isOver) return this.#ended(status)
    if (status === 409 || (status === 503 && context.ledger.isDisturbed))
      return this.#requests.later(() => (exchange === this.#aside ? this.#listen() : this.#resume(exchange)))
    const isOver = exchange.entries.every(
      ({ cancelledAt, answers }) => cancelledAt !== undefined || answers.length > 0,
    )
    if (status === 204 && isOver) return
    exchange.excuse()
    // A client without the answer to its `initialize` cannot continue.
    if (http.session && this.#count === 1) this.#gone()
    const mayForget = front.forgets || context.ledger.isDisturbed
    if (status === 503 ? front.listening : status !== 400 || !mayForget)
      this.#requests.bad(`${exchange.name} was answered with ${status} ${text}`)
  }

  #ended(status: number): void {
    const { context, inbox, plan } = this.#parts
    const { ledger, clock } = context
    const { session } = this.#requests
    const isGone = status === 200
    if (isGone && session !== undefined) ledger.ended.push({ plan, session, at: clock.now })
    for (const { entry } of inbox.waiting) if (isGone && entry.heardAt !== undefined) ledger.givenUp(entry)
    this.#requests.leave('close')
  }

  #forgotten({ text }: Answer, exchange: ClientExchange): void {
    const { context, front, inbox, plan } = this.#parts
    const mayForget = front.mayForget(this.#requests.session)
    if (mayForget) release(inbox)
    if (!mayForget && !this.#requests.wasPaused && !this.#requests.isOver)
      context.ledger.fail('session-lost', `${plan.name} asked for ${exchange.name}: ${text}`)
    for (const entry of exchange.entries) {
      entry.mustSucceed = false
      inbox.refused(entry, text)
    }
    this.#gone()
  }

  #gone(): void {
    this.#requests.isOver = true
    this.#parts.inbox.gone()
    this.#requests.leave('close')
  }

  #listen(): void {
    const { listens, resumes } = this.#parts.http
    if (!listens || this.#aside.line !== undefined) return
    this.#aside.ask(this.#requests, { method: 'GET', lastId: resumes ? this.#aside.lastId : undefined })
  }

  /** A client resumes on one connection at a time. The stream goes to the last request, even if that one is lost. */
  #resume(exchange: ClientExchange): void {
    if (exchange.line !== undefined) return
    exchange.isResumed = true
    exchange.isReplayed = false
    this.#exchanges.add(exchange)
    // Byte positions of different connections are not comparable.
    for (const entry of exchange.entries) entry.silentFrom = undefined
    exchange.ask(this.#requests, { method: 'GET', lastId: exchange.lastId })
  }
}
