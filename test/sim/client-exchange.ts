// One HTTP request of a client, and what the proxy sends on account of it: one response, or several when the client
// loses one and asks for the rest.

import type { ClientInbox } from './client-inbox.js'
import type { Said } from './client.js'
import type { SimFront } from './front.js'
import { EventReader, type ToldEvent } from './http-reader.js'
import type { Asked, Asking, HttpLine, HttpRequests, WireParts } from './http-requests.js'
import type { Entry } from './ledger.js'

export interface ResponseOwner {
  /** Counts what gets to the proxy; undefined where there is no order. */
  order(): number | undefined
  head?(status: number, headers: ReadonlyMap<string, string>, exchange: ClientExchange): void
  event(event: ToldEvent, exchange: ClientExchange): void
  /** A response that is no stream has ended. */
  answered(answer: Answer, exchange: ClientExchange): void
  ended(exchange: ClientExchange): void
  /** `line` is the connection that it was lost with. */
  lost(exchange: ClientExchange, line: HttpLine | undefined): void
}

export interface Answer {
  readonly status: number
  readonly text: string
  readonly upTo: number
}

/** What began it is a message, or nothing but the wish to hear. */
export class ClientExchange implements Asked {
  /** `c3/4`: the client, and the how manieth it is. */
  readonly name: string
  /** Undefined for the stream that belongs to no request. */
  readonly said: Said | undefined
  readonly entries: readonly Entry[]
  /** All of the request has got to the proxy. */
  heard = false
  /** The request that is under way is the one for the rest. */
  isResumed = false
  /** The proxy has begun to answer that one, and so has written what it had kept of the stream. */
  isReplayed = false
  /** Requests for the rest that were lost: one that comes late takes the stream from the one that is under way. */
  lostResumes = 0
  /** The last event of it that came. */
  lastId: string | undefined
  /** Where it is told now. */
  line: HttpLine | undefined
  readonly #owner: ResponseOwner
  readonly #parts: WireParts
  #isRead = false
  #status = 0
  #upTo = 0
  #pieces: Buffer[] = []
  #events: EventReader | undefined

  constructor(owner: ResponseOwner, parts: WireParts, name: string | number, said?: Said) {
    this.name = `${parts.plan.name}/${name}`
    this.said = said
    this.entries = said?.entries ?? []
    this.#owner = owner
    this.#parts = parts
  }

  ask(requests: HttpRequests, what: Asking): void {
    this.line = requests.ask(what, this)
  }

  /**
   * While the proxy takes nothing more of its client it leaves bodies unread. HTTP promises no order across connections,
   * so nobody can say which of those it reads first.
   */
  arrived(): void {
    if (this.said === undefined || this.heard) return
    this.heard = true
    const isRead = this.line?.socket.isPaused() === false
    // Progress gives a call more time, and a client that takes no events is not told of it.
    const isDeaf =
      !this.#parts.http.accept.includes('event-stream') && this.said.text.includes('"progressToken"')
    for (const entry of this.entries) {
      entry.order = isRead ? this.#owner.order() : undefined
      entry.untimed ||= isDeaf
    }
    if (this.entries.length > 0) this.said.read()
  }

  /** The proxy has begun to answer, so it has read what asks for nothing. */
  answering(): void {
    this.isReplayed = this.isResumed
    if (this.#isRead) return
    this.#isRead = true
    if (this.entries.length === 0) this.said?.read()
  }

  head(status: number, headers: ReadonlyMap<string, string>): void {
    const { wrong } = this.#parts.context
    this.#status = status
    this.#upTo = 0
    this.#pieces = []
    const isStream = headers.get('content-type') === 'text/event-stream'
    const told = (event: ToldEvent): void => {
      for (const each of wrong.event?.(event) ?? [event]) this.#owner.event(each, this)
    }
    this.#events = isStream ? new EventReader(told) : undefined
    this.#owner.head?.(status, headers, this)
  }

  body(bytes: Buffer, upTo: number): void {
    this.#upTo = upTo
    if (this.#events === undefined) this.#pieces.push(bytes)
    else this.#events.piece(bytes, upTo)
  }

  whole(): void {
    this.line = undefined
    if (this.#events !== undefined) return this.#owner.ended(this)
    const text = Buffer.concat(this.#pieces).toString()
    const status = this.#parts.context.wrong.status?.(this.#status) ?? this.#status
    this.#owner.answered({ status, text, upTo: this.#upTo }, this)
  }

  gone(): void {
    const { line } = this
    this.line = undefined
    this.#owner.lost(this, line)
  }

  /** Nobody can blame the proxy for what is not heard of these requests. */
  excuse(): void {
    for (const entry of this.entries) entry.excused = true
  }

  /** Gives its client a message; an answer to a batch may have been there before its cancel, and have waited for the others. */
  told(text: string, upTo: number): void {
    const answers = (entry: Entry): boolean => this.entries.includes(entry)
    const place = { stream: this.name, upTo: this.entries.length > 1 ? 0 : upTo }
    this.#parts.inbox.told(text, { ...place, answers })
  }

  /** Its requests have no answer but the response. */
  refuse(answer: Answer): void {
    const { front, context, inbox } = this.#parts
    for (const entry of this.entries) {
      entry.mustSucceed &&=
        !isCrowded(answer, front) && !(context.ledger.isDisturbed && answer.status === 503)
      inbox.refused(entry, `HTTP ${answer.status} ${answer.text}`)
    }
  }

  /** Whether it asks for nothing and may be refused so. */
  mayBeRefused({ status }: Answer): boolean {
    const { front, context } = this.#parts
    if (status === 503) return !front.listening || context.ledger.isDisturbed
    return this.said !== undefined && isGarbage(this.said) && (status === 400 || status === 408)
  }
}

/** What was said is no message. */
export function isGarbage({ text }: Said): boolean {
  return !/[}\]]$/.test(text)
}

/** Others have taken the memory for bodies. */
function isCrowded({ status, text }: Answer, { crowds }: SimFront): boolean {
  return crowds && status === 503 && text.includes('Too many large messages')
}

/** A client that goes waits for nothing any more. */
export function release(inbox: ClientInbox): void {
  for (const { entry } of inbox.waiting) {
    entry.excused = true
    entry.mustSucceed = false
  }
}
