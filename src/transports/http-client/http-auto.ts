// The choice between the two HTTP transports, made by the first request.
//
// MCP 2025-03-26, Transports, backwards compatibility: POST an `initialize`; where
// that is refused with 400, 404 or 405 and not in JSON-RPC, the address may be
// that of an older server, which answers a GET with an event stream. Whoever takes
// no POST at all (405) may say so in JSON-RPC.

import type { Connection, MessageHead, Sink } from '../../jsonrpc/connection.js'
import type { TransportError } from '../../jsonrpc/errors.js'
import type { RequestId } from '../../jsonrpc/request-id.js'
import type { WireBytes } from '../../jsonrpc/splice.js'
import { sinkWith } from '../sink.js'

const refusals: readonly unknown[] = [400, 404, 405]

/** Tries `newer`, and `older` when the server says that it knows nothing of the newer. */
export class AutoHttpConnection implements Connection {
  readonly #older: () => Connection
  /** The older one is what the server speaks. */
  readonly #chosen: () => void
  #current: Connection
  #sink: Sink | undefined
  /** The first request, until it is known where it belongs. */
  #first: { readonly bytes: WireBytes; readonly head: MessageHead } | undefined
  /** Why the newer one was refused, until the older one has said something. */
  #refusal: { readonly id: RequestId | undefined; readonly error: TransportError } | undefined
  #isSettled = false

  constructor(newer: Connection, older: () => Connection, chosen: () => void) {
    this.#current = newer
    this.#older = older
    this.#chosen = chosen
  }

  get congested(): boolean {
    return this.#current.congested
  }

  get backlogBytes(): number {
    return this.#current.backlogBytes
  }

  start(sink: Sink): void {
    this.#sink = sink
    this.#current.start(
      sinkWith(sink, {
        ...heardBy(sink, () => this.#settle()),
        failed: (id, error) => this.#failed(id, error),
        closed: (cause) => {
          if (this.#refusal === undefined) sink.closed(cause)
        },
      }),
    )
  }

  send(bytes: WireBytes, head: MessageHead): Promise<void> {
    if (!this.#isSettled) this.#first ??= { bytes, head }
    return this.#current.send(bytes, head)
  }

  read(on: boolean): void {
    this.#current.read(on)
  }

  close(): Promise<void> {
    return this.#current.close()
  }

  #settle(): void {
    this.#isSettled = true
    this.#first = undefined
  }

  #failed(id: RequestId | undefined, error: TransportError): void {
    const { body, status } = error.details ?? {}
    const isRefusal = error.code === 'TRANSPORT_STATUS' && (body !== undefined || status === 405)
    const first = this.#first
    this.#settle()
    if (first === undefined || !isRefusal || !refusals.includes(status))
      return this.#sink?.failed?.(id, error)
    this.#refusal = { id, error }
    this.#tryOlder(first.bytes, first.head)
  }

  #tryOlder(first: WireBytes, head: MessageHead): void {
    const newer = this.#current
    const sink = this.#sink
    this.#current = this.#older()
    void newer.close()
    if (sink === undefined) return
    let isOlder = false
    this.#current.start(
      sinkWith(sink, {
        ...heardBy(sink, () => {
          if (!isOlder) this.#chosen()
          isOlder = true
        }),
        // A server that speaks neither is described best by what it said first.
        closed: (cause) => sink.closed(isOlder || cause === undefined ? cause : this.#refusal?.error),
      }),
    )
    void this.#current.send(first, head)
  }
}

/** What brings a message, long or not; `heard` is told first. */
function heardBy(sink: Sink, heard: () => void): Pick<Sink, 'message' | 'long'> {
  const { long } = sink
  return {
    message: (line, during) => {
      heard()
      sink.message(line, during)
    },
    long:
      long &&
      ((message, during) => {
        heard()
        long(message, during)
      }),
  }
}
