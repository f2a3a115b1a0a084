// Pauses a stream until the end of a turn of the event loop once it has delivered enough.
//
// Node reads a stream up to 32 times in one turn while every read fills its buffer, and two megabytes of
// small messages delay all other work. So after some work, the stream is paused until the turn ends. A read
// that does not fill the buffer ends the turn by itself, so the stream is not paused for it.

import type { Readable } from 'node:stream'

/** The size of one read of Node. */
export const FULL_READ_BYTES: number = 64 * 1024

/** The work of one turn, in reads; large messages cost little per byte. */
const READS_MAX = 4

/** As much work as one read. */
const MESSAGES_A_READ = 128

export class ReadThrottle {
  readonly #input: Readable
  #shouldRead = true
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

  /** Counts a full read that contained `messages` messages. */
  worked(messages: number): void {
    if (this.#work === 0) setImmediate(this.#turn)
    this.#work += 1 + messages / MESSAGES_A_READ
    if (this.#work < READS_MAX || this.#isPaused) return
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
