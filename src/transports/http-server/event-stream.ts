// One stream of events, which may outlive the response that carries it.
//
// MCP 2025-03-26 to 2025-11-25, Transports, Resumability: an event id is unique
// in its session and names its stream, so that a client that lost a response
// gets the later events of that stream, and of no other, on another response.

import { Buffer } from 'node:buffer'
import type { Message } from '../../jsonrpc/splice.js'
import { lengthOf } from '../../jsonrpc/line.js'
import type { Clock } from '../../runtime/deadline.js'
import type { HttpEnvironment } from './endpoint.js'
import type { HttpServerLimits } from './front-limits.js'
import { repeat } from './repeat.js'
import type { Fields, HttpResponse } from '../http1/server.js'

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

  /** Says whether the client reads the event, or can ask for it later. */
  send(message: Message): boolean {
    const number = ++this.#last
    const event = messageEvent(message, this.#store && this.#id(number))
    const isStored = this.#store?.add(this.number, number, event) === true
    if (this.#writer === undefined) return isStored
    this.#written = number
    this.#writer.write(event)
    return true
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
   * A response that still seems to be there is cut: a client that resumes has lost it, and a connection may end on one side
   * only. Events that are gone are skipped; ask `reaches` first where that matters.
   */
  attach(writer: SseWriter, after: number = this.#written): void {
    this.#writer?.cut()
    this.#writer = writer
    for (const bytes of this.#kept(after)) writer.write([bytes])
    this.#written = this.#last
    if (this.#ended) this.end()
  }

  /** Writes an event that carries no message. */
  write(event: SseEvent): void {
    this.#writer?.write(event)
  }

  /** Gives the client an id to resume after. */
  prime(retryMs: number): void {
    this.write([primingEvent(this.#id(this.#last), retryMs)])
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

/** The size of all stores of a front together. When it is reached, the store that has most gives up events. */
export class EventBudget {
  readonly #bytesMax: number
  readonly #stores = new Set<EventStore>()
  #bytes = 0

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax
  }

  get bytes(): number {
    return this.#bytes
  }

  makeRoom(bytes: number): void {
    while (this.#bytes + bytes > this.#bytesMax) {
      const [first, ...others] = this.#stores
      if (first === undefined) return
      others.reduce((most, store) => (store.bytes > most.bytes ? store : most), first).dropOldest()
    }
  }

  /** Counts bytes that a store has more, or less. */
  count(store: EventStore, bytes: number): void {
    this.#bytes += bytes
    if (store.bytes > 0) this.#stores.add(store)
    else this.#stores.delete(store)
  }
}

interface StoredEvent {
  readonly stream: number
  readonly number: number
  /** A copy of the bytes on the stream. */
  readonly bytes: Buffer
  readonly atMs: number
}

/**
 * The latest events of one session, oldest first, which a client may ask for again with `Last-Event-ID`.
 *
 * Each session has a separate store, so that no id of one session finds an event of another. A store is bounded in events,
 * bytes and age, and all stores together in bytes; a client that asks for an event that was dropped gets an error.
 */
export class EventStore {
  readonly #limits: HttpServerLimits['events']
  readonly #budget: EventBudget
  readonly #clock: Pick<Clock, 'now'>
  /** Made for the first event: immediate answers need none. */
  #events: Set<StoredEvent> | undefined
  #bytes = 0

  constructor(limits: HttpServerLimits['events'], budget: EventBudget, clock: Pick<Clock, 'now'>) {
    this.#limits = limits
    this.#budget = budget
    this.#clock = clock
  }

  get bytes(): number {
    return this.#bytes
  }

  /** Keeps event `number` of a stream; false when it is larger than everything that may be kept. */
  add(stream: number, number: number, event: SseEvent): boolean {
    const length = lengthOf(event)
    const { eventsMax, bytesMax, totalBytesMax } = this.#limits
    if (length > bytesMax || length > totalBytesMax) return false
    while (this.#bytes + length > bytesMax || (this.#events?.size ?? 0) >= eventsMax) this.dropOldest()
    this.#budget.makeRoom(length)
    this.#events ??= new Set()
    this.#events.add({ stream, number, bytes: Buffer.concat(event, length), atMs: this.#clock.now() })
    this.#count(length)
    return true
  }

  dropOldest(): void {
    const [oldest] = this.#events ?? []
    if (oldest !== undefined) this.#drop(oldest)
  }

  /** The kept events of a stream after event number `after`, in order. */
  after(stream: number, after: number): Buffer[] {
    const found: Buffer[] = []
    for (const event of this.#events ?? [])
      if (event.stream === stream && event.number > after) found.push(event.bytes)
    return found
  }

  /** Drops what is too old to be asked for. */
  sweep(): void {
    const oldestMs = this.#clock.now() - this.#limits.ageMsMax
    for (const event of this.#events ?? []) {
      if (event.atMs >= oldestMs) return
      this.#drop(event)
    }
  }

  clear(): void {
    for (const event of this.#events ?? []) this.#drop(event)
  }

  #drop(event: StoredEvent): void {
    this.#events?.delete(event)
    this.#count(-event.bytes.length)
  }

  #count(bytes: number): void {
    this.#bytes += bytes
    this.#budget.count(this, bytes)
  }
}

const KEEP_ALIVE = Buffer.from(': keep-alive\n\n')
const END_OF_EVENT = Buffer.from('\n\n')

/** Up to here, one copied event beats three writes. */
const COPY_BYTES_MAX = 64 * 1024

/** One event, ready to be written: in one piece, or as the parts of a large message between its head and its end. */
export type SseEvent = readonly Uint8Array[]

/** The event that carries a message; `id` is what a client resumes after. */
export function messageEvent(message: Message, id: string | undefined): SseEvent {
  const head = `${id === undefined ? '' : `id: ${id}\n`}event: message\ndata: `
  const parts = [Buffer.from(head), ...message.parts, END_OF_EVENT]
  return message.length > COPY_BYTES_MAX ? parts : [Buffer.concat(parts)]
}

/** An event without data, which gives a client the id to resume after before there is anything to say. */
function primingEvent(id: string, retryMs: number): Buffer {
  return Buffer.from(`id: ${id}\nretry: ${retryMs}\ndata: \n\n`)
}

export function textEvent(event: string, data: string): Buffer {
  return Buffer.from(`event: ${event}\ndata: ${data}\n\n`)
}

/** The fields of an event stream; a proxy on the way must not buffer it. */
const sseHead: Fields = Object.entries({
  'content-type': 'text/event-stream',
  'cache-control': 'no-cache, no-transform',
  'x-accel-buffering': 'no',
}).flat()

export interface SseWatch {
  /** The client has not taken all bytes. */
  behind?(): void
  /** The client has taken everything. */
  drained(): void
  /** The client is gone, or the stream was cut. */
  gone(): void
}

/** One open event stream. */
export class SseWriter {
  readonly #response: HttpResponse
  readonly #backlogBytesMax: number
  readonly #watch: SseWatch
  readonly #beat: { cancel(): void }

  /** Sends the header fields. */
  constructor(response: HttpResponse, fields: Fields, environment: HttpEnvironment, watch: SseWatch) {
    const { limits } = environment
    this.#response = response
    this.#watch = watch
    this.#backlogBytesMax = limits.backlogBytesMax
    response.stream(200, [...sseHead, ...fields])
    this.#beat = repeat(environment, limits.keepAliveMs, () => this.#keepAlive())
    response.onDrain = () => watch.drained()
    response.whenClosed(() => {
      this.#beat.cancel()
      if (!response.hasEnded) watch.gone()
    })
  }

  get backlogBytes(): number {
    return this.#response.unsentBytes
  }

  /** Writes one event, or cuts a client off that has left too much unread. */
  write(event: SseEvent): void {
    if (this.#response.hasEnded) return
    if (this.backlogBytes > this.#backlogBytesMax) this.#response.cut()
    else this.#response.write(event)
    if (this.backlogBytes > 0) this.#watch.behind?.()
  }

  end(): void {
    this.#beat.cancel()
    this.#response.end()
  }

  /** Says nothing more and drops what was not taken. */
  cut(): void {
    this.end()
    this.#response.cut()
  }

  /** Behind a backlog a comment would prove nothing. */
  #keepAlive(): void {
    if (this.backlogBytes === 0) this.#response.write([KEEP_ALIVE])
  }
}
