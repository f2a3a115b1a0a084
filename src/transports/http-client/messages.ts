// The messages of the server of one connection, which go to the owner of the connection and to the tap.

import type { ReceivedMessage, Sink } from '../../jsonrpc/connection.js'
import type { TransportError } from '../../jsonrpc/errors.js'
import { type LongLine, joinedLine } from '../../jsonrpc/fast/long-line.js'
import type { Line } from '../../jsonrpc/line.js'
import type { RequestId } from '../../jsonrpc/request-id.js'
import type { LongLines } from '../long-lines.js'
import { messagePassesTap } from '../tap.js'
import { readMessages } from './envelope.js'

/** Passes on what the server says until the connection has closed. */
export class HttpMessages {
  /** Whether the owner takes messages now. */
  reading = true
  readonly #longLines: LongLines
  readonly #broken: (cause: TransportError) => void
  #sink: Sink | undefined
  #closed = false
  /** Why it has closed. */
  #cause: TransportError | undefined

  /** `broken` is called when the tap fails, since no traffic may pass without it. */
  constructor(longLines: LongLines, broken: (cause: TransportError) => void) {
    this.#longLines = longLines
    this.#broken = broken
  }

  get closed(): boolean {
    return this.#closed
  }

  start(sink: Sink): void {
    this.#sink = sink
    if (this.#closed) setImmediate(() => sink.closed(this.#cause))
  }

  close(cause: TransportError | undefined): void {
    if (this.#closed) return
    this.#closed = true
    this.#cause = cause
    this.#sink?.closed(cause)
  }

  /** Reads a body or an event, for callers that look into it before it is delivered. */
  read(message: Line | LongLine): readonly ReceivedMessage[] {
    return readMessages(message, this.#longLines, this.#sink?.frameLimits)
  }

  /** Hands on what was read in `message`; `during` is the request of ours on whose stream it came. */
  deliver(
    message: Line | LongLine,
    received: readonly ReceivedMessage[],
    during: RequestId | undefined,
  ): void {
    if (this.#closed) return
    if (this.#sink?.wire !== undefined && !this.passes('in', joinedLine(message))) return
    for (const each of received)
      if (this.#sink?.received === undefined) this.#sink?.message(each.line, during)
      else this.#sink.received(each, during)
  }

  /** Reads what the server says and hands it on. */
  message(message: Line | LongLine, during: RequestId | undefined): void {
    if (!this.#closed) this.deliver(message, this.read(message), during)
  }

  oversize(id: RequestId | undefined, bytes: number, isCall: boolean): void {
    if (!this.#closed) this.#sink?.oversize(id, bytes, isCall)
  }

  failed(id: RequestId | undefined, error: TransportError): void {
    if (!this.#closed) this.#sink?.failed?.(id, error)
  }

  missed(): void {
    if (!this.#closed) this.#sink?.missed?.()
  }

  /** The server takes messages again. */
  drained(): void {
    if (!this.#closed) this.#sink?.drained()
  }

  /** Whether the message may pass. Bodies are tapped as lines; headers, which hold credentials, are not. */
  passes(direction: 'in' | 'out', line: Line): boolean {
    return messagePassesTap(this.#sink, direction, line, this.#broken)
  }
}
