// A lock that processes share as a file: it exists while one of them does what only one may do.
//
// The holder touches the file, and its age alone decides whether it counts. Two containers may share a folder and see other
// numbers of processes, so the number of a process says nothing about the holder.

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

/** A file that was not touched for this long is that of a process that has ended. */
const STALE_MS = 15_000

/** Longer than a lock counts whose process was killed, and than its holder needs to renew a login. */
const WAIT_MS = 60_000

const MARK_BYTES_MAX = 1024

export type LockRuntime = Pick<Runtime, 'now' | 'wallNow' | 'setTimer'>

/** Another process keeps the lock (`EBUSY`), or its file cannot be made (the code of the system). */
export class FileLockError extends Error {
  readonly code: string

  constructor(message: string, code: string) {
    super(message)
    this.code = code
  }
}

/** One lock in one process. `path` is removed when the lock is free. */
export class FileLock {
  readonly path: string
  readonly #runtime: LockRuntime
  readonly #mark = `${process.pid} ${randomUUID()}`
  #beat: Timer | undefined

  constructor(path: string, runtime: LockRuntime) {
    this.path = path
    this.#runtime = runtime
  }

  /** False while another process has it. @throws where the file cannot be made */
  tryTake(): boolean {
    mkdirSync(dirname(this.path), { recursive: true, mode: 0o700 })
    if (!create(this.path, this.#mark)) {
      this.#removeStale()
      if (!create(this.path, this.#mark)) return false
    }
    this.#beat?.cancel()
    this.#beat = repeat(this.#runtime, BEAT_MS, () => this.#touch())
    return true
  }

  /** Runs while no other process has it. Rejects with FileLockError, or with the error of `run`. */
  async during<T>(run: () => T | Promise<T>): Promise<T> {
    const endsAt = this.#runtime.now() + WAIT_MS
    while (!this.#take()) {
      if (this.#runtime.now() >= endsAt)
        throw new FileLockError(`other processes hold ${this.path}; remove it if none of them runs`, 'EBUSY')
      await new Promise<void>((resolve) => void this.#runtime.setTimer(LOOK_MS, resolve))
    }
    try {
      return await run()
    } finally {
      this.free()
    }
  }

  /** Whether the file is still that of this lock: a person who removes it, or the whole folder, ends what the lock is for. */
  get isHeld(): boolean {
    const file = readTextFile(this.path, MARK_BYTES_MAX)
    return file.kind === 'read' && file.text === this.#mark
  }

  /** Whether some process has it, and touches the file: one with a time of the future is left over. */
  get isTaken(): boolean {
    const ageMs = this.#ageMs(this.path)
    return ageMs !== undefined && Math.abs(ageMs) <= STALE_MS
  }

  /** Leaves a lock that another process has taken since, because this process stood still. */
  free(): void {
    this.#beat?.cancel()
    if (this.isHeld) rmSync(this.path, { force: true })
  }

  #take(): boolean {
    try {
      return this.tryTake()
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
   * Two processes may find the same stale lock. The slower one must not remove the lock that the faster one has taken by
   * then, so that they look and remove one after the other.
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

  /** The time since the holder has touched the file; undefined where there is none. */
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
