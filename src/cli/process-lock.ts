// One process at a time: for the warm-up of a configuration, and for an import.

import { existsSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import process from 'node:process'

/** A file that exists while a process does what only one may do; it holds the number of the process. */
export class ProcessLock {
  readonly #path: string

  private constructor(path: string) {
    this.#path = path
  }

  /** Undefined while another process has it; a lock whose process has ended, or that is older than `lastsMs`, does not count. */
  static take(path: string, lastsMs: number): ProcessLock | undefined {
    try {
      mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
      if (isOver(path, lastsMs)) rmSync(path, { force: true })
      writeFileSync(path, String(process.pid), { flag: 'wx', mode: 0o600 })
      return new ProcessLock(path)
    } catch {
      return undefined
    }
  }

  /** Whether the file exists: a person who removes it, or the whole folder, ends the warm-up. */
  get isHeld(): boolean {
    return existsSync(this.#path)
  }

  free(): void {
    rmSync(this.#path, { force: true })
  }
}

function isOver(path: string, lastsMs: number): boolean {
  const found = statSync(path, { throwIfNoEntry: false })
  if (found === undefined) return false
  if (Date.now() - found.mtimeMs > lastsMs) return true
  try {
    process.kill(Number(readFileSync(path, 'utf8')), 0)
    return false
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'ESRCH'
  }
}
