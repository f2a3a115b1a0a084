// One stream of events, which may outlive the response that carries it.
//
// MCP 2025-03-26 to 2025-11-25, Transports, Resumability: an event id is unique in its session and names its
// stream. A client that has lost a response gets the later events of only that stream, on another response.
// Events are lost with their process. So if sessions outlive it, an event id also names the process, the
// number of revivals, and the client's request. The id of an answer has a mark instead.

import { Buffer } from 'node:buffer'
import { canonicalAt, type RequestId } from '../../jsonrpc/request-id.js'
import type { Message } from '../../jsonrpc/splice.js'
import { parse } from '../../jsonrpc/text.js'
import { lengthOf } from '../../jsonrpc/line.js'
import type { ClientConnection } from './client-connection.js'
import type { HttpEnvironment } from './endpoint.js'
import type { HttpServerLimits } from './front-limits.js'
import { repeat } from '../../runtime/deadline.js'
import type { Fields, HttpResponse } from '../http1/server.js'

/** The position of an event in its session. */
export interface EventPlace {
  /** The process that has sent the event; undefined if sessions end with their process. */
  readonly source: string | undefined
  readonly stream: number
  readonly number: number
  /** The request whose answer the stream carries; undefined for several requests, or a long id. */
  readonly request: RequestId | undefined
  /** Whether the event is the answer to the request, and so the last. */
  readonly isAnswer: boolean
}

const place = /^(?:([\w.-]{1,64})\.)?([0-9a-z]{1,8})-([0-9a-z]{1,8})(?:-([\w-]{1,64}))?$/

/** Replaces the request, which is never this short. */
const ANSWER = '_'

/** Event ids do not contain longer request ids. */
const REQUEST_BYTES_MAX = 48

export function readEventId(id: string): EventPlace | undefined {
  const [, source, stream, number, request = ''] = place.exec(id) ?? []
  if (stream === undefined || number === undefined) return undefined
  const written = Buffer.from(request, 'base64url')
  return {
    source,
    stream: Number.parseInt(stream, 36),
    number: Number.parseInt(number, 36),
    request: isJson(written) ? canonicalAt(written, 0, written.length) : undefined,
    isAnswer: request === ANSWER,
  }
}

function isJson(text: Buffer): boolean {
  try {
    parse(text.toString())
    return true
  } catch {
    return false
  }
}

/** Numbers events, stores them, and writes them to the current response. */
export class EventStream {
  readonly number: number
  readonly #environment: HttpEnvironment
  /** Undefined for a client without a session, which cannot resume. */
  readonly #store: EventStore | undefined
  readonly #connection: ClientConnection
  #response: HttpResponse | undefined
  /** Sends comments during a silence. */
  #beat: { cancel(): void } | undefined
  /** The number of the last event, and of the last event that a response got. */
  #last = 0
  #written = 0
  /** The number of the answer to its request. */
  #answer: number | undefined
  ended = false
  readonly #request: RequestId | undefined

  /** `request` is the request whose answer the stream carries. */
  constructor(
    number: number,
    environment: HttpEnvironment,
    store: EventStore | undefined,
    connection: ClientConnection,
    request?: RequestId,
  ) {
    this.#request = request
    this.number = number
    this.#environment = environment
    this.#store = store
    this.#connection = connection
  }

  get isAttached(): boolean {
    return this.#response !== undefined
  }

  /** Sends an event. Returns whether the client can read it, now or later. */
  send(message: Message, isAnswer = false): boolean {
    const number = ++this.#last
    if (isAnswer && this.#request !== undefined) this.#answer = number
    const event = messageEvent(message, this.#store && this.#id(number))
    const isStored = this.#store?.add(this.number, number, event) === true
    if (this.#response === undefined) return isStored
    this.#written = number
    this.write(event)
    return true
  }

  /** Writes an event without a number. Cuts the response if the client has left too many bytes unread. */
  write(event: SseEvent): void {
    const response = this.#response
    if (response === undefined || response.hasEnded) return
    if (response.unsentBytes > this.#environment.limits.backlogBytesMax) response.cut()
    else response.write(event)
    if (response.unsentBytes > 0) this.#connection.fellBehind(response)
  }

  isOverAfter(number: number): boolean {
    return this.ended && number === this.#last
  }

  /** Whether all events after `number` are stored. */
  reaches(number: number): boolean {
    return number <= this.#last && this.#kept(number).length === this.#last - number
  }

  /**
   * Continues on this response, after event `after`, or after the last written event. Adds `fields` to the
   * head. Cuts an earlier response, because a client that resumes has lost it. Skips events that are not
   * stored; call `reaches` first to detect that.
   */
  attach(response: HttpResponse, fields: Fields, after: number = this.#written): void {
    const before = this.#response
    this.#leaveResponse()
    before?.cut()
    response.stream(200, [...sseHead, ...fields])
    this.#response = response
    this.#beat = repeat(this.#environment, this.#environment.limits.keepAliveMs, () => {
      // A comment after a backlog would not show whether the client reads.
      if (response.unsentBytes === 0) response.write([KEEP_ALIVE])
    })
    response.onDrain = () => this.#connection.measure()
    response.whenClosed(() => {
      const isLost = !response.hasEnded
      if (this.#response === response) this.#leaveResponse()
      if (isLost) this.#connection.lostStream()
    })
    for (const bytes of this.#kept(after)) this.write([bytes])
    this.#written = this.#last
    if (this.ended) this.end()
  }

  prime(retryMs: number): void {
    this.write([primingEvent(this.#id(this.#last), retryMs)])
  }

  end(): void {
    this.ended = true
    this.#leaveResponse()
  }

  endLast(): void {
    this.#leaveResponse(retryField(this.#environment.limits.retryMs))
  }

  #leaveResponse(last?: Buffer): void {
    const response = this.#response
    this.#response = undefined
    this.#beat?.cancel()
    if (last === undefined) response?.end()
    else response?.endLast(last)
  }

  #id(number: number): string {
    const { source } = this.#connection
    const id = `${this.number.toString(36)}-${number.toString(36)}`
    if (source === undefined) return id
    if (number === this.#answer) return `${source}.${id}-${ANSWER}`
    const request = Buffer.from(this.#request ?? '')
    const isShort = request.length > 0 && request.length <= REQUEST_BYTES_MAX
    return `${source}.${id}${isShort ? `-${request.toString('base64url')}` : ''}`
  }

  #kept(after: number): Buffer[] {
    return after >= this.#last ? [] : (this.#store?.after(this.number, after) ?? [])
  }
}

interface StoredEvent {
  readonly stream: number
  readonly number: number
  readonly bytes: Buffer
}

/** The stores of all sessions with events, and their total bytes. */
export interface StoredEvents {
  readonly stores: Set<EventStore>
  bytes: number
}

/**
 * The latest events of one session, oldest first, which a client may request again with `Last-Event-ID`.
 *
 * Each session has a separate store, so an id of one session finds no event of another. A client that
 * requests a dropped event gets an error.
 */
export class EventStore {
  readonly #limits: HttpServerLimits['events']
  readonly #all: StoredEvents
  readonly #events = new Set<StoredEvent>()
  #bytes = 0

  constructor(limits: HttpServerLimits['events'], all: StoredEvents) {
    this.#limits = limits
    this.#all = all
  }

  /** Returns false for an event that is larger than the store. */
  add(stream: number, number: number, event: SseEvent): boolean {
    const length = lengthOf(event)
    const { eventsMax, bytesMax, totalBytesMax } = this.#limits
    if (length > bytesMax || length > totalBytesMax) return false
    while (this.#bytes + length > bytesMax || this.#events.size >= eventsMax) this.#dropOldest()
    while (this.#all.bytes + length > totalBytesMax) this.#largest.#dropOldest()
    this.#events.add({ stream, number, bytes: Buffer.concat(event, length) })
    this.#count(length)
    return true
  }

  /** The stored events of a stream after event number `after`, in order. */
  after(stream: number, after: number): Buffer[] {
    const found: Buffer[] = []
    for (const event of this.#events)
      if (event.stream === stream && event.number > after) found.push(event.bytes)
    return found
  }

  clear(): void {
    this.#events.clear()
    this.#count(-this.#bytes)
  }

  get #largest(): EventStore {
    return [...this.#all.stores].reduce<EventStore>(
      (most, store) => (store.#bytes > most.#bytes ? store : most),
      this,
    )
  }

  #dropOldest(): void {
    const [oldest] = this.#events
    if (oldest === undefined) return
    this.#events.delete(oldest)
    this.#count(-oldest.bytes.length)
  }

  #count(bytes: number): void {
    this.#bytes += bytes
    this.#all.bytes += bytes
    if (this.#bytes > 0) this.#all.stores.add(this)
    else this.#all.stores.delete(this)
  }
}

const KEEP_ALIVE = Buffer.from(': keep-alive\n\n')
const END_OF_EVENT = Buffer.from('\n\n')

/** The bytes of one event: the parts of its message between its head and its end. */
export type SseEvent = readonly Uint8Array[]

function messageEvent(message: Message, id: string | undefined): SseEvent {
  const head = `${id === undefined ? '' : `id: ${id}\n`}event: message\ndata: `
  return [Buffer.from(head), ...message.parts, END_OF_EVENT]
}

/** An event without data. It gives the client an id to resume after, before the first message. */
function primingEvent(id: string, retryMs: number): Buffer {
  return Buffer.from(`id: ${id}\nretry: ${retryMs}\ndata: \n\n`)
}

function retryField(retryMs: number): Buffer {
  return Buffer.from(`retry: ${retryMs}\n\n`)
}

export function textEvent(event: string, data: string): Buffer {
  return Buffer.from(`event: ${event}\ndata: ${data}\n\n`)
}

/** The fields of an event stream. A reverse proxy must not buffer it. */
const sseHead: Fields = Object.entries({
  'content-type': 'text/event-stream',
  'cache-control': 'no-cache, no-transform',
  'x-accel-buffering': 'no',
}).flat()
