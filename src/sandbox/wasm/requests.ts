// What the service writes to a host of WebAssembly, read as the code inside asks for it.
//
// WebAssembly waits for nothing but what its host does before it returns, so that reading here stops the whole process.

import { Buffer } from 'node:buffer'
import { readSync, writeSync } from 'node:fs'
import { rest } from '../guest/write-fully.js'

const STDIN = 0

/** The pipe on which the service hears that code can be run. */
const READY = 3

const CHUNK_BYTES = 64 * 1024
const LF = 0x0a

/** How long to wait for more where the system does not wait by itself. */
const PAUSE_MS = 5

/** The bytes of stdin, in the order in which they come. */
export class Requests {
  #held: Buffer = Buffer.alloc(0)

  /** Up to and without the next line feed; undefined once nobody is left who writes. */
  line(): string | undefined {
    let end = this.#held.indexOf(LF)
    while (end === -1) {
      const more = read(CHUNK_BYTES)
      if (more.length === 0) return undefined
      const before = this.#held.length
      this.#held = Buffer.concat([this.#held, more])
      end = this.#held.indexOf(LF, before)
    }
    const line = this.#held.toString('utf8', 0, end)
    this.#held = this.#held.subarray(end + 1)
    return line
  }

  /** At least one byte, unless nobody is left who writes. */
  bytes(most: number): Uint8Array {
    if (this.#held.length === 0) return read(most)
    const part = this.#held.subarray(0, most)
    this.#held = this.#held.subarray(part.length)
    return part
  }
}

/** Code can be run from now on. */
export function tellReady(): void {
  try {
    writeSync(READY, '.')
  } catch {
    // Nobody waits for it.
  }
}

function read(most: number): Buffer {
  const bytes = Buffer.alloc(Math.min(most, CHUNK_BYTES))
  for (;;) {
    try {
      return bytes.subarray(0, readSync(STDIN, bytes, 0, bytes.length, null))
    } catch (error) {
      const code = error instanceof Error && 'code' in error ? error.code : undefined
      // Windows says so of a pipe that has ended.
      if (code === 'EOF') return Buffer.alloc(0)
      if (code !== 'EAGAIN') throw error
      rest(PAUSE_MS)
    }
  }
}
