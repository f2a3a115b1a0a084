// Output that a client sees while it comes, as progress.
//
// A program may write faster than anybody reads, so that what comes within a moment is told at once, and of much only
// the end.

import type { Buffer } from 'node:buffer'
import { StringDecoder } from 'node:string_decoder'
import type { Runtime, Timer } from '../runtime/runtime.js'
import { TailBuffer } from './bounded-text.js'

const EVERY_MS = 100
/** Of one message. */
const SHOWN_BYTES_MAX = 8 * 1024

/** Tells what comes; `bytes` is how much there was in all. */
export type Tell = (bytes: number, text: string) => void

export class OutputProgress {
  readonly #runtime: Pick<Runtime, 'setTimer'>
  readonly #tell: Tell
  readonly #decoder = new StringDecoder('utf8')
  readonly #pending = new TailBuffer(SHOWN_BYTES_MAX)
  #bytes = 0
  #timer: Timer | undefined

  constructor(runtime: Pick<Runtime, 'setTimer'>, tell: Tell) {
    this.#runtime = runtime
    this.#tell = tell
  }

  push(chunk: Buffer): void {
    this.#bytes += chunk.length
    this.#pending.push(chunk)
    if (this.#timer === undefined) this.#send()
  }

  /** Tells nothing any more. */
  stop(): void {
    this.#timer?.cancel()
    this.#pending.clear()
  }

  #send(): void {
    const text = this.#decoder.write(this.#pending.content())
    this.#pending.clear()
    this.#tell(this.#bytes, text)
    this.#timer = this.#runtime.setTimer(EVERY_MS, () => {
      this.#timer = undefined
      if (this.#pending.length > 0) this.#send()
    })
  }
}
