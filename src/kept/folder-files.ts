// Files that are kept in a folder of the real file system.
//
// What lies there decides what clients are shown, so nothing is used that somebody else may have
// written: no file or folder of another user, none that others may write, and no symbolic link.
// Windows has no such modes; there the profile of a user is the user's own.

import { closeSync, constants, fstatSync, lstatSync, openSync, readSync, type Stats } from 'node:fs'
import { lstat, mkdir, readdir, rename, rm, utimes, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import process from 'node:process'
import type { KeptFileContent, KeptFileEntry, KeptFiles } from '../runtime/runtime.js'
import { temporaryEnding } from './tidy.js'

/** So many names of temporary files may be taken, by another process with the same number in another container. */
const ATTEMPTS_MAX = 100

/** One folder; it is made before the first write. */
export class FolderFiles implements KeptFiles {
  readonly folder: string
  #temporary = 0

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
      return error instanceof Error ? error.message : String(error)
    }
  }

  read(name: string, bytesMax: number): KeptFileContent | undefined {
    try {
      return this.#mistrust() === undefined ? readOwn(join(this.folder, name), bytesMax) : undefined
    } catch {
      return undefined
    }
  }

  async write(name: string, bytes: Uint8Array): Promise<void> {
    this.#assertTrusted()
    const temporary = join(this.folder, `.${name}.${process.pid}`)
    const path = await this.#writeNew(temporary, bytes)
    try {
      await rename(path, join(this.folder, name))
    } catch (error) {
      await rm(path, { force: true })
      throw error
    }
  }

  async create(name: string, bytes: Uint8Array): Promise<void> {
    this.#assertTrusted()
    await writeFile(join(this.folder, name), bytes, { mode: 0o600, flag: 'wx' })
  }

  async touch(name: string, modifiedMs: number): Promise<void> {
    const at = new Date(modifiedMs)
    await utimes(join(this.folder, name), at, at)
  }

  async remove(name: string): Promise<void> {
    await rm(join(this.folder, name), { force: true })
  }

  async list(): Promise<KeptFileEntry[]> {
    if (this.#mistrust() !== undefined) return []
    const names = await readdir(this.folder)
    const entries = await Promise.all(names.map((name) => entryOf(this.folder, name)))
    return entries.flatMap((entry) => entry ?? [])
  }

  #assertTrusted(): void {
    const mistrust = this.#mistrust()
    if (mistrust !== undefined) throw new Error(`${this.folder} ${mistrust}`)
  }

  /** Why nothing in the folder is to be believed; undefined when all is well. @throws when it is not there */
  #mistrust(): string | undefined {
    const found = lstatSync(this.folder)
    return found.isDirectory() ? whoElseWrites(found) : 'is not a folder; a link to one is not followed'
  }

  /** What is half written has a name of its own, which no other write has. */
  async #writeNew(beginning: string, bytes: Uint8Array): Promise<string> {
    for (let attempt = 1; ; attempt++) {
      const path = `${beginning}.${++this.#temporary}${temporaryEnding}`
      try {
        await writeFile(path, bytes, { mode: 0o600, flag: 'wx' })
        return path
      } catch (error) {
        if (codeOf(error) !== 'EEXIST') await rm(path, { force: true })
        if (codeOf(error) !== 'EEXIST' || attempt === ATTEMPTS_MAX) throw error
      }
    }
  }
}

/** As it is where it is there already, also on a file system that cannot be written. */
async function makeFolder(path: string): Promise<void> {
  try {
    await mkdir(path, { mode: 0o700 })
  } catch (error) {
    const found = await lstat(path).catch(() => undefined)
    if (found === undefined) throw error
  }
}

/** Without following a link, and without waiting for whoever writes into a named pipe. */
function readOwn(path: string, bytesMax: number): KeptFileContent | undefined {
  // Windows has neither of the last two.
  const { O_RDONLY, O_NOFOLLOW, O_NONBLOCK } = constants
  const fd = openSync(path, O_RDONLY | (O_NOFOLLOW ?? 0) | (O_NONBLOCK ?? 0))
  try {
    const found = fstatSync(fd)
    if (!found.isFile() || found.size > bytesMax || whoElseWrites(found) !== undefined) return undefined
    const bytes = Buffer.allocUnsafeSlow(found.size)
    return { bytes: bytes.subarray(0, readSync(fd, bytes, 0, bytes.length, 0)), modifiedMs: found.mtimeMs }
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

/** Undefined for what is gone meanwhile, and for what is no file. */
async function entryOf(folder: string, name: string): Promise<KeptFileEntry | undefined> {
  const found = await lstat(join(folder, name)).catch(() => undefined)
  return found?.isFile() === true ? { name, bytes: found.size, modifiedMs: found.mtimeMs } : undefined
}

function codeOf(error: unknown): unknown {
  return error instanceof Error && 'code' in error ? error.code : undefined
}
