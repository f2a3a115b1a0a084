// The log file: appended to in batches, rotated by size, and never a reason
// for the proxy to fail.
//
// Several proxies may write the same file, since every client starts its own.
// So the file is looked at before each batch: when another process rotated it,
// it is opened again instead of being rotated twice.

import { constants, fstatSync } from 'node:fs'
import { mkdir, open, rename, rm, stat } from 'node:fs/promises'
import type { FileHandle } from 'node:fs/promises'
import { dirname } from 'node:path'

/** Text that waits for a slow disk, in UTF-16 units; what comes on top is dropped and counted. */
const pendingLengthMax = 4 * 1024 * 1024

/** Text written at once, in UTF-16 units, so that a file passes its limit by little. */
const batchLengthMax = 64 * 1024

export interface RotatingFileOptions {
  /** Absolute. */
  readonly path: string
  readonly maxSizeBytes: number
  /** In all, the current one included. */
  readonly maxFiles: number
  /** Told once, in words, when the file cannot be written. */
  readonly onTrouble: (message: string) => void
}

export class RotatingFile {
  readonly #options: RotatingFileOptions
  #pending: string[] = []
  #pendingLength = 0
  #dropped = 0
  #handle: FileHandle | undefined
  #writing: Promise<void> | undefined
  #complained = false

  constructor(options: RotatingFileOptions) {
    this.#options = options
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
    await this.#closeHandle()
  }

  async #drain(): Promise<void> {
    // A turn's worth of lines goes out in one write.
    await Promise.resolve()
    while (this.#pending.length > 0) await this.#writeBatch(this.#takeBatch())
    this.#writing = undefined
  }

  #takeBatch(): string {
    let batch = ''
    let count = 0
    const room = Math.min(batchLengthMax, this.#options.maxSizeBytes)
    for (const line of this.#pending) {
      if (count > 0 && batch.length + line.length > room) break
      batch += line
      count += 1
    }
    this.#pending = this.#pending.slice(count)
    this.#pendingLength -= batch.length
    return batch
  }

  async #writeBatch(batch: string): Promise<void> {
    try {
      const bytes = Buffer.from(batch)
      const handle = await this.#ready(bytes.length)
      await handle.appendFile(bytes)
      this.#reportDropped()
    } catch (error) {
      this.#complain(error instanceof Error ? error.message : String(error))
      await this.#closeHandle()
    }
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

  #reportDropped(): void {
    if (this.#dropped === 0) return
    this.#complain(`${this.#dropped} lines were dropped, since the disk is too slow`)
    this.#dropped = 0
  }

  #complain(message: string): void {
    if (this.#complained) return
    this.#complained = true
    this.#options.onTrouble(`the log file ${this.#options.path} cannot be written: ${message}`)
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
  const { ino, dev, ...file } = await describe(handle)
  const stdout = statOfStdout()
  if (file.isRegular && !(stdout?.ino === ino && stdout.dev === dev)) return handle
  await handle.close()
  throw new Error(file.isRegular ? 'it is the stdout of this process' : 'it is not a regular file')
}

async function describe(handle: FileHandle): Promise<{ ino: number; dev: number; isRegular: boolean }> {
  const found = await handle.stat()
  return { ino: found.ino, dev: found.dev, isRegular: found.isFile() }
}

function statOfStdout(): { ino: number; dev: number } | undefined {
  try {
    return fstatSync(1)
  } catch {
    return undefined
  }
}

async function ignoreMissing(renamed: Promise<void>): Promise<void> {
  try {
    await renamed
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'ENOENT')) throw error
  }
}
