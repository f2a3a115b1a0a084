// A connection to a remote server: while it is being made, and until it is known which transport the server speaks.
//
// Messages that are sent before it is made wait for it. Only `initialize` chooses between the two HTTP transports (MCP
// 2025-03-26, Transports, backwards compatibility): if its POST is refused with 400, 404 or 405 and not in JSON-RPC, the
// address may be that of an older server, which answers a GET with an event stream. A server that accepts no POST (405) may
// refuse it in JSON-RPC.

import type { Connection, MessageHead, Sink } from '../../jsonrpc/connection.js'
import { TransportError } from '../../jsonrpc/errors.js'
import type { RequestId } from '../../jsonrpc/request-id.js'
import type { Outgoing } from '../../jsonrpc/fast/splice-parts.js'
import { errorText } from '../../text/error-text.js'

const refusals: readonly unknown[] = [400, 404, 405]

/** The connections to one server, of which one is used. */
export interface RemoteWays {
  /** The one that is tried. */
  readonly connection: Connection
  /** Makes the one to try when the server says that it knows nothing of the other; undefined where there is none. */
  readonly older?: () => Connection
  /** The older one is what the server speaks. */
  readonly chosen?: () => void
}

interface Sent {
  readonly message: Outgoing
  readonly head: MessageHead
}

/** Whether the server speaks the transport that is used: `open` until it has answered, `refused` while the older is tried. */
type Choice =
  | { readonly kind: 'open'; readonly first: Sent | undefined }
  | { readonly kind: 'refused'; readonly error: TransportError }
  | { readonly kind: 'made' }

/** Stands for the connection that `made` resolves to; a rejection closes it. */
export class RemoteConnection implements Connection {
  /** Resolves when it has closed, with the cause if there is one. */
  readonly ended: Promise<TransportError | undefined>
  readonly #made: Promise<void>
  #ways: RemoteWays | undefined
  #current: Connection | undefined
  #choice: Choice = { kind: 'open', first: undefined }
  #sink: Sink | undefined
  /** Messages that were sent before the connection was made. */
  #waiting: Sent[] = []
  #reading = true
  #closed = false
  /** Why it has closed. */
  #cause: TransportError | undefined
  #closing: Promise<void> | undefined
  #resolve: (cause: TransportError | undefined) => void = () => {}

  constructor(made: Promise<RemoteWays>) {
    this.ended = new Promise((resolve) => {
      this.#resolve = resolve
    })
    this.#made = made.then(
      (ways) => this.#join(ways),
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

  send(message: Outgoing, head: MessageHead): void {
    if (this.#choice.kind === 'open' && head.method === 'initialize')
      this.#choice = { kind: 'open', first: { message, head } }
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

  #join(ways: RemoteWays): void {
    this.#ways = ways
    this.#current = ways.connection
    if (this.#closed) return void ways.connection.close()
    this.#startCurrent()
    const waiting = this.#waiting
    this.#waiting = []
    for (const { message, head } of waiting) this.#current.send(message, head)
  }

  #startCurrent(): void {
    const connection = this.#current
    const sink = this.#sink
    if (connection === undefined) return
    if (!this.#reading) connection.read(false)
    if (sink !== undefined) connection.start(this.#sinkOf(connection, sink))
  }

  #sinkOf(connection: Connection, sink: Sink): Sink {
    const { received } = sink
    return {
      ...sink,
      message: (line, during) => {
        this.#heard()
        sink.message(line, during)
      },
      received:
        received &&
        ((message, during, field) => {
          this.#heard()
          received(message, during, field)
        }),
      failed: (id, error) => this.#failed(id, error),
      closed: (cause) => {
        if (connection === this.#current) this.#closedBy(cause)
      },
    }
  }

  #heard(): void {
    if (this.#choice.kind === 'made') return
    if (this.#choice.kind === 'refused') this.#ways?.chosen?.()
    this.#choice = { kind: 'made' }
  }

  #failed(id: RequestId | undefined, error: TransportError): void {
    const choice = this.#choice
    const older = this.#ways?.older
    const first = choice.kind === 'open' ? choice.first : undefined
    if (first !== undefined) this.#choice = { kind: 'made' }
    if (first === undefined || older === undefined || !isRefusal(error))
      return this.#sink?.failed?.(id, error)
    this.#choice = { kind: 'refused', error }
    const newer = this.#current
    this.#current = older()
    void newer?.close()
    this.#startCurrent()
    this.#current.send(first.message, first.head)
  }

  /** A server that speaks neither is described best by what it said first. */
  #closedBy(cause: TransportError | undefined): void {
    this.#end(this.#choice.kind === 'refused' && cause !== undefined ? this.#choice.error : cause)
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

/** Whether a server of the older transport may refuse like this. One that refuses the revision has read the message. */
function isRefusal({ code, details }: TransportError): boolean {
  const { body, status } = details ?? {}
  if (typeof body === 'string' && /protocol.?version/i.test(body)) return false
  return code === 'TRANSPORT_STATUS' && refusals.includes(status) && (body !== undefined || status === 405)
}

function asTransportError(error: unknown): TransportError {
  if (error instanceof TransportError) return error
  const message = errorText(error)
  return new TransportError('TRANSPORT_IO', message, { cause: error })
}
