// One HTTP request of a client, and what the proxy sends on account of it: one response, or several when the client
// loses one and asks for the rest.

import type { SimContext } from './byte-flow.js'
import type { Wrong } from './wrong.js'
import type { AnswerHead } from './answer-reader.js'
import type { ClientInbox } from './client-inbox.js'
import type { Said } from './client-wire.js'
import { EventReader, type ToldEvent } from './event-reader.js'
import type { Asked, HttpLine } from './http-line.js'
import type { Entry } from './ledger.js'

/** What began it: a message, or nothing but the wish to hear. */
export interface ClientExchange {
  /** `c3/4`: the client, and the how manieth it is. */
  readonly name: string
  /** Undefined for the stream that belongs to no request. */
  readonly said: Said | undefined
  /** All of the request has got to the proxy; the proxy has begun to answer it. */
  heard: boolean
  isRead: boolean
  /** The request that is under way is the one for the rest. */
  isResumed: boolean
  /** The proxy has begun to answer that one, and so has written what it had kept of the stream. */
  isReplayed: boolean
  /** Requests for the rest that were lost: one that comes late takes the stream from the one that is under way. */
  lostResumes: number
  /** The last event of it that came. */
  lastId: string | undefined
  /** Where it is told now. */
  line: HttpLine | undefined
}

/** What a response means for its client. */
export interface ResponseOwner {
  head(head: AnswerHead, exchange: ClientExchange): void
  arrived(exchange: ClientExchange): void
  answering(exchange: ClientExchange): void
  event(event: ToldEvent, exchange: ClientExchange): void
  /** A response that is no stream has ended. */
  answered(answer: Answer, exchange: ClientExchange): void
  /** A stream has ended in good order. */
  ended(exchange: ClientExchange): void
  /** `line` is the connection that it was lost with. */
  lost(exchange: ClientExchange, line: HttpLine | undefined): void
}

/** A response that is no stream. */
export interface Answer {
  readonly status: number
  readonly text: string
  readonly upTo: number
}

/** One response. */
export class Response implements Asked {
  readonly #owner: ResponseOwner
  readonly #exchange: ClientExchange
  readonly #wrong: Wrong
  readonly #pieces: Buffer[] = []
  #status = 0
  #upTo = 0
  #events: EventReader | undefined

  constructor(owner: ResponseOwner, exchange: ClientExchange, { wrong }: SimContext) {
    this.#owner = owner
    this.#exchange = exchange
    this.#wrong = wrong
  }

  arrived(): void {
    this.#owner.arrived(this.#exchange)
  }

  answering(): void {
    this.#owner.answering(this.#exchange)
  }

  head(head: AnswerHead): void {
    this.#status = head.status
    if (head.headers.get('content-type') === 'text/event-stream')
      this.#events = new EventReader((event) => {
        for (const each of this.#wrong.event?.(event) ?? [event]) this.#owner.event(each, this.#exchange)
      })
    this.#owner.head(head, this.#exchange)
  }

  body(bytes: Buffer, upTo: number): void {
    this.#upTo = upTo
    if (this.#events === undefined) this.#pieces.push(bytes)
    else this.#events.piece(bytes, upTo)
  }

  whole(): void {
    this.#exchange.line = undefined
    if (this.#events !== undefined) return this.#owner.ended(this.#exchange)
    const text = Buffer.concat(this.#pieces).toString()
    const status = this.#wrong.status?.(this.#status) ?? this.#status
    this.#owner.answered({ status, text, upTo: this.#upTo }, this.#exchange)
  }

  gone(): void {
    const { line } = this.#exchange
    this.#exchange.line = undefined
    this.#owner.lost(this.#exchange, line)
  }
}

export function newExchange(name: string, said: Said | undefined): ClientExchange {
  return {
    name,
    said,
    heard: false,
    isRead: false,
    isResumed: false,
    isReplayed: false,
    lostResumes: 0,
    lastId: undefined,
    line: undefined,
  }
}

export function entriesOf({ said }: ClientExchange): readonly Entry[] {
  return said?.entries ?? []
}

/** Nobody can blame the proxy for what is not heard of these requests. */
export function excuse(exchange: ClientExchange): void {
  for (const entry of entriesOf(exchange)) entry.excused = true
}

/**
 * The request has got to the proxy; `order` counts what does.
 *
 * While the proxy takes nothing more of its client it leaves bodies unread. HTTP promises no order across connections,
 * so nobody can say which of those it reads first.
 */
export function arrived(exchange: ClientExchange, order: () => number): void {
  if (exchange.said === undefined || exchange.heard) return
  exchange.heard = true
  const isRead = exchange.line?.socket.isPaused() === false
  for (const entry of entriesOf(exchange)) entry.order = isRead ? order() : undefined
  if (entriesOf(exchange).length > 0) exchange.said.read()
}

/** The proxy has begun to answer, so it has read what asks for nothing. */
export function answering(exchange: ClientExchange): void {
  exchange.isReplayed = exchange.isResumed
  if (exchange.isRead || exchange.said === undefined) return
  exchange.isRead = true
  if (entriesOf(exchange).length === 0) exchange.said.read()
}

/** Progress gives a call more time, and a client that takes no events is not told of it. */
export function deaf({ text, entries }: Said): void {
  if (text.includes('"progressToken"')) for (const entry of entries) entry.untimed = true
}

/** A client that goes waits for nothing any more. */
export function release(inbox: ClientInbox | undefined): void {
  for (const { entry } of inbox?.waiting ?? []) {
    entry.excused = true
    entry.mustSucceed = false
  }
}
