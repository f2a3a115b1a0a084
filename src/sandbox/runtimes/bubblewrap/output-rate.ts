// How fast the service reads what the programs of one machine write.
//
// Output that is too long for a result is read only to be dropped. A program that writes without end would take a processor of
// the host for itself and another one for the service. Bursts, such as a file that a client reads, pass at full speed.

import { Transform } from 'node:stream'
import type { Clock } from '../../../runtime/deadline.js'

const MiB = 1024 * 1024

export const BURST_BYTES: number = 16 * MiB
export const BYTES_A_SECOND: number = 64 * MiB

/** What a chunk costs besides its bytes: very many small ones take as long as large ones. */
const CHUNK_COST = 4096

/** The streams of one machine share the rate. */
export class OutputRate {
  readonly #clock: Clock
  #credit = BURST_BYTES
  #at: number

  constructor(clock: Clock) {
    this.#clock = clock
    this.#at = clock.now()
  }

  stream(): Transform {
    return new Transform({
      transform: (chunk: Buffer, _encoding, done) => {
        const delayMs = this.#delayOf(chunk.length)
        if (delayMs === 0) done(null, chunk)
        else this.#clock.setTimer(delayMs, () => done(null, chunk))
      },
    })
  }

  #delayOf(bytes: number): number {
    const now = this.#clock.now()
    const earned = ((now - this.#at) * BYTES_A_SECOND) / 1000
    this.#at = now
    this.#credit = Math.min(BURST_BYTES, this.#credit + earned) - bytes - CHUNK_COST
    return this.#credit >= 0 ? 0 : Math.ceil((-this.#credit * 1000) / BYTES_A_SECOND)
  }
}
