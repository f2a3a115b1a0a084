// A file of lines, such as the log, with batched writes and rotation by size. The file never makes the proxy
// fail: while the disk is full, lines wait in memory up to a limit, and further lines are dropped and counted.
//
// Several proxies may write the same file, because every client starts a proxy. So each batch opens the file
// again: after a rotation by another process, the path names a new file.

import { type Stats, fstatSync } from 'node:fs'
import { type FileHandle, mkdir, rename, rm, stat } from 'node:fs/promises'
import { dirname } from 'node:path'
import { type Clock, realClock, within } from '../runtime/deadline.js'
import { isStream, openToWrite } from '../runtime/write-file.js'
import { errorCode, errorText } from '../text/error-text.js'

/** The length of the text that waits for a slow disk, in UTF-16 units. Further lines are dropped and counted. */
const pendingLengthMax = 4 * 1024 * 1024

/** The length of one write, in UTF-16 units. A short write keeps the file close to its limit. */
const batchLengthMax = 64 * 1024

export interface RotatingFileOptions {
  readonly path: string
  /** The word for the file in messages. The default is `log file`. */
  readonly what?: string
  readonly maxSizeBytes: number
  /** The number of files, with the current one. */
  readonly maxFiles: number
  /** Whether the path may lead to stdout. False if stdout carries the protocol. */
  readonly mayBeStdout?: boolean
  /** Called once when a write fails, when writes succeed again, and with the number of dropped lines. */
  readonly onTrouble: (message: string) => void
  /** Returns a line for the file that reports lost lines. By default the file does not show them. */
  readonly gapLine?: (lost: number) => string
  /** Writes all bytes or none. Tests replace the file by this function. */
  readonly append?: ((bytes: Buffer) => Promise<void>) | undefined
  readonly clock?: Clock
}

/** How long `close` waits for a disk. */
const FLUSH_MS_MAX = 2000

export class RotatingFile {
  readonly #options: RotatingFileOptions
  #pending: string[] = []
  #pendingLength = 0
  /** The number of lost lines that no message has reported yet. */
  #dropped = 0
  lost = 0
  #isFailing = false
  #writing: Promise<void> | undefined

  /** Makes the file before the first line, so that the log reports an unwritable file immediately. */
  constructor(options: RotatingFileOptions) {
    this.#options = options
    this.#writing = this.#drain()
  }

  write(line: string): void {
    if (this.#pendingLength + line.length > pendingLengthMax) {
      this.#dropped += 1
      this.lost += 1
      return
    }
    this.#pending.push(line)
    this.#pendingLength += line.length
    this.#writing ??= this.#drain()
  }

  /** False if the next line may be lost. After a failed write, this getter starts another attempt. */
  get isWritable(): boolean {
    if (this.#isFailing) this.#writing ??= this.#drain()
    return !this.#isFailing && this.#pendingLength < pendingLengthMax / 2
  }

  /** Resolves when all lines are written or given up, or after two seconds. */
  async close(): Promise<void> {
    await within(this.#finish(), FLUSH_MS_MAX, this.#options.clock ?? realClock)
  }

  async #finish(): Promise<void> {
    await this.#writing
    if (this.#pending.length > 0 || (this.#dropped > 0 && this.#options.gapLine !== undefined))
      await this.#drain()
    const lost = this.#dropped + this.#pending.length
    if (lost > 0) this.#report(`${lost} lines were dropped`)
  }

  async #drain(): Promise<void> {
    // One write contains all lines of this turn of the event loop.
    await Promise.resolve()
    do await this.#writeBatch()
    while (this.#pending.length > 0 && !this.#isFailing)
    this.#writing = undefined
  }

  async #writeBatch(): Promise<void> {
    const { gapLine, append = (bytes) => appendTo(bytes, this.#options) } = this.#options
    const lines = this.#nextLines()
    // The count may grow during the write.
    const dropped = this.#dropped
    const gap = gapLine === undefined || dropped === 0 ? '' : gapLine(dropped)
    try {
      await append(Buffer.from([gap, ...lines].join('')))
    } catch (error) {
      if (!this.#isFailing) this.#report(`cannot be written: ${errorText(error)}`)
      this.#isFailing = true
      return
    }
    this.#pending.splice(0, lines.length)
    for (const line of lines) this.#pendingLength -= line.length
    if (this.#isFailing) this.#report('can be written again')
    if (dropped > 0) this.#report(`${dropped} lines were dropped, since the disk is full or too slow`)
    this.#isFailing = false
    this.#dropped -= dropped
  }

  #nextLines(): string[] {
    const room = Math.min(batchLengthMax, this.#options.maxSizeBytes)
    let [count, length] = [0, 0]
    for (const line of this.#pending) {
      if (count > 0 && length + line.length > room) break
      length += line.length
      count += 1
    }
    return this.#pending.slice(0, count)
  }

  #report(what: string): void {
    const { path, what: file = 'log file' } = this.#options
    this.#options.onTrouble(`the ${file} ${path}: ${what}`)
  }
}

/** Returns why the file cannot be written; undefined if it can. */
export async function fileProblem(
  file: Pick<RotatingFileOptions, 'path' | 'mayBeStdout'>,
): Promise<string | undefined> {
  try {
    await (await openLog(file)).close()
    return undefined
  } catch (error) {
    return `cannot be written: ${errorText(error)}`
  }
}

async function appendTo(bytes: Buffer, options: RotatingFileOptions): Promise<void> {
  const { path, maxSizeBytes, maxFiles } = options
  let file = await openLog(options)
  try {
    const before = await file.stat()
    if (!isStream(path) && before.size > 0 && before.size + bytes.length > maxSizeBytes) {
      await file.close()
      await rotate(path, maxFiles, before)
      file = await openLog(options)
    }
    const { size } = await file.stat()
    await file.appendFile(bytes).catch(async (error: unknown) => {
      // A full disk may contain a part of a line.
      if (!isStream(path)) await file.truncate(size).catch(() => undefined)
      throw error
    })
  } finally {
    await file.close()
  }
}

/** Renames the files, unless another process has done so: then the path already names a new file. */
async function rotate(path: string, maxFiles: number, full: Stats): Promise<void> {
  try {
    if ((await stat(path)).ino !== full.ino) return
    for (let at = maxFiles - 1; at > 0; at -= 1)
      await rename(at === 1 ? path : `${path}.${at - 1}`, `${path}.${at}`).catch(ignoreMissing)
    if (maxFiles === 1) await rm(path, { force: true })
  } catch (error) {
    ignoreMissing(error)
  }
}

function ignoreMissing(error: unknown): void {
  if (errorCode(error) !== 'ENOENT') throw error
}

async function openLog({
  path,
  mayBeStdout,
}: Pick<RotatingFileOptions, 'path' | 'mayBeStdout'>): Promise<FileHandle> {
  await mkdir(dirname(path), { recursive: true, mode: 0o700 })
  if (mayBeStdout !== true && isStdout(await stat(path).catch(() => undefined)))
    throw new Error('it is the stdout of this process, which carries the protocol; write /dev/stderr')
  return openToWrite(path, 'append')
}

function isStdout(file: Stats | undefined): boolean {
  try {
    const stdout = fstatSync(1)
    return stdout.ino === file?.ino && stdout.dev === file.dev
  } catch {
    return false
  }
}
