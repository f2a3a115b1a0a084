// Two connected ends inside one process, for embedders and tests.

import type { Message } from '../jsonrpc/splice.js'
import type { Connection, Sink } from '../jsonrpc/connection.js'
import type { TransportError } from '../jsonrpc/jsonrpc-errors.js'
import { type Line, toLine } from '../jsonrpc/line.js'
import { passesTap } from './tap.js'

/** An end is congested above this number of bytes that the other end has not read. */
const BACKLOG_BYTES_HIGH = 1024 * 1024

/** A connection that needs no message head. */
export interface MemoryConnection extends Connection {
  send(message: Message): void
}

/** One end. Its messages arrive at the other end in a later turn, in order, as copies. */
class MemoryEnd implements MemoryConnection {
  readonly transport = 'memory'
  other: MemoryEnd | undefined
  #sink: Sink | undefined
  #queue: Line[] = []
  queuedBytes = 0
  #reading = true
  #scheduled = false
  #otherClosed = false
  congested = false
  #closed = false
  #cause: TransportError | undefined

  get backlogBytes(): number {
    return this.other?.queuedBytes ?? 0
  }

  start(sink: Sink): void {
    this.#sink = sink
    if (this.#closed) setImmediate(() => sink.closed(this.#cause))
    else this.#schedule()
  }

  send(message: Message): void {
    const bytes = message.joined
    if (!this.#closed && this.#passes('out', bytes)) this.other?.accept(toLine(bytes))
    if (!this.#closed && this.backlogBytes > BACKLOG_BYTES_HIGH) this.congested = true
  }

  read(on: boolean): void {
    this.#reading = on
    this.#schedule()
  }

  close(): Promise<void> {
    this.#end(undefined)
    return Promise.resolve()
  }

  accept(line: Line): void {
    if (this.#closed) return
    this.#queue.push(line)
    this.queuedBytes += line.length
    this.#schedule()
  }

  /** The other end has read all messages. */
  relieve(): void {
    if (!this.congested) return
    this.congested = false
    if (!this.#closed) this.#sink?.drained()
  }

  /** Earlier messages of the other end still arrive. */
  closeAfterQueue(): void {
    this.#otherClosed = true
    this.relieve()
    this.#schedule()
  }

  #schedule(): void {
    if (this.#scheduled || this.#closed || !this.#reading || this.#sink === undefined) return
    this.#scheduled = true
    setImmediate(() => this.#deliver())
  }

  #deliver(): void {
    this.#scheduled = false
    const queue = this.#queue
    let delivered = 0
    for (const line of queue) {
      if (!this.#reading || this.#closed) break
      delivered++
      this.queuedBytes -= line.length
      if (this.#passes('in', line)) this.#sink?.message(line)
    }
    queue.splice(0, delivered)
    if (this.#closed || queue.length > 0) return
    this.other?.relieve()
    if (this.#otherClosed && this.#reading) this.#end(undefined)
  }

  #passes(direction: 'in' | 'out', bytes: Uint8Array): boolean {
    return passesTap(this.#sink, direction, bytes, (cause) => this.#end(cause), true)
  }

  #end(cause: TransportError | undefined): void {
    if (this.#closed) return
    this.#closed = true
    this.#cause = cause
    this.#queue = []
    this.queuedBytes = 0
    this.congested = false
    this.other?.closeAfterQueue()
    this.#sink?.closed(cause)
  }
}

/** Makes two connected ends: each receives the messages that the other sends. */
export function memoryPair(): [MemoryConnection, MemoryConnection] {
  const left = new MemoryEnd()
  const right = new MemoryEnd()
  left.other = right
  right.other = left
  return [left, right]
}
