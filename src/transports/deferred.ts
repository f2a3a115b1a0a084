// A connection that is still being made: what is sent meanwhile waits for it.

import type { Connection, MessageHead, Sink } from '../jsonrpc/connection.js'
import { TransportError } from '../jsonrpc/errors.js'
import type { WireBytes } from '../jsonrpc/splice.js'
import { sinkWith } from './sink.js'

interface Waiting {
  readonly bytes: WireBytes
  readonly head: MessageHead
}

/** Stands for the connection that `made` resolves to; a rejection closes it. */
export class DeferredConnection implements Connection {
  /** Resolves when it has closed, with the cause if there is one. */
  readonly ended: Promise<TransportError | undefined>
  readonly #made: Promise<Connection>
  #inner: Connection | undefined
  #sink: Sink | undefined
  #waiting: Waiting[] = []
  #reading = true
  #closed = false
  #closing: Promise<void> | undefined
  #resolve: (cause: TransportError | undefined) => void = () => {}

  constructor(made: Promise<Connection>) {
    this.ended = new Promise((resolve) => {
      this.#resolve = resolve
    })
    this.#made = made
    made.then(
      (inner) => this.#join(inner),
      (error: unknown) => this.#end(asTransportError(error)),
    )
  }

  get congested(): boolean {
    return this.#inner?.congested ?? false
  }

  get backlogBytes(): number {
    return this.#inner?.backlogBytes ?? this.#waiting.reduce((sum, { bytes }) => sum + bytes.length, 0)
  }

  start(sink: Sink): void {
    this.#sink = sinkWith(sink, { closed: (cause) => this.#end(cause, sink) })
    if (this.#closed) setImmediate(() => sink.closed(undefined))
    else this.#inner?.start(this.#sink)
  }

  send(bytes: WireBytes, head: MessageHead): Promise<void> {
    if (this.#inner !== undefined) return this.#inner.send(bytes, head)
    if (!this.#closed && this.#closing === undefined) this.#waiting.push({ bytes, head })
    return Promise.resolve()
  }

  read(on: boolean): void {
    this.#reading = on
    this.#inner?.read(on)
  }

  close(): Promise<void> {
    this.#closing ??= this.#made.then(
      (inner) => inner.close(),
      () => {},
    )
    return this.#closing.finally(() => this.#end(undefined))
  }

  #join(inner: Connection): void {
    this.#inner = inner
    if (this.#closed) return void inner.close()
    if (!this.#reading) inner.read(false)
    if (this.#sink !== undefined) inner.start(this.#sink)
    const waiting = this.#waiting
    this.#waiting = []
    for (const { bytes, head } of waiting) void inner.send(bytes, head)
  }

  #end(cause: TransportError | undefined, sink = this.#sink): void {
    if (this.#closed) return
    this.#closed = true
    this.#waiting = []
    this.#resolve(cause)
    sink?.closed(cause)
  }
}

function asTransportError(error: unknown): TransportError {
  if (error instanceof TransportError) return error
  const message = error instanceof Error ? error.message : String(error)
  return new TransportError('TRANSPORT_IO', message, { cause: error })
}
