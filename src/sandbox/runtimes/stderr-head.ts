// The beginning of what a program writes to stderr, for the error that says why it did not start.

import type { Readable } from 'node:stream'

const LENGTH_MAX = 2000

/** A program that writes more than this there is cut off. */
const BYTES_MAX = 256 * 1024

/** Reads stderr to its end, and keeps the beginning. */
export class StderrHead {
  text = ''
  #bytes = 0

  constructor(stderr: Readable) {
    stderr.on('error', () => undefined)
    stderr.on('data', (chunk: Buffer) => {
      this.#bytes += chunk.length
      if (this.#bytes > BYTES_MAX) stderr.destroy()
      if (this.text.length < LENGTH_MAX) this.text += chunk.toString().slice(0, LENGTH_MAX)
    })
  }

  /** For the end of a message. */
  get shown(): string {
    const text = this.text.trim()
    return text === '' ? '' : `: ${text}`
  }
}
