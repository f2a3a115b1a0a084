// The log file: appended to in batches, rotated by size, and never a reason
// for the proxy to fail. While it cannot be written, on a full disk perhaps, lines
// are dropped and counted, and it is tried again from time to time.
//
// Several proxies may write the same file, since every client starts its own.
// So the file is looked at before each batch: when another process rotated it,
// it is opened again instead of being rotated twice.

import { type Stats, constants, fstatSync } from 'node:fs'
import { mkdir, open, rename, rm, stat } from 'node:fs/promises'
import type { FileHandle } from 'node:fs/promises'
import { dirname } from 'node:path'
import { errorCode, errorText } from '../text/error-text.js'

/** Text that waits for a slow disk, in UTF-16 units; what comes on top is dropped and counted. */
const pendingLengthMax = 4 * 1024 * 1024

/** Text written at once, in UTF-16 units, so that a file passes its limit by little. */
const batchLengthMax = 64 * 1024

/** How long a file that cannot be written is left alone. */
const retryMs = 30_000

export interface RotatingFileOptions {
  /** Absolute. */
  readonly path: string
  readonly maxSizeBytes: number
  /** In all, the current one included. */
  readonly maxFiles: number
  /** Told in words when the file cannot be written, once until it can be again, and what was lost. */
  readonly onTrouble: (message: string) => void
  /** The line that stands in the file in place of so many. */
  readonly lossLine: (lines: number) => string
  /** Milliseconds, of any clock. */
  readonly now: () => number
}

export class RotatingFile {
  readonly #options: RotatingFileOptions
  #pending: string[] = []
  #pendingLength = 0
  /** Lines since the last one that is in the file. */
  #dropped = 0
  #handle: FileHandle | undefined
  #writing: Promise<void> | undefined
  /** When writing failed last; undefined while all is well. */
  #failedAt: number | undefined
  /** The end of the file may be half a line. */
  #torn = false

  /** Makes the file before there is a line for it: one that cannot be written is known at once. */
  constructor(options: RotatingFileOptions) {
    this.#options = options
    this.#writing = this.#drain()
  }

  /** Takes a line; it is written soon. */
  write(line: string): void {
    if (this.#rests || this.#pendingLength + line.length > pendingLengthMax) {
      this.#dropped += 1
      return
    }
    this.#pending.push(line)
    this.#pendingLength += line.length
    this.#writing ??= this.#drain()
  }

  /** Resolves when everything taken so far is written or given up. */
  async flush(): Promise<void> {
    await this.#writing
  }

  async close(): Promise<void> {
    await this.flush()
    if (this.#dropped > 0) this.#tell(`${this.#dropped} lines were dropped`)
    await this.#closeHandle()
  }

  /** It could not be written lately; a clock that was set back says nothing. */
  get #rests(): boolean {
    if (this.#failedAt === undefined) return false
    const sinceMs = this.#options.now() - this.#failedAt
    return sinceMs >= 0 && sinceMs < retryMs
  }

  async #drain(): Promise<void> {
    // A turn's worth of lines goes out in one write.
    await Promise.resolve()
    do await this.#writeBatch()
    while (this.#pending.length > 0)
    this.#writing = undefined
  }

  async #writeBatch(): Promise<void> {
    const missing = this.#dropped
    const loss = missing === 0 ? '' : this.#options.lossLine(missing)
    const lines = this.#takeLines(loss.length)
    try {
      const bytes = Buffer.from([this.#torn ? '\n' : '', loss, ...lines].join(''))
      const handle = await this.#ready(bytes.length)
      this.#torn = true
      await handle.appendFile(bytes)
      this.#torn = false
      this.#written(missing)
    } catch (error) {
      this.#dropped += lines.length
      this.#failed(errorText(error))
      await this.#closeHandle()
    }
  }

  /** Lines that are written at once, behind so much other text; one at least. */
  #takeLines(length: number): string[] {
    const room = Math.min(batchLengthMax, this.#options.maxSizeBytes)
    let [count, end] = [0, length]
    for (const line of this.#pending) {
      if (count > 0 && end + line.length > room) break
      end += line.length
      count += 1
    }
    this.#pendingLength -= end - length
    return this.#pending.splice(0, count)
  }

  #written(missing: number): void {
    const failed = this.#failedAt !== undefined
    this.#failedAt = undefined
    this.#dropped -= missing
    if (failed) this.#tell(`can be written again; ${missing} lines were dropped`)
    else if (missing > 0) this.#tell(`${missing} lines were dropped, since the disk is too slow`)
  }

  /** What waits would only wait for the next failure. */
  #failed(why: string): void {
    if (this.#failedAt === undefined) this.#tell(`cannot be written: ${why}`)
    this.#failedAt = this.#options.now()
    this.#dropped += this.#pending.length
    this.#pending = []
    this.#pendingLength = 0
  }

  /** The open file, with room for what comes. */
  async #ready(bytes: number): Promise<FileHandle> {
    const { path, maxSizeBytes } = this.#options
    const there = await stat(path).catch(() => undefined)
    const own = await this.#handle?.stat()
    if (own !== undefined && (there?.ino !== own.ino || there.dev !== own.dev)) await this.#closeHandle()
    if (there?.isFile() === true && there.size > 0 && there.size + bytes > maxSizeBytes) await this.#rotate()
    this.#handle ??= await openLog(path)
    return this.#handle
  }

  async #rotate(): Promise<void> {
    const { path, maxFiles } = this.#options
    await this.#closeHandle()
    for (let at = maxFiles - 1; at > 0; at -= 1)
      await ignoreMissing(rename(at === 1 ? path : `${path}.${at - 1}`, `${path}.${at}`))
    if (maxFiles === 1) await rm(path, { force: true })
  }

  async #closeHandle(): Promise<void> {
    const handle = this.#handle
    this.#handle = undefined
    await handle?.close().catch(() => undefined)
  }

  #tell(what: string): void {
    this.#options.onTrouble(`the log file ${this.#options.path}: ${what}`)
  }
}

/**
 * Opens for appending, creating the folder; readable by its owner only.
 *
 * Only a regular file will do, and not the one that is our stdout (`/dev/stdout`): in stdio mode
 * nothing but protocol frames may go there.
 */
async function openLog(path: string): Promise<FileHandle> {
  await mkdir(dirname(path), { recursive: true, mode: 0o700 })
  const flags = constants.O_APPEND | constants.O_CREAT | constants.O_WRONLY | (constants.O_NONBLOCK ?? 0)
  const handle = await open(path, flags, 0o600)
  const own = await handle.stat()
  if (own.isFile() && !isStdout(own)) return handle
  await handle.close()
  throw new Error(own.isFile() ? 'it is the stdout of this process' : 'it is not a regular file')
}

function isStdout({ ino, dev }: Stats): boolean {
  try {
    const stdout = fstatSync(1)
    return stdout.ino === ino && stdout.dev === dev
  } catch {
    return false
  }
}

async function ignoreMissing(renamed: Promise<void>): Promise<void> {
  await renamed.catch((error: unknown) => {
    if (errorCode(error) !== 'ENOENT') throw error
  })
}
