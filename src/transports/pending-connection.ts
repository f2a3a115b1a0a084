// Stands for a connection while it is being made: while code is loaded, or values are fetched that it needs.

import type { Message } from '../jsonrpc/splice.js'
import type { Connection, MessageHead, Sink } from '../jsonrpc/connection.js'
import { TransportError } from '../jsonrpc/jsonrpc-errors.js'
import { Deferred } from '../runtime/deferred.js'
import { errorText } from '../text/error-text.js'

/** Stands for the connection that `made` resolves to; a rejection closes it. */
export class PendingConnection implements Connection {
  readonly #end = new Deferred<TransportError | undefined>()
  readonly #made: Promise<void>
  #current: Connection | undefined
  #sink: Sink | undefined
  /** Messages that were sent before the connection was made. */
  #waiting: { readonly message: Message; readonly head: MessageHead }[] = []
  #isReading = true
  #isClosing = false

  constructor(made: Promise<Connection>) {
    this.#made = made.then(
      (connection) => this.#join(connection),
      (error: unknown) => this.#end.resolve(asTransportError(error)),
    )
  }

  /** Resolves when it has closed, with the cause if there is one. */
  get ended(): Promise<TransportError | undefined> {
    return this.#end.promise
  }

  get congested(): boolean {
    return this.#current?.congested ?? false
  }

  get backlogBytes(): number {
    return this.#current?.backlogBytes ?? this.#waiting.reduce((sum, { message }) => sum + message.length, 0)
  }

  start(sink: Sink): void {
    this.#sink = sink
    this.#startCurrent()
    void this.ended.then((cause) => sink.closed(cause))
  }

  send(message: Message, head: MessageHead): void {
    if (this.#current !== undefined) this.#current.send(message, head)
    else if (!this.#isClosing) this.#waiting.push({ message, head })
  }

  read(on: boolean): void {
    this.#isReading = on
    this.#current?.read(on)
  }

  async close(): Promise<void> {
    this.#isClosing = true
    await this.#made
    await this.#current?.close()
    this.#end.resolve(undefined)
  }

  #join(connection: Connection): void {
    this.#current = connection
    this.#startCurrent()
    for (const { message, head } of this.#waiting.splice(0)) this.#current.send(message, head)
  }

  #startCurrent(): void {
    if (!this.#isReading) this.#current?.read(false)
    if (this.#sink !== undefined)
      this.#current?.start({ ...this.#sink, closed: (cause) => this.#end.resolve(cause) })
  }
}

function asTransportError(error: unknown): TransportError {
  if (error instanceof TransportError) return error
  return new TransportError('TRANSPORT_IO', errorText(error), { cause: error })
}
