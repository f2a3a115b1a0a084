// The event streams of one client: those of its POSTs, and the standalone one.

import type { Message } from '../../jsonrpc/splice.js'
import type { HttpEnvironment } from './endpoint.js'
import { type EventStore, EventStream, readEventId, SseWriter } from './event-stream.js'
import type { Fields, HttpResponse } from '../http1/server.js'

/** The id and the events of a session, which outlive its responses. */
export interface StreamSession {
  readonly id: string
  readonly store: EventStore
}

/** How an attempt to listen ends; `over` where the request was cancelled and the client has all events of it. */
export type ListenState = 'open' | 'busy' | 'unknown' | 'over'

/** The number of the standalone stream. */
const STANDALONE = 0

export class HttpStreams {
  /** Of every response. */
  fields: Fields
  readonly #environment: HttpEnvironment
  readonly #primes: () => boolean
  readonly #store: EventStore | undefined
  readonly #taken: () => void
  readonly #streams = new Map<number, EventStream>()
  /** Responses that hold what their client has not taken. */
  readonly #sending = new Set<HttpResponse>()
  /** Those of them whose client has not taken the latest bytes. A client may have hundreds of streams, nearly all of them idle. */
  readonly #behind = new Set<HttpResponse>()
  readonly #standalone: EventStream
  #last = STANDALONE

  /**
   * A client without a session can resume nothing and has no standalone stream. `primes` says whether the client may be
   * given an event without data; `taken` is called when it has taken what it had left unread.
   */
  constructor(
    environment: HttpEnvironment,
    session: StreamSession | undefined,
    primes: () => boolean,
    taken: () => void,
  ) {
    this.#environment = environment
    this.#primes = primes
    this.#store = session?.store
    this.#taken = taken
    this.fields = session === undefined ? [] : ['mcp-session-id', session.id]
    this.#standalone = new EventStream(STANDALONE, this.#store)
    this.#streams.set(STANDALONE, this.#standalone)
  }

  /** Whether the client listens to any of them. */
  get attached(): boolean {
    return this.#sending.size > 0
  }

  /** Whether the standalone stream is read. */
  get listens(): boolean {
    return this.#standalone.attached
  }

  get backlogBytes(): number {
    let bytes = 0
    for (const response of this.#behind) {
      if (response.unsentBytes === 0) this.#behind.delete(response)
      bytes += response.unsentBytes
    }
    return bytes
  }

  /** Begins the event stream of a POST. */
  open(response: HttpResponse): EventStream {
    const stream = new EventStream(++this.#last, this.#store)
    this.#streams.set(stream.number, stream)
    this.#dropEnded()
    this.#write(response, stream)
    return stream
  }

  /** Opens the standalone stream, or goes on with the one that holds the event of that id. */
  listen(response: HttpResponse, lastEventId: string | undefined): ListenState {
    const place = lastEventId === undefined ? undefined : readEventId(lastEventId)
    const stream = lastEventId === undefined ? this.#standalone : this.#streams.get(place?.stream ?? -1)
    if (stream === undefined) return 'unknown'
    if (place === undefined && stream.attached) return 'busy'
    if (place !== undefined && !stream.reaches(place.number)) return 'unknown'
    if (place !== undefined && stream.isOverAfter(place.number)) return 'over'
    this.#write(response, stream, place?.number)
    return 'open'
  }

  /**
   * Says what belongs to no request; false when it cannot reach the client, such as one without a session, which has no
   * standalone stream.
   */
  aside(message: Message): boolean {
    return this.#store !== undefined && this.#standalone.send(message)
  }

  /** Counts what its client has not taken of this one until it has taken everything. */
  sending(response: HttpResponse): void {
    this.#sending.add(response)
    this.#behind.add(response)
    response.whenClosed(() => {
      this.#sending.delete(response)
      this.#behind.delete(response)
      this.#taken()
    })
  }

  close(): void {
    for (const stream of this.#streams.values()) stream.end()
    this.#streams.clear()
    this.#store?.clear()
  }

  /** Cuts the response of which its client has left most unread; gives how many bytes that were. */
  cutSlowest(): number {
    let slowest: HttpResponse | undefined
    for (const response of this.#sending)
      if (response.unsentBytes > (slowest?.unsentBytes ?? 0)) slowest = response
    const bytes = slowest?.unsentBytes ?? 0
    slowest?.cut()
    return bytes
  }

  /** Drops what the client has not taken. */
  abandon(): void {
    for (const response of this.#sending) response.cut()
  }

  #write(response: HttpResponse, stream: EventStream, after?: number): void {
    // `gone` is not called for a response that is closed already.
    if (response.isClosed) return
    const writer = new SseWriter(response, this.fields, this.#environment, {
      behind: () => this.#behind.add(response),
      drained: this.#taken,
      gone: () => stream.detach(writer),
    })
    this.sending(response)
    stream.attach(writer, after)
    // Replayed events have ids already.
    if (this.#store !== undefined && after === undefined && this.#primes())
      stream.prime(this.#environment.limits.retryMs)
  }

  /** A client that lost the end of a stream comes back for it soon, or not at all. */
  #dropEnded(): void {
    if (this.#streams.size <= this.#environment.limits.endedStreamsMax) return
    for (const [number, stream] of this.#streams) {
      if (!stream.ended) continue
      this.#streams.delete(number)
      return
    }
  }
}
