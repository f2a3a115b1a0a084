// Lines on their way into a recording.
//
// Lines are handed over in memory and written in turn, so that no frame waits for
// the disk. When writing fails, or falls too far behind, everything that is handed
// over afterwards is refused: an audit that fails must not pass traffic.

import { Buffer } from 'node:buffer'
import { writeSync } from 'node:fs'
import type { FileHandle } from 'node:fs/promises'
import process from 'node:process'
import { TransportError } from '../jsonrpc/errors.js'

/** How long a line may stay in memory. */
const FLUSH_MS = 200

/** What may wait for a slow disk. */
const WAITING_BYTES_MAX = 256 * 1024 * 1024

/** Appends lines in order, one write at a time. */
export class RecordWriter {
  readonly #file: string
  readonly #handle: FileHandle
  #waiting: Buffer[] = []
  #bytes = 0
  #timer: NodeJS.Timeout | undefined
  #writing: Promise<void> | undefined
  #failure: TransportError | undefined
  readonly #lastWords = (): void => this.#writeNow()

  /** The handle, opened to append, is this writer's from now on. */
  constructor(file: string, handle: FileHandle) {
    this.#file = file
    this.#handle = handle
    process.on('exit', this.#lastWords)
  }

  /** @throws TransportError once the recording has a gap */
  check(): void {
    if (this.#failure !== undefined) throw this.#failure
  }

  /** Takes a line with its line end. @throws TransportError when it cannot be kept */
  add(line: Buffer): void {
    this.#waiting.push(line)
    this.#bytes += line.length
    if (this.#bytes > WAITING_BYTES_MAX) this.#fail(new Error('the disk takes it too slowly'))
    this.check()
    this.#timer ??= setTimeout(() => this.#flush(), FLUSH_MS).unref()
  }

  /** Writes what is left. @throws TransportError when that or anything before it failed */
  async close(): Promise<void> {
    process.off('exit', this.#lastWords)
    clearTimeout(this.#timer)
    await this.#writing
    await this.#append()
    await this.#handle.close()
    this.check()
  }

  #flush(): void {
    this.#timer = undefined
    this.#writing ??= this.#append().finally(() => {
      this.#writing = undefined
    })
  }

  /** Writes until nothing waits. */
  async #append(): Promise<void> {
    try {
      while (this.#waiting.length > 0 && this.#failure === undefined) {
        await this.#handle.appendFile(this.#take())
      }
    } catch (error) {
      this.#fail(error)
    }
  }

  /** The process ends without having closed us. */
  #writeNow(): void {
    if (this.#waiting.length === 0 || this.#failure !== undefined) return
    try {
      writeSync(this.#handle.fd, this.#take())
    } catch {
      // There is nobody left to tell.
    }
  }

  #take(): Buffer {
    const bytes = Buffer.concat(this.#waiting)
    this.#waiting = []
    this.#bytes = 0
    return bytes
  }

  #fail(error: unknown): void {
    const why = error instanceof Error ? error.message : String(error)
    this.#failure ??= new TransportError('TRANSPORT_TAP', `cannot record to ${this.#file}: ${why}`, {
      cause: error,
    })
  }
}
