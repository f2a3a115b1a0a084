// One channel between two instances, of which each has one end.

import type { PeerChannel, PeerSink } from '../transports/http-server/peers.js'

/** A message has at most so many bytes. */
const CHUNK_BYTES = 1_048_576 // 1 MiB
/** Bytes of one channel that may be on the way. */
const WINDOW_BYTES = 2 * CHUNK_BYTES
/** After how many bytes the other end learns that they were taken. */
const TAKEN_BYTES = CHUNK_BYTES / 2

/** The messages of a channel, as its end sends them. */
export interface ChannelWire {
  /** False while so much is on the way to other instances that nothing more may leave. */
  readonly hasRoom: boolean
  data(bytes: Buffer, isLast: boolean): void
  /** So many bytes were taken since the last time. */
  taken(bytes: number): void
  cut(): void
  /** Counts bytes that are on the way now, or, where there are less than zero, that are not any more. */
  count(bytes: number): void
  /** The channel is over. */
  onEnd(): void
}

const nobody: PeerSink = { data: () => {}, end: () => {}, gone: () => {}, drained: () => {} }

export class Channel implements PeerChannel {
  sink: PeerSink = nobody
  readonly #wire: ChannelWire
  #queue: Uint8Array[] = []
  #queuedBytes = 0
  #onTheWayBytes = 0
  #takenBytes = 0
  /** Of this direction: nothing more is written, and the last message has left. */
  #isEnding = false
  #hasEnded = false
  #isEndedByOther = false
  #isOver = false
  #willFlush = false

  constructor(wire: ChannelWire) {
    this.#wire = wire
  }

  get unsentBytes(): number {
    return this.#queuedBytes
  }

  write(pieces: readonly Uint8Array[]): void {
    if (this.#isEnding || this.#isOver) return
    this.#queue.push(...pieces)
    for (const piece of pieces) this.#queuedBytes += piece.length
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

  took(bytes: number): void {
    this.#takenBytes += bytes
    if (this.#takenBytes < TAKEN_BYTES || this.#isOver) return
    this.#wire.taken(this.#takenBytes)
    this.#takenBytes = 0
  }

  // For the messages that come.

  received(bytes: Buffer, isLast: boolean): void {
    if (bytes.length > 0) this.sink.data(bytes)
    if (!isLast || this.#isOver) return
    this.#isEndedByOther = true
    // The sink may cut what is over, which the other end need not hear.
    if (this.#hasEnded) this.#finish()
    this.sink.end()
  }

  wasTaken(bytes: number): void {
    this.#count(-Math.min(bytes, this.#onTheWayBytes))
    this.flush()
  }

  /** The other end is gone. */
  lost(): void {
    if (this.#isOver) return
    this.#finish()
    this.sink.gone()
  }

  flush(): void {
    const isFull = this.#queuedBytes > 0
    while (!this.#isOver && !this.#hasEnded && (this.#queuedBytes > 0 || this.#isEnding)) {
      if (this.#onTheWayBytes >= WINDOW_BYTES || !this.#wire.hasRoom) return
      const bytes = this.#next()
      this.#hasEnded = this.#isEnding && this.#queuedBytes === 0
      this.#count(bytes.length)
      this.#wire.data(bytes, this.#hasEnded)
      if (this.#hasEnded && this.#isEndedByOther) this.#finish()
    }
    if (isFull && this.#queuedBytes === 0) this.sink.drained()
  }

  /** Messages that are written in one turn leave together. */
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
    this.#queuedBytes -= CHUNK_BYTES - room
    return Buffer.concat(pieces)
  }

  #count(bytes: number): void {
    this.#onTheWayBytes += bytes
    this.#wire.count(bytes)
  }

  #finish(): void {
    this.#isOver = true
    this.#queue = []
    this.#queuedBytes = 0
    this.#count(-this.#onTheWayBytes)
    this.#wire.onEnd()
  }
}
