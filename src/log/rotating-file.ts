// The log file: appended to in batches, rotated by size, and never a reason
// for the proxy to fail. While the file cannot be written, on a full disk perhaps, lines
// are dropped and counted.
//
// Several proxies may write the same file, since every client starts its own.
// So the file is opened for each batch: after another process rotated it, its path names a new file.

import { type Stats, constants, fstatSync } from 'node:fs'
import { type FileHandle, mkdir, open, rename, rm } from 'node:fs/promises'
import { dirname } from 'node:path'
import { errorCode, errorText } from '../text/error-text.js'

/** Text that waits for a slow disk, in UTF-16 units; further lines are dropped and counted. */
const pendingLengthMax = 4 * 1024 * 1024

/** Text of one write, in UTF-16 units, so that a file passes its limit by little. */
const batchLengthMax = 64 * 1024

export interface RotatingFileOptions {
  /** Absolute. */
  readonly path: string
  readonly maxSizeBytes: number
  /** In all, the current one included. */
  readonly maxFiles: number
  /** Called once when the file cannot be written, and when it can be again, with the number of lost lines. */
  readonly onTrouble: (message: string) => void
}

export class RotatingFile {
  readonly #options: RotatingFileOptions
  #pending: string[] = []
  #pendingLength = 0
  /** Lines that were lost since the last message about them. */
  #dropped = 0
  #isFailing = false
  #writing: Promise<void> | undefined

  /** Makes the file before there is a line for it, so that a file that cannot be written is reported immediately. */
  constructor(options: RotatingFileOptions) {
    this.#options = options
    this.#writing = this.#drain()
  }

  /** Takes a line; it is written soon. */
  write(line: string): void {
    if (this.#pendingLength + line.length > pendingLengthMax) {
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
    if (this.#dropped > 0) this.#report(`${this.#dropped} lines were dropped`)
  }

  async #drain(): Promise<void> {
    // The lines of one turn go out in one write.
    await Promise.resolve()
    do await this.#writeBatch(this.#takeLines())
    while (this.#pending.length > 0)
    this.#writing = undefined
  }

  async #writeBatch(lines: readonly string[]): Promise<void> {
    try {
      await append(Buffer.from(lines.join('')), this.#options)
    } catch (error) {
      if (!this.#isFailing) this.#report(`cannot be written: ${errorText(error)}`)
      this.#isFailing = true
      this.#dropped += lines.length
      return
    }
    if (this.#isFailing) this.#report(`can be written again; ${this.#dropped} lines were dropped`)
    else if (this.#dropped > 0)
      this.#report(`${this.#dropped} lines were dropped, since the disk is too slow`)
    this.#isFailing = false
    this.#dropped = 0
  }

  /** The lines of one write; one at least. */
  #takeLines(): string[] {
    const room = Math.min(batchLengthMax, this.#options.maxSizeBytes)
    let [count, length] = [0, 0]
    for (const line of this.#pending) {
      if (count > 0 && length + line.length > room) break
      length += line.length
      count += 1
    }
    this.#pendingLength -= length
    return this.#pending.splice(0, count)
  }

  #report(what: string): void {
    this.#options.onTrouble(`the log file ${this.#options.path}: ${what}`)
  }
}

async function append(bytes: Buffer, { path, maxSizeBytes, maxFiles }: RotatingFileOptions): Promise<void> {
  let file = await openLog(path)
  try {
    const { size } = await file.stat()
    if (size > 0 && size + bytes.length > maxSizeBytes) {
      await file.close()
      await rotate(path, maxFiles)
      file = await openLog(path)
    }
    await file.appendFile(bytes)
  } finally {
    await file.close()
  }
}

async function rotate(path: string, maxFiles: number): Promise<void> {
  for (let at = maxFiles - 1; at > 0; at -= 1)
    await rename(at === 1 ? path : `${path}.${at - 1}`, `${path}.${at}`).catch(ignoreMissing)
  if (maxFiles === 1) await rm(path, { force: true })
}

function ignoreMissing(error: unknown): void {
  if (errorCode(error) !== 'ENOENT') throw error
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
