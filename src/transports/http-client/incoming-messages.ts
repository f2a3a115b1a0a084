// Passes messages of the server to the owner of the connection and to the tap.

import { isBatch, splitBatch } from '../../jsonrpc/batch.js'
import type { Sink } from '../../jsonrpc/connection.js'
import { TransportError } from '../../jsonrpc/errors.js'
import type { Line } from '../../jsonrpc/line.js'
import { LongLine } from '../../jsonrpc/fast/long-line.js'
import type { RequestId } from '../../jsonrpc/request-id.js'
import { LONG_BYTES_MIN, LongLines } from '../long-lines.js'

/** Hands messages to the sink of a connection until that has closed. */
export class IncomingMessages {
  readonly #broken: (cause: TransportError) => void
  readonly #longLines = new LongLines()
  #sink: Sink | undefined
  #closed = false

  /** `broken` is told of a tap that fails, which must not let traffic pass. */
  constructor(broken: (cause: TransportError) => void) {
    this.#broken = broken
  }

  get closed(): boolean {
    return this.#closed
  }

  start(sink: Sink): void {
    this.#sink = sink
    if (this.#closed) setImmediate(() => sink.closed(undefined))
  }

  /** `during` is the request of ours on whose stream it came. */
  message(message: Line | LongLine, during: RequestId | undefined): void {
    if (this.#closed) return
    if (message instanceof LongLine) return this.#inParts(message, during)
    if (!this.watch('in', message)) return
    if (!isBatch(message)) return this.#one(message, during)
    for (const member of messagesOf(message)) this.#sink?.message(member, during)
  }

  /** One that came in parts is no batch; only for a tap it is put together. */
  #inParts(long: LongLine, during: RequestId | undefined): void {
    const sink = this.#sink
    if (sink?.wire !== undefined && !this.watch('in', long.line)) return
    if (sink?.long === undefined) sink?.message(long.line, during)
    else sink.long(long, during)
  }

  #one(line: Line, during: RequestId | undefined): void {
    const isShort = line.length < LONG_BYTES_MIN || this.#sink?.long === undefined
    if (isShort) this.#sink?.message(line, during)
    else this.#sink?.long?.(this.#longLines.whole(line), during)
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

  drained(): void {
    if (!this.#closed) this.#sink?.drained()
  }

  close(cause: TransportError | undefined): void {
    if (this.#closed) return
    this.#closed = true
    this.#sink?.closed(cause)
  }

  /** Whether the message may pass. Bodies are tapped as lines; headers, which hold credentials, are not. */
  watch(direction: 'in' | 'out', line: Line): boolean {
    try {
      this.#sink?.wire?.(direction, Buffer.from(line.buffer, line.byteOffset, line.length + 1), true)
      return true
    } catch (error) {
      this.#broken(new TransportError('TRANSPORT_TAP', 'the wire tap failed', { cause: error }))
      return false
    }
  }
}

/** The messages of a batch; one that is broken goes on as it is, and is refused there. */
function messagesOf(line: Line): readonly Line[] {
  try {
    return splitBatch(line)
  } catch {
    return [line]
  }
}
