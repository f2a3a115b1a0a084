// How messages of an HTTP client reach its sink, and what holds both ways up, the same for both transports.

import { Buffer } from 'node:buffer'
import type { FieldReader, Sink } from '../../jsonrpc/connection.js'
import { TransportError } from '../../jsonrpc/errors.js'
import { type Wire, joinedWire } from '../../jsonrpc/fast/splice-parts.js'
import type { Frame } from '../../jsonrpc/frame.js'
import type { Line } from '../../jsonrpc/line.js'
import { type RequestId, canonicalAt } from '../../jsonrpc/request-id.js'
import { Congestion } from '../congestion.js'
import type { HttpServerLimits } from './limits.js'

/** Delivers to one sink until it is closed. */
export class Inbox {
  readonly #limits: HttpServerLimits
  readonly #tapFailed: (cause: TransportError) => void
  #sink: Sink | undefined
  /** On while reading is off: bodies are not read meanwhile, so that their senders feel it. */
  readonly #pause = new Congestion()
  /** What was on its way already when reading was turned off. */
  readonly #held: (() => void)[] = []
  /** On while the client leaves too much unread. */
  readonly #congestion = new Congestion()
  #closed = false
  /** Why it has closed. */
  #cause: TransportError | undefined

  /** `tapFailed` closes the connection: an audit that fails must not pass traffic. */
  constructor(limits: HttpServerLimits, tapFailed: (cause: TransportError) => void) {
    this.#limits = limits
    this.#tapFailed = tapFailed
  }

  get open(): boolean {
    return !this.#closed
  }

  get congested(): boolean {
    return this.#congestion.on
  }

  start(sink: Sink): void {
    this.#sink = sink
    if (this.#closed) setImmediate(() => sink.closed(this.#cause))
  }

  /** Resolves when the next body may be read; undefined when it may be now. */
  get paused(): Promise<void> | undefined {
    return this.#pause.on ? this.#pause.relieved : undefined
  }

  read(on: boolean): void {
    if (!on) {
      if (!this.#closed) this.#pause.begin()
      return
    }
    this.#pause.end()
    // Whoever takes one may turn reading off again.
    while (!this.#pause.on && this.#held.length > 0) this.#held.shift()?.()
  }

  /** Delivers now, or once reading is on again. */
  deliver(deliver: () => void): void {
    if (!this.#pause.on && this.#held.length === 0) deliver()
    else this.#held.push(deliver)
  }

  /** Delivers a message that was read already; false when it was not delivered. */
  frame(frame: Frame, field: FieldReader | undefined): boolean {
    if (!this.#passes('in', frame.line)) return false
    if (this.#sink?.frame === undefined) this.#sink?.message(frame.line)
    else this.#sink.frame(frame, undefined, field)
    return true
  }

  /** The client does not want the answer to this request any more. */
  gaveUp(key: RequestId): void {
    if (!this.#closed) this.#sink?.gaveUp?.(key)
  }

  /** A message to the client cannot be delivered; its sender is told in a later turn, when it is ready to hear of it. */
  failed(id: RequestId | undefined, error: TransportError): void {
    setImmediate(() => {
      if (!this.#closed) this.#sink?.failed?.(id, error)
    })
  }

  message(line: Line): void {
    if (this.#passes('in', line)) this.#sink?.message(line)
  }

  /** Whether a message may leave; only for a tap it is put together. */
  passesOut(wire: Wire): boolean {
    return this.#sink?.wire === undefined ? !this.#closed : this.#passes('out', joinedWire(wire))
  }

  /** Sees whether these are too many bytes that the client has not taken; resolves when it takes more. */
  measure(backlogBytes: number): Promise<void> {
    if (backlogBytes > this.#limits.backlogBytesHigh) this.#congestion.begin()
    else if (this.#congestion.end() && !this.#closed) this.#sink?.drained()
    return this.#congestion.relieved
  }

  /** Nothing more will come: what was asked is answered, and then the session ends. */
  ended(): void {
    if (!this.#closed) this.#sink?.ended()
  }

  /** Calls `before`, then tells the sink, once. */
  close(cause: TransportError | undefined, before: () => void): void {
    if (this.#closed) return
    this.#closed = true
    this.#cause = cause
    this.#held.length = 0
    this.#pause.end()
    before()
    this.#congestion.end()
    this.#sink?.closed(cause)
  }

  /** Shows a message to the tap; false when it must not pass. */
  #passes(direction: 'in' | 'out', line: Line): boolean {
    if (this.#closed) return false
    try {
      // With the line feed behind every message, by which a recording is cut.
      this.#sink?.wire?.(direction, Buffer.from(line.buffer, line.byteOffset, line.length + 1), true)
      return true
    } catch (error) {
      this.#tapFailed(new TransportError('TRANSPORT_TAP', 'the wire tap failed', { cause: error }))
      return false
    }
  }
}

/** The key of the request that a client gives up with this message. */
export function cancelledBy(frame: Frame): RequestId | undefined {
  if (frame.kind !== 'notification' || frame.method !== 'notifications/cancelled') return undefined
  const span = frame.params.members.span('requestId')
  return span && canonicalAt(frame.line, span.start, span.end)
}
