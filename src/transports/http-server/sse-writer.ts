// Server-sent events on one HTTP response (HTML, Server-sent events).
//
// A message holds no line break, so an event is `data: ` and the message's own
// bytes, and nothing in them is escaped or cut.

import { Buffer } from 'node:buffer'
import { type Wire, partsOf } from '../../jsonrpc/fast/splice-parts.js'
import type { HttpEnvironment } from './endpoint.js'
import { repeat } from './pacing.js'
import type { Fields, HttpResponse } from './response.js'

const KEEP_ALIVE = Buffer.from(': keep-alive\n\n')
const END_OF_EVENT = Buffer.from('\n\n')

/** Up to here, one copied event beats three writes. */
const COPY_BYTES_MAX = 64 * 1024

/** One event, ready to be written: in one piece, or as the parts of a large message between its head and its end. */
export type SseEvent = readonly Uint8Array[]

/** The event that carries a message; `id` is what a client resumes after. */
export function messageEvent(message: Wire, id: string | undefined): SseEvent {
  const head = `${id === undefined ? '' : `id: ${id}\n`}event: message\ndata: `
  const parts = [Buffer.from(head), ...partsOf(message), END_OF_EVENT]
  return message.length > COPY_BYTES_MAX ? parts : [Buffer.concat(parts)]
}

/** An event without data, which gives a client the id to resume after before there is anything to say. */
export function primingEvent(id: string, retryMs: number): Buffer {
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
