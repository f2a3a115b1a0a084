// How messages of an HTTP client reach its sink, the same for both transports.

import type { Message } from '../../jsonrpc/splice.js'
import type { Reply, Sink } from '../../jsonrpc/connection.js'
import type { TransportError } from '../../jsonrpc/jsonrpc-errors.js'
import type { Frame } from '../../jsonrpc/frame.js'
import type { Line } from '../../jsonrpc/line.js'
import type { RequestId } from '../../jsonrpc/request-id.js'
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

  /** Delivers a message that was read already; `reply` is the way back of a request. */
  frame(frame: Frame, reply: Reply | undefined): void {
    if (!this.#passes('in', frame.line)) return
    if (this.#sink?.received === undefined) this.#sink?.message(frame.line, undefined, reply)
    else this.#sink.received(frame, undefined, reply)
  }

  /** The client has cancelled a request by closing its response. */
  gaveUp(reply: Reply): void {
    if (!this.#closed) this.#sink?.gaveUp?.(reply)
  }

  /** A message to the client cannot be delivered. The failure is reported in a later turn, after its sender has returned. */
  failed(id: RequestId | undefined, error: TransportError): void {
    setImmediate(() => {
      if (!this.#closed) this.#sink?.failed?.(id, error)
    })
  }

  message(line: Line, reply: Reply | undefined): void {
    if (this.#passes('in', line)) this.#sink?.message(line, undefined, reply)
  }

  /** The message as it leaves, put together for a tap alone; undefined when it must not leave. */
  passingOut(message: Message): Message | undefined {
    const passes = this.#sink?.wire === undefined ? !this.#closed : this.#passes('out', message.joined)
    return passes ? message : undefined
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
