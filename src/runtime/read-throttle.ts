// Pauses a stream until the end of a turn of the event loop once it has delivered enough.
//
// Node reads a stream up to 32 times in one turn while every read fills its buffer, and two megabytes of
// small messages delay all other work. A read that does not fill the buffer ends the turn by itself.

import type { Readable } from 'node:stream'

/** A shorter read ends the turn of its stream. One TLS record has this many bytes. */
const LARGE_READ_BYTES = 16 * 1024

/** Four full reads of Node. With fewer, large messages cost more. */
const TURN_BYTES_MAX = 256 * 1024

/** Handling a small message takes as long as reading this many bytes of a large one. */
const MESSAGE_BYTES = 512

export class ReadThrottle {
  readonly #input: Readable
  #shouldRead = true
  /** The work of the large reads in this turn, in bytes. */
  #work = 0
  #isPaused = false

  constructor(input: Readable) {
    this.#input = input
  }

  /** Resumes or pauses the stream. */
  setReading(on: boolean): void {
    this.#shouldRead = on
    if (!on) this.#input.pause()
    else if (!this.#isPaused) this.#input.resume()
  }

  /** Counts a read, after its bytes were handled; `messages` is the number of messages that ended in it. */
  onRead({ length }: Uint8Array, messages = 0): void {
    if (length < LARGE_READ_BYTES) return
    if (this.#work === 0) setImmediate(this.#turn)
    this.#work += length + messages * MESSAGE_BYTES
    if (this.#work < TURN_BYTES_MAX || this.#isPaused) return
    this.#isPaused = true
    this.#input.pause()
  }

  readonly #turn = (): void => {
    this.#work = 0
    if (!this.#isPaused) return
    this.#isPaused = false
    if (this.#shouldRead) this.#input.resume()
  }
}
