// Stands for a connection while it is being made: while code is loaded, or values are fetched that a program needs.

import type { Message } from '../jsonrpc/splice.js'
import type { Connection, MessageHead, Sink } from '../jsonrpc/connection.js'
import { TransportError } from '../jsonrpc/jsonrpc-errors.js'
import { errorText } from '../text/error-text.js'

/** Stands for the connection that `made` resolves to; a rejection closes it. */
export class PendingConnection implements Connection {
  /** Resolves when it has closed, with the cause if there is one. */
  readonly ended: Promise<TransportError | undefined>
  readonly #made: Promise<void>
  #current: Connection | undefined
  #sink: Sink | undefined
  /** Messages that were sent before the connection was made. */
  #waiting: { readonly message: Message; readonly head: MessageHead }[] = []
  #reading = true
  #closed = false
  /** Why it has closed. */
  #cause: TransportError | undefined
  #closing: Promise<void> | undefined
  #resolve: (cause: TransportError | undefined) => void = () => {}

  constructor(made: Promise<Connection>) {
    this.ended = new Promise((resolve) => {
      this.#resolve = resolve
    })
    this.#made = made.then(
      (connection) => this.#join(connection),
      (error: unknown) => this.#end(asTransportError(error)),
    )
  }

  get congested(): boolean {
    return this.#current?.congested ?? false
  }

  get backlogBytes(): number {
    return this.#current?.backlogBytes ?? this.#waiting.reduce((sum, { message }) => sum + message.length, 0)
  }

  start(sink: Sink): void {
    this.#sink = sink
    if (this.#closed) setImmediate(() => sink.closed(this.#cause))
    else this.#startCurrent()
  }

  send(message: Message, head: MessageHead): void {
    if (this.#current !== undefined) this.#current.send(message, head)
    else if (!this.#closed && this.#closing === undefined) this.#waiting.push({ message, head })
  }

  read(on: boolean): void {
    this.#reading = on
    this.#current?.read(on)
  }

  close(): Promise<void> {
    this.#closing ??= this.#made.then(() => this.#current?.close())
    return this.#closing.finally(() => this.#end(undefined))
  }

  #join(connection: Connection): void {
    this.#current = connection
    if (this.#closed) return void connection.close()
    this.#startCurrent()
    for (const { message, head } of this.#waiting.splice(0)) this.#current.send(message, head)
  }

  #startCurrent(): void {
    if (this.#current === undefined) return
    if (!this.#reading) this.#current.read(false)
    if (this.#sink !== undefined) this.#current.start({ ...this.#sink, closed: (cause) => this.#end(cause) })
  }

  #end(cause: TransportError | undefined): void {
    if (this.#closed) return
    this.#closed = true
    this.#cause = cause
    this.#waiting = []
    this.#resolve(cause)
    this.#sink?.closed(cause)
  }
}

function asTransportError(error: unknown): TransportError {
  if (error instanceof TransportError) return error
  const message = errorText(error)
  return new TransportError('TRANSPORT_IO', message, { cause: error })
}
