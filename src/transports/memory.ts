// Two connected ends inside one process, for embedders and tests.

import type { Connection, Sink } from '../jsonrpc/connection.js'
import { TransportError } from '../jsonrpc/errors.js'
import { toLine } from '../jsonrpc/line.js'
import type { WireBytes } from '../jsonrpc/splice.js'

const DONE = Promise.resolve()

/** One end; what it sends arrives at the other in a later turn, in order, as a copy. */
class MemoryEnd implements Connection {
  #other: MemoryEnd | undefined
  #sink: Sink | undefined
  #queue: WireBytes[] = []
  #reading = true
  #scheduled = false
  #closed = false
  readonly congested = false

  get backlogBytes(): number {
    return this.#other?.queuedBytes ?? 0
  }

  get queuedBytes(): number {
    return this.#queue.reduce((sum, message) => sum + message.length, 0)
  }

  join(other: MemoryEnd): void {
    this.#other = other
  }

  start(sink: Sink): void {
    this.#sink = sink
    this.#schedule()
  }

  send(bytes: WireBytes): Promise<void> {
    if (this.#closed) return DONE
    if (this.#watch('out', bytes)) this.#other?.accept(bytes)
    return DONE
  }

  read(on: boolean): void {
    this.#reading = on
    this.#schedule()
  }

  close(): Promise<void> {
    this.#end()
    this.#other?.closeAfterQueue()
    return DONE
  }

  accept(bytes: WireBytes): void {
    if (this.#closed) return
    this.#queue.push(bytes)
    this.#schedule()
  }

  /** The other end has closed: what it sent before still arrives. */
  closeAfterQueue(): void {
    setImmediate(() => {
      this.#deliver()
      this.#end()
    })
  }

  #schedule(): void {
    if (this.#scheduled || !this.#reading || this.#sink === undefined) return
    this.#scheduled = true
    setImmediate(() => this.#deliver())
  }

  #deliver(): void {
    this.#scheduled = false
    while (this.#reading && !this.#closed) {
      const message = this.#queue.shift()
      if (message === undefined) return
      const line = toLine(message)
      if (this.#watch('in', line)) this.#sink?.message(line)
    }
  }

  #watch(direction: 'in' | 'out', bytes: Uint8Array): boolean {
    try {
      this.#sink?.wire?.(direction, bytes)
      return true
    } catch (error) {
      this.#end(new TransportError('TRANSPORT_TAP', 'the wire tap failed', { cause: error }))
      this.#other?.closeAfterQueue()
      return false
    }
  }

  #end(cause?: TransportError): void {
    if (this.#closed) return
    this.#closed = true
    this.#queue = []
    this.#sink?.closed(cause)
  }
}

/** Two ends of one channel: what one sends, the other receives. */
export function memoryPair(): [Connection, Connection] {
  const left = new MemoryEnd()
  const right = new MemoryEnd()
  left.join(right)
  right.join(left)
  return [left, right]
}
