// A client that speaks the older transport of 2024-11-05: it is told everything on
// one stream of events, and is gone when that is.

import type { ClientInbox } from './client-inbox.js'
import type { ClientWire, Said } from './client-wire.js'
import type { ToldEvent } from './event-reader.js'
import { HttpRequests, type HttpRequestsParts } from './http-requests.js'
import {
  type Answer,
  Response,
  type ResponseOwner,
  type ClientExchange,
  answering,
  arrived,
  entriesOf,
  excuse,
  newExchange,
  release,
} from './client-exchange.js'
import { isGarbage, mayRefuse, refuse } from './http-refusals.js'
import type { Random } from './random.js'

/** A stream, and messages that go another way. */
export class SseWire implements ClientWire, ResponseOwner {
  readonly answering: (exchange: ClientExchange) => void = answering
  readonly #parts: HttpRequestsParts
  readonly #random: Random
  readonly #requests: HttpRequests
  readonly #events: ClientExchange
  #inbox: ClientInbox | undefined
  /** Where messages go; until it is known they wait. */
  #path: string | undefined
  #early: Said[] = []
  #count = 0
  #isCutting = false

  constructor(parts: HttpRequestsParts) {
    const { context, plan } = parts
    this.#parts = parts
    this.#random = context.dice(`${plan.name} pair`)
    this.#events = newExchange(`${plan.name}/events`, undefined)
    this.#requests = new HttpRequests(parts)
  }

  get speaks(): boolean {
    return !this.#requests.isOver
  }

  get hears(): boolean {
    return this.#path !== undefined && this.#events.line !== undefined
  }

  get backlogBytes(): number {
    return this.#requests.lines.backlogBytes
  }

  get released(): boolean {
    return this.#requests.lines.released
  }

  start(inbox: ClientInbox): void {
    this.#inbox = inbox
  }

  send(said: Said): void {
    if (this.#path !== undefined) return this.#post(this.#path, said)
    this.#early.push(said)
    if (this.#early.length > 1) return
    const path = this.#random.pick(['/sse', '/api/default/sse'])
    this.#events.line = this.#requests.ask(
      { method: 'GET', path },
      new Response(this, this.#events, this.#parts.context),
    )
  }

  taken(): number | undefined {
    const socket = this.#events.line?.socket
    return socket?.writableLength === 0 ? socket.taken : undefined
  }

  read(on: boolean): void {
    this.#requests.lines.read(on)
  }

  /** There is no other way to say that it has nothing more to say. */
  finish(): void {
    this.#leave('close')
  }

  vanish(): void {
    this.#leave(this.#random.pick(['reset', 'close']))
  }

  cut(): void {
    this.#isCutting = true
    this.#requests.lines.cut(this.#random)
    this.#isCutting = false
  }

  // What its responses mean.

  head(): void {}

  arrived(exchange: ClientExchange): void {
    arrived(exchange, () => this.#parts.front.next())
  }

  event({ name, data, upTo }: ToldEvent, exchange: ClientExchange): void {
    if (name !== 'endpoint')
      return this.#inbox?.told(data, { stream: exchange.name, upTo, answers: () => true })
    this.#path = data
    for (const said of this.#early.splice(0)) this.#post(data, said)
  }

  answered(answer: Answer, exchange: ClientExchange): void {
    const { status, text } = answer
    const { plan } = this.#parts
    this.#requests.closeIdle()
    if (status === 202 || this.#requests.isOver) return
    refuse(exchange, answer, this.#parts, this.#inbox)
    if (this.#count === 1) return this.#leave('close')
    if (entriesOf(exchange).length === 0 && !mayRefuse(exchange.said, answer, this.#parts))
      this.#requests.bad(`${exchange.said?.text ?? plan.name} was answered with ${status} ${text}`)
  }

  ended(): void {
    this.#gone()
  }

  lost(exchange: ClientExchange): void {
    if (exchange === this.#events) return this.#gone()
    const { said, heard } = exchange
    if (said === undefined) return
    // Whether a request was taken a client does not know that has lost it; the rest can be sent again, where nobody has got it.
    if (said.entries.length > 0 && this.#isCutting) {
      excuse(exchange)
      return this.#count === 1 ? this.#gone() : undefined
    }
    if (heard) return
    this.#requests.later(() => this.#post(this.#path ?? '', said))
  }

  /** There is no way back. */
  #gone(): void {
    if (this.#requests.isOver) return
    const isOwn = this.#isCutting || this.#requests.lines.wasPaused
    const { front, ledger, plan } = this.#parts
    if (!isOwn && front.listening) ledger.fail('session-lost', `${plan.name} hears nothing more`)
    // A proxy that closes has answered everything before.
    if (isOwn) release(this.#inbox)
    this.#requests.isOver = true
    this.#requests.lines.leave('close')
    this.#inbox?.gone()
  }

  #leave(how: 'reset' | 'close'): void {
    this.#requests.isOver = true
    release(this.#inbox)
    this.#requests.lines.leave(how)
  }

  #post(path: string, said: Said): void {
    const exchange = newExchange(`${this.#parts.plan.name}/${++this.#count}`, said)
    const isCut = isGarbage(said) && this.#random.chance(0.5)
    const what = { method: 'POST', path, body: said.text, isCut } as const
    exchange.line = this.#requests.ask(what, new Response(this, exchange, this.#parts.context))
  }
}
