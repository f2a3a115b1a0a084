// One HTTP request of a client and its responses. Several responses follow when the client loses one and resumes the
// stream.

import type { ClientInbox } from './client-inbox.js'
import type { Said } from './client.js'
import { EventReader, type ToldEvent } from './http-reader.js'
import type { Asked, Asking, HttpLine, HttpRequests, WireParts } from './http-requests.js'
import type { Entry } from './ledger.js'

export interface ResponseOwner {
  /** Counts arrivals at the proxy. Undefined where no order is kept. */
  order(): number | undefined
  head?(status: number, headers: ReadonlyMap<string, string>, exchange: ClientExchange): void
  event(event: ToldEvent, exchange: ClientExchange): void
  /** A response that is not a stream has ended. */
  answered(answer: Answer, exchange: ClientExchange): void
  ended(exchange: ClientExchange): void
  /** `line` is the connection that was lost. */
  lost(exchange: ClientExchange, line: HttpLine | undefined): void
}

export type Answer = { readonly status: number; readonly text: string; readonly upTo: number }

/** The request carries a message, or opens a stream. */
export class ClientExchange implements Asked {
  /** The client and the number of the request, as in `c3/4`. */
  readonly name: string
  /** Undefined for a stream outside of requests. */
  readonly said: Said | undefined
  readonly entries: readonly Entry[]
  /** The proxy has received the whole request. */
  heard = false
  /** The current request resumes the stream. */
  isResumed = false
  /** The proxy has begun its response to that request, so it has sent the events that it had kept. */
  isReplayed = false
  /** Resuming requests that were lost. One of them may arrive late and take the stream from the current one. */
  lostResumes = 0
  lastId: string | undefined
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

  /** A proxy that has paused its client leaves bodies unread. The order in which it will read them is unknown. */
  arrived(): void {
    if (this.said === undefined || this.heard) return
    this.heard = true
    const isRead = this.line?.socket.isPaused() === false
    // Progress extends the time of a call, but a client that accepts no events does not see it.
    const isDeaf =
      !this.#parts.http.accept.includes('event-stream') && this.said.text.includes('"progressToken"')
    for (const entry of this.entries) {
      entry.order = isRead ? this.#owner.order() : undefined
      entry.untimed ||= isDeaf
    }
    if (this.entries.length > 0) this.said.read()
  }

  /** A response proves that the proxy has read a message without requests. */
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

  excuse(): void {
    for (const entry of this.entries) entry.excused = true
  }

  /** An answer in a batch may be older than its cancel, because it waited for the other answers. */
  told(text: string, upTo: number): void {
    const answers = (entry: Entry): boolean => this.entries.includes(entry)
    const place = { stream: this.name, upTo: this.entries.length > 1 ? 0 : upTo }
    this.#parts.inbox.told(text, { ...place, answers })
  }

  /** The response is the only answer to its requests. */
  refuse(answer: Answer): void {
    const { front, context, inbox } = this.#parts
    // Other bodies may take all the memory.
    const isCrowded = front.crowds && answer.text.includes('Too many large messages')
    for (const entry of this.entries) {
      entry.mustSucceed &&= answer.status !== 503 || !(isCrowded || context.ledger.isDisturbed)
      inbox.refused(entry, `HTTP ${answer.status} ${answer.text}`)
    }
  }

  /** Whether a message without requests may be refused with this answer. */
  mayBeRefused({ status }: Answer): boolean {
    const { front, context } = this.#parts
    if (status === 503) return !front.listening || context.ledger.isDisturbed
    return this.said !== undefined && isGarbage(this.said) && (status === 400 || status === 408)
  }
}

export const isGarbage = ({ text }: Said): boolean => !/[}\]]$/.test(text)

/** A client that leaves expects no more answers. */
export function release(inbox: ClientInbox): void {
  for (const { entry } of inbox.waiting) {
    entry.excused = true
    entry.mustSucceed = false
  }
}
