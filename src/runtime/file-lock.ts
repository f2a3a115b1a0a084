// A lock that processes share as a file. The file exists while one process holds the lock.
//
// The holder touches the file, and only the age of the file decides whether the lock counts. The id of a
// process proves nothing: two containers may share a folder and see different process ids.

import { randomUUID } from 'node:crypto'
import { lstatSync, mkdirSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import process from 'node:process'
import { errorCode, errorText } from '../text/error-text.js'
import { repeat } from './deadline.js'
import { readTextFile } from './read-file.js'
import type { Runtime, Timer } from './runtime.js'

const LOOK_MS = 50

const BEAT_MS = 2000

/** If nothing has touched the file for this long, its process has ended. */
const STALE_MS = 15_000

/** Longer than the lock of a killed process counts, and longer than a holder needs to renew a login. */
const WAIT_MS = 60_000

const MARK_BYTES_MAX = 1024

export type LockRuntime = Pick<Runtime, 'now' | 'wallNow' | 'setTimer'>

/** Another process holds the lock (`EBUSY`), or its file cannot be created (the code of the system). */
export class FileLockError extends Error {
  readonly code: string

  constructor(message: string, code: string) {
    super(message)
    this.code = code
  }
}

/** One lock in one process. The file at `path` is removed when the lock is released. */
export class FileLock {
  readonly path: string
  readonly #runtime: LockRuntime
  readonly #mark = `${process.pid} ${randomUUID()}`
  #beat: Timer | undefined

  constructor(path: string, runtime: LockRuntime) {
    this.path = path
    this.#runtime = runtime
  }

  /** Returns false while another process holds the lock. @throws if the file cannot be created */
  tryAcquire(): boolean {
    mkdirSync(dirname(this.path), { recursive: true, mode: 0o700 })
    if (!create(this.path, this.#mark)) {
      this.#removeStale()
      if (!create(this.path, this.#mark)) return false
    }
    this.#beat?.cancel()
    this.#beat = repeat(this.#runtime, BEAT_MS, () => this.#touch())
    return true
  }

  /** Runs while this process holds the lock. Rejects with FileLockError, or with the error of `run`. */
  async during<T>(run: () => T | Promise<T>): Promise<T> {
    const endsAt = this.#runtime.now() + WAIT_MS
    while (!this.#acquire()) {
      if (this.#runtime.now() >= endsAt)
        throw new FileLockError(`other processes hold ${this.path}; remove it if none of them runs`, 'EBUSY')
      await new Promise<void>((resolve) => void this.#runtime.setTimer(LOOK_MS, resolve))
    }
    try {
      return await run()
    } finally {
      this.release()
    }
  }

  /** Whether the file is still this lock's file. A person who removes the file ends the lock. */
  get isHeld(): boolean {
    const file = readTextFile(this.path, MARK_BYTES_MAX)
    return file.kind === 'read' && file.text === this.#mark
  }

  /** Whether some process holds the lock and touches its file. A time in the far future does not count. */
  get isActive(): boolean {
    const ageMs = this.#ageMs(this.path)
    return ageMs !== undefined && Math.abs(ageMs) <= STALE_MS
  }

  /** Keeps a lock that another process has taken while this process was stopped. */
  release(): void {
    this.#beat?.cancel()
    if (this.isHeld) rmSync(this.path, { force: true })
  }

  #acquire(): boolean {
    try {
      return this.tryAcquire()
    } catch (error) {
      const code = errorCode(error) ?? errorText(error)
      throw new FileLockError(
        `${this.path} cannot be made: ${code}; check the permissions of its folder`,
        code,
      )
    }
  }

  #touch(): void {
    if (!this.isHeld) return this.#beat?.cancel()
    const now = new Date(this.#runtime.wallNow())
    utimesSync(this.path, now, now)
  }

  /**
   * Two processes may find the same stale lock. The slower one must not remove the new lock of the faster
   * one, so they check and remove in turn.
   */
  #removeStale(): void {
    if (!this.#isStale(this.path)) return
    const turn = `${this.path}.turn`
    if (!create(turn, this.#mark)) {
      if (this.#isStale(turn)) rmSync(turn, { force: true })
      return
    }
    try {
      if (this.#isStale(this.path)) rmSync(this.path, { force: true })
    } finally {
      rmSync(turn, { force: true })
    }
  }

  #isStale(path: string): boolean {
    const ageMs = this.#ageMs(path)
    return ageMs !== undefined && ageMs > STALE_MS
  }

  /** The time since the last touch of the file; undefined if there is no file. */
  #ageMs(path: string): number | undefined {
    const touchedAt = lstatSync(path, { throwIfNoEntry: false })?.mtimeMs
    return touchedAt === undefined ? undefined : this.#runtime.wallNow() - touchedAt
  }
}

function create(path: string, mark: string): boolean {
  try {
    writeFileSync(path, mark, { flag: 'wx', mode: 0o600 })
    return true
  } catch (error) {
    if (errorCode(error) === 'EEXIST') return false
    // A full disk leaves an empty file.
    rmSync(path, { force: true })
    throw error
  }
}
