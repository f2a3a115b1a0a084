// Lines on their way into a recording.
//
// Lines are handed over in memory and written in turn, so that no frame waits for
// the disk. When writing fails, or falls too far behind, everything that is handed
// over afterwards is refused: an audit that fails must not pass traffic.

import { Buffer } from 'node:buffer'
import { writeSync } from 'node:fs'
import type { FileHandle } from 'node:fs/promises'
import process from 'node:process'
import { TransportError } from '../jsonrpc/jsonrpc-errors.js'
import { errorText } from '../text/error-text.js'
import type { RecordLine } from './line.js'

/** How long a line may stay in memory. */
const FLUSH_MS = 200

/** Most bytes that wait for a slow disk. */
const WAITING_BYTES_MAX = 256 * 1024 * 1024

/** Up to here, pieces are written together. */
const WRITE_BYTES = 1024 * 1024

/** Appends lines in order, one write at a time. */
export class RecordWriter {
  readonly #file: string
  readonly #handle: FileHandle
  readonly #failed: (error: TransportError) => void
  #waiting: Buffer[] = []
  #bytes = 0
  #timer: NodeJS.Timeout | undefined
  #writing: Promise<void> | undefined
  #failure: TransportError | undefined
  readonly #lastWords = (): void => this.#writeNow()

  /** The handle, opened to append, is this writer's from now on; `failed` is called at most once. */
  constructor(file: string, handle: FileHandle, failed: (error: TransportError) => void = () => {}) {
    this.#file = file
    this.#handle = handle
    this.#failed = failed
    process.on('exit', this.#lastWords)
  }

  /** @throws TransportError once the recording has a gap */
  check(): void {
    if (this.#failure !== undefined) throw this.#failure
  }

  /** Takes a line with its line end. @throws TransportError when it cannot be kept */
  add(line: RecordLine): void {
    for (const part of line) {
      this.#waiting.push(part)
      this.#bytes += part.length
    }
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
        const bytes = this.#take()
        await this.#handle.appendFile(bytes)
        this.#bytes -= bytes.length
      }
      // Writing to a file that was removed succeeds, and the bytes are lost.
      if (this.#failure === undefined && (await this.#handle.stat()).nlink === 0)
        throw new Error('the file was removed')
    } catch (error) {
      this.#fail(error)
    }
  }

  /** Writes what is left when the process ends without `close`. */
  #writeNow(): void {
    if (this.#failure !== undefined) return
    try {
      while (this.#waiting.length > 0) writeSync(this.#handle.fd, this.#take())
    } catch {
      // The process ends, so the error cannot be reported.
    }
  }

  /** The next bytes to write: many small pieces, or one that is large. */
  #take(): Buffer {
    let count = 0
    for (let bytes = 0; count < this.#waiting.length; count++) {
      bytes += this.#waiting[count]?.length ?? 0
      if (bytes > WRITE_BYTES) break
    }
    const [first = EMPTY, ...others] = this.#waiting.splice(0, Math.max(1, count))
    return others.length === 0 ? first : Buffer.concat([first, ...others])
  }

  #fail(error: unknown): void {
    if (this.#failure !== undefined) return
    const why = errorText(error)
    const message = `cannot record to ${this.#file}: ${why}`
    this.#failure = new TransportError('TRANSPORT_TAP', message, { cause: error })
    this.#waiting = []
    this.#failed(this.#failure)
  }
}

const EMPTY = Buffer.alloc(0)
