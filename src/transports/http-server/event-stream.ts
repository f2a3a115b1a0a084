// One stream of events, which may outlive the response that carries it.
//
// MCP 2025-03-26 to 2025-11-25, Transports, Resumability: an event id is unique
// in its session and names its stream, so that a client that lost a response
// gets the later events of that stream, and of no other, on another response.

import type { Buffer } from 'node:buffer'
import type { Wire } from '../../jsonrpc/fast/splice-parts.js'
import type { EventStore } from './event-store.js'
import { type SseWriter, messageEvent, primingEvent } from './sse-writer.js'

/** The position of an event in its session. */
export interface EventPlace {
  readonly stream: number
  readonly number: number
}

const place = /^([0-9a-z]{1,8})-([0-9a-z]{1,8})$/

export function readEventId(id: string): EventPlace | undefined {
  const [, stream, number] = place.exec(id) ?? []
  if (stream === undefined || number === undefined) return undefined
  return { stream: Number.parseInt(stream, 36), number: Number.parseInt(number, 36) }
}

/** Numbers its events, stores them, and writes them to its present response. */
export class EventStream {
  readonly number: number
  /** Undefined for a client without a session, which cannot resume. */
  readonly #store: EventStore | undefined
  #writer: SseWriter | undefined
  /** The last event, and the last one that was handed to a response. */
  #last = 0
  #written = 0
  #ended = false
  /** It has ended without an answer, since its request was cancelled. */
  #isCancelled = false

  constructor(number: number, store: EventStore | undefined) {
    this.number = number
    this.#store = store
  }

  get attached(): boolean {
    return this.#writer !== undefined
  }

  get ended(): boolean {
    return this.#ended
  }

  send(message: Wire): void {
    const number = ++this.#last
    const event = messageEvent(message, this.#store && this.#id(number))
    this.#store?.add(this.number, number, event)
    if (this.#writer === undefined) return
    this.#written = number
    this.#writer.write(event)
  }

  /** Whether its request was cancelled and event `number` was the last: nothing follows, not even an answer. */
  isOverAfter(number: number): boolean {
    return this.#isCancelled && number === this.#last
  }

  /** Whether everything after event `number` can still be told. */
  reaches(number: number): boolean {
    return number <= this.#last && this.#kept(number).length === this.#last - number
  }

  /**
   * Goes on through this response, after event `after`, or where the last response stopped.
   *
   * A response that still seems to be there is cut: who resumes has lost it, and a connection may end on one side only. Events that are gone are skipped; ask `reaches` first where that matters.
   */
  attach(writer: SseWriter, after: number = this.#written): void {
    this.#writer?.cut()
    this.#writer = writer
    for (const bytes of this.#kept(after)) writer.write([bytes])
    this.#written = this.#last
    if (this.#ended) this.end()
  }

  /** Gives the client an id to resume after. */
  prime(retryMs: number): void {
    this.#writer?.write([primingEvent(this.#id(this.#last), retryMs)])
  }

  /** The response is gone; what follows is kept for the next one. */
  detach(writer: SseWriter): void {
    if (this.#writer === writer) this.#writer = undefined
  }

  /** Ends it without an answer. */
  cancel(): void {
    this.#isCancelled = true
    this.end()
  }

  /** Nothing more will be said. */
  end(): void {
    this.#ended = true
    this.#writer?.end()
    this.#writer = undefined
  }

  #id(number: number): string {
    return `${this.number.toString(36)}-${number.toString(36)}`
  }

  #kept(after: number): Buffer[] {
    return after >= this.#last ? [] : (this.#store?.after(this.number, after) ?? [])
  }
}
