// Kept files in a folder of the real file system.
//
// The files decide which lists clients see. So the proxy uses no file or folder of another user, none that
// other users may write, and no symbolic link in place of the folder. Windows has no such modes; there, the
// profile of a user belongs to that user alone.

import {
  closeSync,
  constants,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  rmSync,
  type Stats,
  writeSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import process from 'node:process'
import { readFileBytes } from '../runtime/read-file.js'
import { replaceFile } from '../runtime/write-file.js'
import type { KeptFiles, Runtime } from '../runtime/runtime.js'
import { errorText } from '../text/error-text.js'

const { O_APPEND, O_CREAT, O_NOFOLLOW, O_WRONLY } = constants

const OURS = /\.(?:jsonl?|lock|tmp)$/

/** Returns the files of the runtime, or else those of the real file system. */
export function filesIn(folder: string, { files }: Pick<Runtime, 'files'>): KeptFiles {
  return files?.(folder) ?? new FolderFiles(folder)
}

export class FolderFiles implements KeptFiles {
  readonly folder: string

  constructor(folder: string) {
    this.folder = folder
  }

  /** Creates at most two levels, so that it never creates a missing home folder. */
  prepare(): string | undefined {
    try {
      lstatSync(dirname(dirname(this.folder)))
      mkdirSync(this.folder, { recursive: true, mode: 0o700 })
      return undefined
    } catch (error) {
      return errorText(error)
    }
  }

  read(name: string, bytesMax: number): Buffer | undefined {
    const file = readFileBytes(join(this.folder, name), bytesMax)
    if (file.kind !== 'read' || whoElseWrites(file.stats) !== undefined) return undefined
    return this.#mistrust() === undefined ? file.bytes : undefined
  }

  write(name: string, bytes: Uint8Array): void {
    replaceFile(this.#pathOf(name), bytes, 0o600)
  }

  append(name: string, bytes: Uint8Array): void {
    const file = openSync(this.#pathOf(name), O_APPEND | O_CREAT | O_WRONLY | (O_NOFOLLOW ?? 0), 0o600)
    try {
      writeSync(file, bytes)
    } finally {
      closeSync(file)
    }
  }

  removeUnused(sinceMs: number): void {
    for (const name of readdirSync(this.folder)) {
      const path = join(this.folder, name)
      const found = OURS.test(name) ? lstatSync(path, { throwIfNoEntry: false }) : undefined
      if (found?.isFile() === true && found.mtimeMs < sinceMs) rmSync(path, { force: true })
    }
  }

  /** @throws when the folder must not be used */
  #pathOf(name: string): string {
    const mistrust = this.#mistrust()
    if (mistrust !== undefined) throw new Error(`${this.folder} ${mistrust}`)
    return join(this.folder, name)
  }

  /** Returns why the folder must not be used; undefined if it may. @throws when the folder is missing */
  #mistrust(): string | undefined {
    const found = lstatSync(this.folder)
    return found.isDirectory() ? whoElseWrites(found) : 'is not a folder; a link to one is not followed'
  }
}

function whoElseWrites({ uid, mode }: Stats): string | undefined {
  const own = process.geteuid?.()
  if (own === undefined) return undefined
  if (uid !== own) return 'belongs to another user'
  return (mode & 0o022) === 0 ? undefined : 'may be written by others; run chmod go-w on it'
}
