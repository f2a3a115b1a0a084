// Pauses a stream until the end of a turn of the event loop once it has delivered enough.
//
// Node reads a stream up to 32 times in one turn as long as every read fills its
// buffer, and two megabytes of small messages make all other work wait. So after
// some work the stream is not read until the turn ends. A read that does not
// fill the buffer ends the turn by itself, and the stream is not paused for it.

import type { Readable } from 'node:stream'

/** The size of one read of Node. */
export const FULL_READ_BYTES: number = 64 * 1024

/** Work of one turn, in reads; large messages cost little for each byte. */
const READS_MAX = 4

/** So many messages are as much work as a read. */
const MESSAGES_A_READ = 128

export class ReadThrottle {
  readonly #input: Readable
  #wanted = true
  #work = 0
  #isHeld = false

  constructor(input: Readable) {
    this.#input = input
  }

  /** Whether the stream is to be read at all. */
  want(on: boolean): void {
    this.#wanted = on
    if (!on) this.#input.pause()
    else if (!this.#isHeld) this.#input.resume()
  }

  /** A full read has been worked off; `messages` came out of it. */
  worked(messages: number): void {
    if (this.#work === 0) setImmediate(this.#turn)
    this.#work += 1 + messages / MESSAGES_A_READ
    if (this.#work < READS_MAX || this.#isHeld) return
    this.#isHeld = true
    this.#input.pause()
  }

  readonly #turn = (): void => {
    this.#work = 0
    if (!this.#isHeld) return
    this.#isHeld = false
    if (this.#wanted) this.#input.resume()
  }
}
