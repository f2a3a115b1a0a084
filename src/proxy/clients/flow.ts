// Back-pressure from one client to its servers: a client that reads too slowly holds them back.
//
// A server that reads too slowly does not hold its clients back, since they have other servers: what it has not taken
// has a limit, and calls above that are refused.

import type { Connection } from '../../jsonrpc/connection.js'
import type { Peer } from '../../jsonrpc/peer.js'
import type { ClientContext } from './client-directory.js'

/** Stops the servers of a client that reads too slowly. */
export class Flow implements SlowReader {
  readonly connection: Connection
  readonly #peer: Pick<Peer<unknown>, 'close'>
  readonly #context: Pick<ClientContext, 'limits' | 'log' | 'unread'>
  readonly #readServers: (on: boolean) => void

  /** `readServers` stops or resumes reading what servers say to this client alone. */
  constructor(
    connection: Connection,
    peer: Pick<Peer<unknown>, 'close'>,
    context: Pick<ClientContext, 'limits' | 'log' | 'unread'>,
    readServers: (on: boolean) => void,
  ) {
    this.connection = connection
    this.#peer = peer
    this.#context = context
    this.#readServers = readServers
  }

  /** Something was sent to the client, which may have more bytes to read now than it takes at once. */
  sent(): void {
    if (!this.connection.congested) return
    this.#readServers(false)
    if (this.backlogBytes > this.#context.limits.session.backlogBytesMax) this.tooSlow(this.backlogBytes)
    else this.#context.unread.add(this)
  }

  get backlogBytes(): number {
    return this.connection.backlogBytes
  }

  /** The client leaves more unread than anyone should keep. */
  tooSlow(bytes: number): number {
    const cut = this.connection.cutSlowest?.() ?? 0
    if (cut > 0) {
      const message = `a client without a session leaves ${cut} bytes of an answer unread: its connection is cut`
      this.#context.log({ level: 'error', message })
      return cut
    }
    const message = `the client leaves ${bytes} bytes unread and is disconnected`
    this.#context.log({ level: 'error', message })
    void this.#peer.close(true)
    return bytes
  }

  /** The client is gone. */
  ended(): void {
    this.#context.unread.remove(this)
  }

  /** The client takes bytes again. */
  drained(): void {
    this.#context.unread.remove(this)
    this.#readServers(true)
  }
}

// The bytes that the clients of a proxy have not read yet, under one limit.
//
// A client that reads slowly holds back a server that works for it alone. One that
// shares its server with others must not hold back theirs, so what it does not read
// is kept, within one limit for all clients.

/** A client that has left something unread. */
export interface SlowReader {
  /** The bytes that it has not read yet. */
  readonly backlogBytes: number
  /** It is taken to be gone. Gives how many of its bytes are not kept any more: all, or those of one of several readers. */
  tooSlow(bytes: number): number
}

/** The clients that have left something unread. */
export class Unread {
  readonly #bytesMax: number
  readonly #readers = new Set<SlowReader>()

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax
  }

  /** There is more for this client; above the limit the client with the most unread bytes makes room. */
  add(reader: SlowReader): void {
    this.#readers.add(reader)
    let bytes = 0
    for (const { backlogBytes } of this.#readers) bytes += backlogBytes
    if (bytes <= this.#bytesMax) return
    for (const slowest of [...this.#readers].sort((one, other) => other.backlogBytes - one.backlogBytes)) {
      const left = slowest.backlogBytes
      const freed = slowest.tooSlow(left)
      if (freed >= left) this.#readers.delete(slowest)
      bytes -= freed
      if (bytes <= this.#bytesMax) return
    }
  }

  /** It has read everything, or is gone. */
  remove(reader: SlowReader): void {
    this.#readers.delete(reader)
  }
}
