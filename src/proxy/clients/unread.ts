// The bytes that the clients of a proxy have not read yet, under one limit.
//
// A client that reads slowly holds back a server that works for it alone. One that
// shares its server with others must not hold back theirs, so what it does not read
// is kept, within one limit for all clients.

export interface SlowReader {
  readonly backlogBytes: number
  /** It is taken to be gone. Gives how many of its bytes are not kept any more: all, or those of one of several readers. */
  tooSlow(bytes: number): number
}

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

  remove(reader: SlowReader): void {
    this.#readers.delete(reader)
  }
}
