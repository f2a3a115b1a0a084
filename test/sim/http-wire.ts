// A client that comes over Streamable HTTP.
//
// Every message travels alone and may overtake another. Who loses a connection has
// cancelled nothing; what was said on it is lost, unless it can be resumed.

import type { AnswerHead } from './answer-reader.js'
import type { ClientEars } from './client-ears.js'
import type { ClientWire, Said } from './client-wire.js'
import type { ToldEvent } from './event-reader.js'
import { HttpCourier, type Asking, type HttpCourierParts } from './http-courier.js'
import {
  type Answer,
  Response,
  type ResponseOwner,
  type Telling,
  answering,
  arrived,
  deaf,
  entriesOf,
  excuse,
  newTelling,
  release,
} from './http-telling.js'
import { isCrowded, isGarbage, mayRefuse } from './http-refusals.js'
import type { Entry } from './ledger.js'
import type { Random } from './random.js'

/** Connections, a session perhaps, and what is told on them. */
export class HttpWire implements ClientWire, ResponseOwner {
  readonly answering: (telling: Telling) => void = answering
  readonly #parts: HttpCourierParts
  readonly #random: Random
  readonly #courier: HttpCourier
  readonly #tellings = new Set<Telling>()
  readonly #aside: Telling
  readonly #ids = new Set<string>()
  #ears: ClientEars | undefined
  #count = 0
  /** The client loses its connections at this moment. */
  #isCutting = false
  #isListening = false

  constructor(parts: HttpCourierParts) {
    const { around, plan } = parts
    this.#parts = parts
    this.#random = around.dice(`${plan.name} http`)
    this.#aside = newTelling(`${plan.name}/aside`, undefined)
    this.#courier = new HttpCourier(parts, (what) => this.#bad(what))
  }

  get speaks(): boolean {
    return !this.#courier.isOver
  }

  get hears(): boolean {
    return this.#isListening
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
    // A client that goes before its session has begun says nothing of what it still wanted.
    if (this.#parts.http.session && this.#courier.session === undefined && this.#count > 0)
      return said.entries.forEach((entry) => (entry.excused = true))
    const telling = newTelling(`${this.#parts.plan.name}/${++this.#count}`, said)
    this.#tellings.add(telling)
    const isCut = isGarbage(said) && this.#random.chance(0.5)
    this.#ask(telling, { method: 'POST', body: said.text, isCut })
  }

  taken(entry: Entry): number | undefined {
    const telling = [...this.#tellings].find((each) => entriesOf(each).includes(entry))
    // What was kept of a lost stream was said before, and comes once the proxy has read the request for it.
    if (telling === undefined || telling.isResumed !== telling.isReplayed) return undefined
    const socket = telling.line?.socket
    return socket?.writableLength === 0 ? socket.taken : undefined
  }

  read(on: boolean): void {
    this.#courier.lines.read(on)
  }

  finish(): void {
    this.#courier.isOver = true
    if (this.#courier.session === undefined) return this.#courier.closeIdle()
    release(this.#ears)
    this.#ask(newTelling(`${this.#parts.plan.name}/end`, undefined), { method: 'DELETE' })
  }

  vanish(): void {
    this.#courier.isOver = true
    this.#courier.lines.leave(this.#random.pick(['reset', 'close']))
  }

  cut(): void {
    if (this.#parts.http.session && this.#courier.session === undefined) return
    this.#isCutting = true
    this.#courier.lines.cut(this.#random)
    this.#isCutting = false
  }

  arrived(telling: Telling): void {
    const { http, front } = this.#parts
    arrived(telling, () => (http.session ? front.next() : Infinity))
    if (telling.said !== undefined && !http.accept.includes('event-stream')) deaf(telling.said)
  }

  head({ status, headers }: AnswerHead, telling: Telling): void {
    const id = headers.get('mcp-session-id')
    if (telling === this.#aside) this.#isListening = status === 200
    if (this.#courier.session !== undefined || id === undefined) return
    this.#courier.session = id
    this.#courier.later(() => this.#listen())
  }

  event({ id, data, upTo }: ToldEvent, telling: Telling): void {
    if (id !== undefined) telling.lastId = id
    if (data === '') return
    if (id !== undefined && this.#ids.has(id))
      this.#parts.ledger.fail('event-twice', `${this.#parts.plan.name} was told ${id} again: ${data}`)
    if (id !== undefined) this.#ids.add(id)
    this.#told(data, upTo, telling)
  }

  answered(answer: Answer, telling: Telling): void {
    this.#tellings.delete(telling)
    if (answer.status === 404) this.#forgotten(answer, telling)
    else if (telling.said === undefined || telling.isResumed) this.#otherwise(answer, telling)
    else this.#answered(answer, telling)
    this.#courier.closeIdle()
  }

  ended(telling: Telling): void {
    this.#tellings.delete(telling)
    if (telling === this.#aside) {
      this.#isListening = false
      this.#courier.later(() => this.#listen())
    } else if (telling.lostResumes > 0 && entriesOf(telling).some(({ answers }) => answers.length === 0)) {
      telling.lostResumes--
      this.#courier.later(() => this.#resume(telling))
    }
    this.#courier.closeIdle()
  }

  lost(telling: Telling): void {
    const { front, http } = this.#parts
    if (telling === this.#aside) this.#isListening = false
    for (const entry of entriesOf(telling)) entry.untimed = true
    const isOwn = this.#isCutting
    if (!this.#courier.isOver && front.listening) {
      if (telling === this.#aside) return this.#courier.later(() => this.#listen())
      const { said, heard } = telling
      // What nobody has got can be sent again; requests that it has lost itself a client gives up.
      if (said !== undefined && !heard && !(isOwn && said.entries.length > 0))
        return this.#courier.later(() => this.#ask(telling, { method: 'POST', body: said.text }))
      if (telling.lastId !== undefined && http.resumes) {
        if (telling.isResumed) telling.lostResumes++
        return this.#courier.later(() => this.#resume(telling))
      }
    }
    this.#tellings.delete(telling)
    if (isOwn || this.#courier.lines.wasPaused || !telling.heard || telling.isResumed) excuse(telling)
    if (http.session && this.#count === 1) this.#gone()
  }

  #told(text: string, upTo: number, telling: Telling): void {
    const answers = (entry: Entry): boolean => entriesOf(telling).includes(entry)
    // An answer to a batch may have been there before its cancel, and have waited for the others.
    const place = { stream: telling.name, upTo: entriesOf(telling).length > 1 ? 0 : upTo }
    this.#ears?.told(text, { ...place, answers })
  }

  #answered(answer: Answer, telling: Telling): void {
    const { status, text, upTo } = answer
    const { front } = this.#parts
    const { said } = telling
    const entries = entriesOf(telling)
    if (status === 200 && entries.length > 0) return this.#told(text, upTo, telling)
    if (status === 202) return
    for (const entry of entries) {
      entry.mustSucceed &&= !isCrowded(answer, front)
      this.#ears?.refused(entry, `HTTP ${status} ${text}`)
    }
    if (this.#courier.session === undefined && this.#parts.http.session) return this.#gone()
    if (entries.length > 0 || this.#courier.isOver || mayRefuse(said, answer, front)) return
    this.#bad(`${said?.text} was answered with ${status} ${text}`)
  }

  /** There is no rest to be had, or not yet. */
  #otherwise({ status, text }: Answer, telling: Telling): void {
    if (telling === this.#aside) this.#isListening = false
    if (this.#courier.isOver) return this.#ended(status)
    if (status === 409)
      return this.#courier.later(() => (telling === this.#aside ? this.#listen() : this.#resume(telling)))
    // The stream of a cancelled request has ended, and its client has all of it.
    if (status === 204 && entriesOf(telling).every(({ cancelledAt }) => cancelledAt !== undefined)) return
    excuse(telling)
    const { front, http } = this.#parts
    // Without the answer to its `initialize` it has nothing more to say.
    if (http.session && this.#count === 1) this.#gone()
    if (status === 503 ? front.listening : status !== 400 || !front.forgets)
      this.#bad(`${telling.name} was answered with ${status} ${text}`)
  }

  /** The session is ended, and everything in it. */
  #ended(status: number): void {
    const isGone = status === 200
    for (const { entry } of this.#ears?.waiting ?? [])
      if (isGone && entry.heardAt !== undefined) this.#parts.ledger.givenUp(entry)
    this.#courier.lines.leave('close')
  }

  /** The proxy does not know the session any more. */
  #forgotten({ text }: Answer, telling: Telling): void {
    if (!this.#courier.lines.wasPaused && !this.#courier.isOver)
      this.#parts.ledger.fail('session-lost', `${this.#parts.plan.name} asked for ${telling.name}: ${text}`)
    for (const entry of entriesOf(telling)) {
      entry.mustSucceed = false
      this.#ears?.refused(entry, text)
    }
    this.#gone()
  }

  #gone(): void {
    this.#courier.isOver = true
    this.#ears?.gone()
    this.#courier.lines.leave('close')
  }

  #listen(): void {
    if (!this.#parts.http.listens || this.#aside.line !== undefined) return
    const { lastId } = this.#aside
    this.#ask(this.#aside, { method: 'GET', lastId: this.#parts.http.resumes ? lastId : undefined })
  }

  /** On one connection at a time: the rest goes to whoever has asked last, though that one may be lost by then. */
  #resume(telling: Telling): void {
    if (telling.line !== undefined) return
    telling.isResumed = true
    telling.isReplayed = false
    this.#tellings.add(telling)
    // Positions on one connection say nothing about another.
    for (const entry of entriesOf(telling)) entry.silentFrom = undefined
    this.#ask(telling, { method: 'GET', lastId: telling.lastId })
  }

  #ask(telling: Telling, what: Asking): void {
    telling.line = this.#courier.ask(what, new Response(this, telling, this.#parts.around))
  }

  #bad(what: string): void {
    this.#parts.ledger.fail('bad-line', `${this.#parts.plan.name}: ${what}`)
  }
}
