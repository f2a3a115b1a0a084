// Notices that the configuration file has changed, however that is done.
//
// Editors write in place, or write elsewhere and rename; links point somewhere
// else from now on; some file systems tell nothing. So the folder is watched,
// which is quick, and the file is looked at from time to time, which is sure.
// A file that is being written is left alone until it stays as it is.

import { type FSWatcher, watch } from 'node:fs'
import { stat } from 'node:fs/promises'
import { basename, dirname } from 'node:path'
import { errorCode } from '../text/error-text.js'

/** How often the file is looked at where nothing tells of it. */
const LOOK_MS = 2000

/** How long the file must stay as it is. */
const SETTLE_MS = 100

/** Watches one path; keeps no process alive. */
export class ConfigWatch {
  readonly #path: string
  readonly #changed: () => void
  readonly #interval: NodeJS.Timeout
  readonly #watcher: FSWatcher | undefined
  #soon: NodeJS.Timeout | undefined
  /** As the file was seen last, and as it was when `changed` was called last. */
  #seen = ''
  #told = ''
  #stopped = false

  /** Calls `changed` when what is at the path may be another text than now, or than when it was called last; once in any case. */
  constructor(path: string, changed: () => void) {
    this.#path = path
    this.#changed = changed
    this.#interval = setInterval(() => void this.#look(), LOOK_MS).unref()
    this.#watcher = this.#watchFolder()
  }

  stop(): void {
    this.#stopped = true
    clearInterval(this.#interval)
    clearTimeout(this.#soon)
    this.#watcher?.close()
  }

  /** Undefined where folders cannot be watched, or no more of them. */
  #watchFolder(): FSWatcher | undefined {
    try {
      const watcher = watch(dirname(this.#path), { persistent: false }, (_event, name) => {
        if (name === null || name === basename(this.#path)) this.#lookSoon()
      })
      watcher.on('error', () => watcher.close())
      return watcher
    } catch {
      return undefined
    }
  }

  #lookSoon(): void {
    clearTimeout(this.#soon)
    if (!this.#stopped) this.#soon = setTimeout(() => void this.#look(), SETTLE_MS).unref()
  }

  async #look(): Promise<void> {
    const seen = await stampOf(this.#path)
    if (this.#stopped) return
    const isSettled = seen === this.#seen
    this.#seen = seen
    if (seen === this.#told) return
    if (!isSettled) return this.#lookSoon()
    this.#told = seen
    this.#changed()
  }
}

/** What differs when anybody writes the file or puts another in its place. */
async function stampOf(path: string): Promise<string> {
  try {
    const { dev, ino, size, mtimeNs, ctimeNs } = await stat(path, { bigint: true })
    return [dev, ino, size, mtimeNs, ctimeNs].join(':')
  } catch (error) {
    return errorCode(error) ?? String(error)
  }
}
