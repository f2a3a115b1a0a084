// One end of a channel between two instances.

import type { PeerChannel, PeerSink } from '../transports/http-server/peers.js'

/** The most bytes of one message. */
const CHUNK_BYTES = 1_048_576 // 1 MiB
/** The most unacknowledged bytes of one channel. */
const WINDOW_BYTES = 2 * CHUNK_BYTES
/** An end acknowledges received bytes when there are this many. */
const TAKEN_BYTES = CHUNK_BYTES / 2

/** Sends the messages of one end of a channel. */
export interface ChannelWire {
  /** Returns false while too many bytes are on the way to other instances. */
  hasRoom(): boolean
  data(bytes: Buffer, isLast: boolean): void
  /** Acknowledges `bytes` more received bytes. */
  taken(bytes: number): void
  cut(): void
  /** Adds `bytes` to the number of bytes on the way. A negative number lowers it. */
  count(bytes: number): void
  onEnd(): void
}

const nobody: PeerSink = { data: () => {}, end: () => {}, gone: () => {}, drained: () => {} }

export class Channel implements PeerChannel {
  sink: PeerSink = nobody
  readonly #wire: ChannelWire
  #queue: Uint8Array[] = []
  unsentBytes = 0
  #onTheWayBytes = 0
  #takenBytes = 0
  /** The outgoing direction: `end` was called, and then the last message has left. */
  #isEnding = false
  #hasEnded = false
  #isEndedByOther = false
  #isOver = false
  #willFlush = false

  constructor(wire: ChannelWire) {
    this.#wire = wire
  }

  write(pieces: readonly Uint8Array[]): void {
    if (this.#isEnding || this.#isOver) return
    this.#queue.push(...pieces)
    for (const piece of pieces) this.unsentBytes += piece.length
    this.#flushSoon()
  }

  end(): void {
    this.#isEnding = true
    this.#flushSoon()
  }

  cut(): void {
    if (this.#isOver) return
    this.#wire.cut()
    this.#finish()
  }

  onConsumed(bytes: number): void {
    this.#takenBytes += bytes
    if (this.#takenBytes < TAKEN_BYTES || this.#isOver) return
    this.#wire.taken(this.#takenBytes)
    this.#takenBytes = 0
  }

  // Received messages.

  received(bytes: Buffer, isLast: boolean): void {
    if (bytes.length > 0) this.sink.data(bytes)
    if (!isLast || this.#isOver) return
    this.#isEndedByOther = true
    // The sink may call `cut` within `end`. The ended channel then sends no message.
    if (this.#hasEnded) this.#finish()
    this.sink.end()
  }

  wasTaken(bytes: number): void {
    this.#count(-Math.min(bytes, this.#onTheWayBytes))
    this.flush()
  }

  lost(): void {
    if (this.#isOver) return
    this.#finish()
    this.sink.gone()
  }

  flush(): void {
    const isFull = this.unsentBytes > 0
    while (!this.#isOver && !this.#hasEnded && (this.unsentBytes > 0 || this.#isEnding)) {
      if (this.#onTheWayBytes >= WINDOW_BYTES || !this.#wire.hasRoom()) return
      const bytes = this.#next()
      this.#hasEnded = this.#isEnding && this.unsentBytes === 0
      this.#count(bytes.length)
      this.#wire.data(bytes, this.#hasEnded)
      if (this.#hasEnded && this.#isEndedByOther) this.#finish()
    }
    if (isFull && this.unsentBytes === 0) this.sink.drained()
  }

  /** Sends all writes of one turn of the event loop together. */
  #flushSoon(): void {
    if (this.#willFlush) return
    this.#willFlush = true
    queueMicrotask(() => {
      this.#willFlush = false
      this.flush()
    })
  }

  #next(): Buffer {
    const pieces: Uint8Array[] = []
    let room = CHUNK_BYTES
    for (let piece = this.#queue.shift(); piece !== undefined; piece = this.#queue.shift()) {
      pieces.push(piece.subarray(0, room))
      if (piece.length > room) this.#queue.unshift(piece.subarray(room))
      room = Math.max(0, room - piece.length)
      if (room === 0) break
    }
    this.unsentBytes -= CHUNK_BYTES - room
    return Buffer.concat(pieces)
  }

  #count(bytes: number): void {
    this.#onTheWayBytes += bytes
    this.#wire.count(bytes)
  }

  #finish(): void {
    this.#isOver = true
    this.#queue = []
    this.unsentBytes = 0
    this.#count(-this.#onTheWayBytes)
    this.#wire.onEnd()
  }
}
