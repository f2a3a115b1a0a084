// A client that speaks the older transport of 2024-11-05: it is told everything on
// one stream of events, and is gone when that is.

import type { ClientEars } from './client-ears.js'
import type { ClientWire, Said } from './client-wire.js'
import type { ToldEvent } from './event-reader.js'
import { HttpCourier, type HttpCourierParts } from './http-courier.js'
import {
  type Answer,
  Response,
  type ResponseOwner,
  type Telling,
  answering,
  arrived,
  entriesOf,
  excuse,
  newTelling,
  release,
} from './http-telling.js'
import { isCrowded, isGarbage, mayRefuse } from './http-refusals.js'
import type { Random } from './random.js'

/** A stream, and messages that go another way. */
export class PairWire implements ClientWire, ResponseOwner {
  readonly answering: (telling: Telling) => void = answering
  readonly #parts: HttpCourierParts
  readonly #random: Random
  readonly #courier: HttpCourier
  readonly #events: Telling
  #ears: ClientEars | undefined
  /** Where messages go; until it is known they wait. */
  #path: string | undefined
  #early: Said[] = []
  #count = 0
  #isCutting = false

  constructor(parts: HttpCourierParts) {
    const { around, plan } = parts
    this.#parts = parts
    this.#random = around.dice(`${plan.name} pair`)
    this.#events = newTelling(`${plan.name}/events`, undefined)
    this.#courier = new HttpCourier(parts, (what) => this.#bad(what))
  }

  get speaks(): boolean {
    return !this.#courier.isOver
  }

  get hears(): boolean {
    return this.#path !== undefined && this.#events.line !== undefined
  }

  get backlogBytes(): number {
    return this.#courier.lines.backlogBytes
  }

  get released(): boolean {
    return this.#courier.lines.released
  }

  start(ears: ClientEars): void {
    this.#ears = ears
  }

  send(said: Said): void {
    if (this.#path !== undefined) return this.#post(this.#path, said)
    this.#early.push(said)
    if (this.#early.length > 1) return
    const path = this.#random.pick(['/sse', '/api/default/sse'])
    this.#events.line = this.#courier.ask(
      { method: 'GET', path },
      new Response(this, this.#events, this.#parts.around),
    )
  }

  taken(): number | undefined {
    const socket = this.#events.line?.socket
    return socket?.writableLength === 0 ? socket.taken : undefined
  }

  read(on: boolean): void {
    this.#courier.lines.read(on)
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
    this.#courier.lines.cut(this.#random)
    this.#isCutting = false
  }

  // What its responses mean.

  head(): void {}

  arrived(telling: Telling): void {
    arrived(telling, () => this.#parts.front.next())
  }

  event({ name, data, upTo }: ToldEvent, telling: Telling): void {
    if (name !== 'endpoint')
      return this.#ears?.told(data, { stream: telling.name, upTo, answers: () => true })
    this.#path = data
    for (const said of this.#early.splice(0)) this.#post(data, said)
  }

  answered(answer: Answer, telling: Telling): void {
    const { status, text } = answer
    const { front, plan } = this.#parts
    this.#courier.closeIdle()
    if (status === 202 || this.#courier.isOver) return
    for (const entry of entriesOf(telling)) {
      entry.mustSucceed &&= !isCrowded(answer, front)
      this.#ears?.refused(entry, `HTTP ${status} ${text}`)
    }
    if (this.#count === 1) return this.#leave('close')
    if (entriesOf(telling).length === 0 && !mayRefuse(telling.said, answer, front))
      this.#bad(`${telling.said?.text ?? plan.name} was answered with ${status} ${text}`)
  }

  ended(): void {
    this.#gone()
  }

  lost(telling: Telling): void {
    if (telling === this.#events) return this.#gone()
    const { said, heard } = telling
    if (said === undefined) return
    // Whether a request was taken a client does not know that has lost it; the rest can be sent again, where nobody has got it.
    if (said.entries.length > 0 && this.#isCutting) {
      excuse(telling)
      return this.#count === 1 ? this.#gone() : undefined
    }
    if (heard) return
    this.#courier.later(() => this.#post(this.#path ?? '', said))
  }

  /** There is no way back. */
  #gone(): void {
    if (this.#courier.isOver) return
    const isOwn = this.#isCutting || this.#courier.lines.wasPaused
    const { front, ledger, plan } = this.#parts
    if (!isOwn && front.listening) ledger.fail('session-lost', `${plan.name} hears nothing more`)
    // A proxy that closes has answered everything before.
    if (isOwn) release(this.#ears)
    this.#courier.isOver = true
    this.#courier.lines.leave('close')
    this.#ears?.gone()
  }

  #leave(how: 'reset' | 'close'): void {
    this.#courier.isOver = true
    release(this.#ears)
    this.#courier.lines.leave(how)
  }

  #post(path: string, said: Said): void {
    const telling = newTelling(`${this.#parts.plan.name}/${++this.#count}`, said)
    const isCut = isGarbage(said) && this.#random.chance(0.5)
    const what = { method: 'POST', path, body: said.text, isCut } as const
    telling.line = this.#courier.ask(what, new Response(this, telling, this.#parts.around))
  }

  #bad(what: string): void {
    this.#parts.ledger.fail('bad-line', `${this.#parts.plan.name}: ${what}`)
  }
}
