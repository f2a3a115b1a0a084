// How messages of an HTTP client reach its sink, the same for both transports.

import type { FieldReader, Sink } from '../../jsonrpc/connection.js'
import type { TransportError } from '../../jsonrpc/jsonrpc-errors.js'
import { type Wire, joinedWire } from '../../jsonrpc/fast/splice-parts.js'
import type { Frame } from '../../jsonrpc/frame.js'
import type { Line } from '../../jsonrpc/line.js'
import type { RequestId } from '../../jsonrpc/request-id.js'
import { cancelledId } from '../../mcp/methods.js'
import { messagePassesTap } from '../tap.js'
import type { HttpServerLimits } from './front-limits.js'

/** Delivers to one sink until it is closed. */
export class ClientInbox {
  readonly #limits: HttpServerLimits
  readonly #tapFailed: (cause: TransportError) => void
  #sink: Sink | undefined
  /** Whether the client leaves too much unread. */
  congested = false
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

  start(sink: Sink): void {
    this.#sink = sink
    if (this.#closed) setImmediate(() => sink.closed(this.#cause))
  }

  /** Delivers a message that was read already; false when it was not delivered. */
  frame(frame: Frame, field: FieldReader | undefined): boolean {
    if (!this.#passes('in', frame.line)) return false
    if (this.#sink?.received === undefined) this.#sink?.message(frame.line)
    else this.#sink.received(frame, undefined, field)
    return true
  }

  /** The client does not want the answer to this request any more. */
  gaveUp(key: RequestId): void {
    if (!this.#closed) this.#sink?.gaveUp?.(key)
  }

  /** A message to the client cannot be delivered. The failure is reported in a later turn, after its sender has returned. */
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

  /** Sees whether these are too many bytes that the client has not taken. */
  measure(backlogBytes: number): void {
    const was = this.congested
    this.congested = backlogBytes > this.#limits.backlogBytesHigh
    if (was && !this.congested && !this.#closed) this.#sink?.drained()
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
    before()
    this.congested = false
    this.#sink?.closed(cause)
  }

  /** Shows a message to the tap; false when it must not pass. */
  #passes(direction: 'in' | 'out', line: Line): boolean {
    return !this.#closed && messagePassesTap(this.#sink, direction, line, this.#tapFailed)
  }
}

/** The key of the request that a client gives up with this message. */
export function cancelledBy(frame: Frame): RequestId | undefined {
  if (frame.kind !== 'notification' || frame.method !== 'notifications/cancelled') return undefined
  return cancelledId(frame)
}
