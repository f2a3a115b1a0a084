// Files that are kept in a folder of the real file system.
//
// The files decide which lists clients are shown. A file or folder of another user, one that others may write, and a
// symbolic link are not used. Windows has no such modes; there the profile of a user belongs to that user alone.

import { randomUUID } from 'node:crypto'
import {
  closeSync,
  constants,
  fstatSync,
  lstatSync,
  openSync,
  readSync,
  renameSync,
  type Stats,
} from 'node:fs'
import { lstat, mkdir, readdir, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import process from 'node:process'
import type { KeptFileContent, KeptFiles } from '../runtime/runtime.js'
import { errorText } from '../text/error-text.js'

/** Files of today, of the form before, and those that a process did not finish. */
const OURS = /\.json$|\.lock$|\.kept$|^key$|\.tmp$/

/** One folder; it is made before the first write. */
export class FolderFiles implements KeptFiles {
  readonly folder: string

  constructor(folder: string) {
    this.folder = folder
  }

  /** Makes two levels at most: a home folder that is not there is not made. */
  async prepare(): Promise<string | undefined> {
    try {
      await makeFolder(dirname(this.folder))
      await makeFolder(this.folder)
      return undefined
    } catch (error) {
      return errorText(error)
    }
  }

  read(name: string, bytesMax: number): KeptFileContent | undefined {
    try {
      return this.#mistrust() === undefined ? readOwn(join(this.folder, name), bytesMax) : undefined
    } catch {
      return undefined
    }
  }

  async write(name: string, bytes: Uint8Array, before: string | undefined): Promise<boolean> {
    this.#assertTrusted()
    const path = join(this.folder, name)
    const temporary = join(this.folder, `.${name}.${randomUUID()}.tmp`)
    try {
      await writeFile(temporary, bytes, { mode: 0o600, flag: 'wx' })
      // Both in one turn, so that hardly anything can come between them.
      if (versionAt(path) !== before) return false
      renameSync(temporary, path)
      return true
    } finally {
      await rm(temporary, { force: true })
    }
  }

  async removeUnused(sinceMs: number): Promise<void> {
    if (this.#mistrust() !== undefined) return
    const names = (await readdir(this.folder)).filter((name) => OURS.test(name))
    await Promise.all(names.map((name) => removeOld(join(this.folder, name), sinceMs)))
  }

  #assertTrusted(): void {
    const mistrust = this.#mistrust()
    if (mistrust !== undefined) throw new Error(`${this.folder} ${mistrust}`)
  }

  /** Why the folder is not used; undefined when it is. @throws when there is none */
  #mistrust(): string | undefined {
    const found = lstatSync(this.folder)
    return found.isDirectory() ? whoElseWrites(found) : 'is not a folder; a link to one is not followed'
  }
}

/** Leaves an existing folder unchanged, also on a file system that cannot be written. */
async function makeFolder(path: string): Promise<void> {
  try {
    await mkdir(path, { mode: 0o700 })
  } catch (error) {
    const found = await lstat(path).catch(() => undefined)
    if (found === undefined) throw error
  }
}

/** Follows no link, and does not wait for the writer of a named pipe. */
function readOwn(path: string, bytesMax: number): KeptFileContent | undefined {
  // Windows has neither of the last two.
  const { O_RDONLY, O_NOFOLLOW, O_NONBLOCK } = constants
  const fd = openSync(path, O_RDONLY | (O_NOFOLLOW ?? 0) | (O_NONBLOCK ?? 0))
  try {
    const found = fstatSync(fd)
    if (!isTrusted(found)) return undefined
    const bytes = Buffer.allocUnsafeSlow(found.size > bytesMax ? 0 : found.size)
    return { bytes: bytes.subarray(0, readSync(fd, bytes, 0, bytes.length, 0)), version: versionOf(found) }
  } finally {
    closeSync(fd)
  }
}

function whoElseWrites({ uid, mode }: Stats): string | undefined {
  const own = process.geteuid?.()
  if (own === undefined) return undefined
  if (uid !== own) return 'belongs to another user'
  return (mode & 0o022) === 0 ? undefined : 'may be written by others; run chmod go-w on it'
}

/** Each write makes another file. */
function versionOf({ ino, mtimeMs, size }: Stats): string {
  return `${ino} ${mtimeMs} ${size}`
}

/** Undefined where there is none, or one that is not read and may be replaced. */
function versionAt(path: string): string | undefined {
  const found = lstatSync(path, { throwIfNoEntry: false })
  return found !== undefined && isTrusted(found) ? versionOf(found) : undefined
}

function isTrusted(found: Stats): boolean {
  return found.isFile() && whoElseWrites(found) === undefined
}

async function removeOld(path: string, sinceMs: number): Promise<void> {
  const found = await lstat(path).catch(() => undefined)
  if (found?.isFile() === true && found.mtimeMs < sinceMs) await rm(path, { force: true })
}
