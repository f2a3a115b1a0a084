// What the clients of one proxy have not read yet, under one limit.
//
// A client that reads slowly holds back a server that works for it alone. One that
// shares its server with others must not hold back theirs, so what it does not read
// is kept, and somebody has to bound what is kept for all of them.

/** A client that has left something unread. */
export interface SlowReader {
  /** What it has left unread by now. */
  readonly backlogBytes: number
  /** It is taken to be gone, and nothing more is kept for it. */
  tooSlow(bytes: number): void
}

/** The clients that have left something unread. */
export class Unread {
  readonly #bytesMax: number
  readonly #readers = new Set<SlowReader>()

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax
  }

  /** There is more for this client; whoever has left most unread makes room when it is too much in all. */
  add(reader: SlowReader): void {
    this.#readers.add(reader)
    let bytes = 0
    for (const each of this.#readers) bytes += each.backlogBytes
    while (bytes > this.#bytesMax && this.#readers.size > 0) {
      const slowest = this.#slowest(reader)
      const freed = slowest.backlogBytes
      this.#readers.delete(slowest)
      slowest.tooSlow(freed)
      bytes -= freed
    }
  }

  /** It has read everything, or is gone. */
  remove(reader: SlowReader): void {
    this.#readers.delete(reader)
  }

  #slowest(otherwise: SlowReader): SlowReader {
    let slowest: SlowReader | undefined
    for (const reader of this.#readers)
      if (slowest === undefined || reader.backlogBytes > slowest.backlogBytes) slowest = reader
    return slowest ?? otherwise
  }
}
