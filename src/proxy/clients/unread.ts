// One limit for the bytes that the clients of a proxy have not read yet.
//
// A slow client holds back a server that works for this client alone. A client that shares its server must
// not hold back the others, so the proxy keeps the unread bytes, up to this limit.

import type { AttachedClient } from './attached-client.js'

export type SlowReader = Pick<AttachedClient, 'backlogBytes' | 'disconnectSlow'>

export class Unread {
  readonly #bytesMax: number
  readonly #readers = new Set<SlowReader>()

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax
  }

  /** Counts a reader with unread bytes. Above the limit, the readers with the most unread bytes are disconnected. */
  add(reader: SlowReader): void {
    this.#readers.add(reader)
    let bytes = 0
    for (const { backlogBytes } of this.#readers) bytes += backlogBytes
    if (bytes <= this.#bytesMax) return
    for (const slowest of [...this.#readers].sort((one, other) => other.backlogBytes - one.backlogBytes)) {
      const left = slowest.backlogBytes
      const freed = slowest.disconnectSlow(left)
      if (freed >= left) this.#readers.delete(slowest)
      bytes -= freed
      if (bytes <= this.#bytesMax) return
    }
  }

  remove(reader: SlowReader): void {
    this.#readers.delete(reader)
  }
}
