// A client of the older transport of 2024-11-05. All messages to it use one stream of events, and its session ends
// with that stream.

import type { ClientWire, Said } from './client.js'
import { type Answer, ClientExchange, type ResponseOwner, isGarbage, release } from './client-exchange.js'
import type { ToldEvent } from './http-reader.js'
import { HttpRequests, type WireParts } from './http-requests.js'
import type { Random } from './random.js'

export class SseWire implements ClientWire, ResponseOwner {
  readonly #parts: WireParts
  readonly #random: Random
  readonly #requests: HttpRequests
  readonly #events: ClientExchange
  /** The path for messages. Until it is known, they wait. */
  #path: string | undefined
  #early: Said[] = []
  #count = 0

  constructor(parts: WireParts) {
    this.#parts = parts
    this.#random = parts.context.dice(`${parts.plan.name} pair`)
    this.#events = new ClientExchange(this, parts, 'events')
    this.#requests = new HttpRequests(parts)
  }

  get speaks(): boolean {
    return !this.#requests.isOver
  }

  get hears(): boolean {
    return this.#path !== undefined && this.#events.line !== undefined
  }

  get lines(): readonly HttpRequests[] {
    return [this.#requests]
  }

  send(said: Said): void {
    if (this.#path !== undefined) return this.#post(this.#path, said)
    this.#early.push(said)
    if (this.#early.length > 1) return
    const path = this.#random.pick(['/sse', '/api/default/sse'])
    this.#events.ask(this.#requests, { method: 'GET', path })
  }

  taken(): number | undefined {
    const socket = this.#events.line?.socket
    return socket?.writableLength === 0 ? socket.taken : undefined
  }

  /** In this transport, closing the stream is the only way to end the input. */
  finish(): void {
    this.#leave('close')
  }

  vanish(): void {
    this.#leave(this.#random.pick(['reset', 'close']))
  }

  cut(): void {
    this.#requests.cut(this.#random)
  }

  order(): number {
    return this.#parts.front.next()
  }

  event({ name, data, upTo }: ToldEvent, exchange: ClientExchange): void {
    if (name !== 'endpoint')
      return this.#parts.inbox.told(data, { stream: exchange.name, upTo, answers: () => true })
    this.#path = data
    for (const said of this.#early.splice(0)) this.#post(data, said)
  }

  answered(answer: Answer, exchange: ClientExchange): void {
    const { status, text } = answer
    this.#requests.closeIdle()
    if (status === 202 || this.#requests.isOver) return
    exchange.refuse(answer)
    if (this.#count === 1) return this.#leave('close')
    if (exchange.entries.length === 0 && !exchange.mayBeRefused(answer))
      this.#requests.bad(`${exchange.said?.text ?? exchange.name} was answered with ${status} ${text}`)
  }

  ended(): void {
    this.#gone()
  }

  lost(exchange: ClientExchange): void {
    if (exchange === this.#events) return this.#gone()
    const { said, heard } = exchange
    if (said === undefined) return
    // A client that loses a request does not know whether it arrived, so it gives the request up. Other messages are
    // sent again if they did not arrive.
    if (said.entries.length > 0 && this.#requests.isCutting) {
      exchange.excuse()
      if (this.#count === 1) this.#gone()
    } else if (!heard) this.#requests.later(() => this.#post(this.#path ?? '', said))
  }

  /** A lost session cannot be resumed. */
  #gone(): void {
    if (this.#requests.isOver) return
    const isOwn = this.#requests.isCutting || this.#requests.wasPaused
    const { front, context, inbox, plan } = this.#parts
    if (!isOwn && front.listening) context.ledger.fail('session-lost', `${plan.name} hears nothing more`)
    // A closing proxy has answered all requests before.
    if (isOwn) release(inbox)
    this.#requests.isOver = true
    this.#requests.leave('close')
    inbox.gone()
  }

  #leave(how: 'reset' | 'close'): void {
    this.#requests.isOver = true
    release(this.#parts.inbox)
    this.#requests.leave(how)
  }

  #post(path: string, said: Said): void {
    const exchange = new ClientExchange(this, this.#parts, ++this.#count, said)
    const isCut = isGarbage(said) && this.#random.chance(0.5)
    exchange.ask(this.#requests, { method: 'POST', path, body: said.text, isCut })
  }
}
