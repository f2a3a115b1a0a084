// The event streams of one client: those of its POSTs, and the standalone one.

import { BriefMap } from '../../jsonrpc/fast/brief-map.js'
import type { Wire } from '../../jsonrpc/fast/splice-parts.js'
import { Congestion } from '../congestion.js'
import type { SetTimer } from './clock.js'
import type { EventStore } from './event-store.js'
import { EventStream, readEventId } from './event-stream.js'
import type { HttpResponse } from './response.js'
import { type SseWriterLimits, SseWriter } from './sse-writer.js'
import type { Fields } from './status-line.js'

export interface StreamLimits extends SseWriterLimits {
  readonly retryMs: number
  readonly endedStreamsMax: number
  readonly backlogBytesHigh: number
}

export interface StreamsParts {
  readonly limits: StreamLimits
  readonly setTimer: SetTimer
  /** Undefined for a client without a session: it can resume nothing and has no standalone stream. */
  readonly store: EventStore | undefined
  /** Whether this client may be given an event without data. */
  readonly primes: () => boolean
}

/** How an attempt to listen ends. */
export type ListenState = 'open' | 'busy' | 'unknown'

/** The number of the standalone stream. */
const STANDALONE = 0

export class HttpStreams {
  readonly congestion: Congestion = new Congestion()
  /** Called when a client that had left much unread has taken it. */
  onDrained: () => void = () => {}
  readonly #parts: StreamsParts
  readonly #streams = new Map<number, EventStream>()
  /** Responses that hold what their client has not taken. */
  readonly #sending = new BriefMap<number, HttpResponse>()
  #lastSending = 0
  readonly #standalone: EventStream
  #last = STANDALONE
  #closed = false

  constructor(parts: StreamsParts) {
    this.#parts = parts
    this.#standalone = new EventStream(STANDALONE, parts.store)
    this.#streams.set(STANDALONE, this.#standalone)
  }

  /** Whether the client listens to any of them. */
  get attached(): boolean {
    return this.#sending.size > 0
  }

  get backlogBytes(): number {
    let bytes = 0
    for (const response of this.#sending.values()) bytes += response.unsentBytes
    return bytes
  }

  /** Begins the event stream of a POST. */
  open(response: HttpResponse, fields: Fields): EventStream {
    const stream = new EventStream(++this.#last, this.#parts.store)
    this.#streams.set(stream.number, stream)
    this.#dropEnded()
    this.#write(response, fields, stream)
    return stream
  }

  /** Opens the standalone stream, or goes on with the one that holds the event of that id. */
  listen(response: HttpResponse, fields: Fields, lastEventId: string | undefined): ListenState {
    const place = lastEventId === undefined ? undefined : readEventId(lastEventId)
    const stream = lastEventId === undefined ? this.#standalone : this.#streams.get(place?.stream ?? -1)
    if (stream === undefined) return 'unknown'
    if (place === undefined && stream.attached) return 'busy'
    if (place !== undefined && !stream.reaches(place.number)) return 'unknown'
    this.#write(response, fields, stream, place?.number)
    return 'open'
  }

  /** Says what belongs to no request. */
  aside(message: Wire): void {
    if (this.#parts.store !== undefined) this.#standalone.send(message)
  }

  /** Counts what its client has not taken of this one until it has taken everything. */
  sending(response: HttpResponse): void {
    const number = ++this.#lastSending
    this.#sending.set(number, response)
    response.whenClosed(() => {
      this.#sending.take(number)
      this.measure()
    })
  }

  /** Whether there is too much that the client has not taken. */
  measure(): void {
    const { backlogBytesHigh } = this.#parts.limits
    if (this.attached && this.backlogBytes > backlogBytesHigh) this.congestion.begin()
    else if (this.congestion.end() && !this.#closed) this.onDrained()
  }

  close(): void {
    this.#closed = true
    for (const stream of this.#streams.values()) stream.end()
    this.#streams.clear()
    this.congestion.end()
    this.#parts.store?.clear()
  }

  /** Drops what the client has not taken. */
  abandon(): void {
    for (const response of this.#sending.values()) response.cut()
  }

  #write(response: HttpResponse, fields: Fields, stream: EventStream, after?: number): void {
    // Whoever has gone already will not be seen to go.
    if (response.isClosed) return
    const { limits, setTimer, store, primes } = this.#parts
    const writer = new SseWriter(
      response,
      fields,
      { ...limits, setTimer },
      {
        drained: () => this.measure(),
        gone: () => stream.detach(writer),
      },
    )
    this.sending(response)
    stream.attach(writer, after)
    // Where there is something to replay, that has ids of its own.
    if (store !== undefined && after === undefined && primes()) stream.prime(limits.retryMs)
  }

  /** A client that lost the end of a stream comes back for it soon, or not at all. */
  #dropEnded(): void {
    if (this.#streams.size <= this.#parts.limits.endedStreamsMax) return
    for (const [number, stream] of this.#streams) {
      if (!stream.ended) continue
      this.#streams.delete(number)
      return
    }
  }
}
