// A lock that processes share as a file: it exists while one of them does what only one may do.

import { randomUUID } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { hostname } from 'node:os'
import { dirname } from 'node:path'
import process from 'node:process'
import { errorCode } from '../text/error-text.js'
import type { Runtime } from './runtime.js'

const LOOK_MS = 50

/** What a lock needs of the runtime. */
export type LockRuntime = Pick<Runtime, 'now' | 'wallNow' | 'setTimer'>

/** One lock in one process. `path` is removed when the lock is free. */
export class FileLock {
  readonly path: string
  readonly #lastsMs: number
  readonly #runtime: LockRuntime
  /** The process, its machine, and this lock. */
  readonly #mark = `${process.pid} ${hostname()} ${randomUUID()}`

  /** A lock that is older than `lastsMs` does not count, and one whose process has ended. */
  constructor(path: string, lastsMs: number, runtime: LockRuntime) {
    this.path = path
    this.#lastsMs = lastsMs
    this.#runtime = runtime
  }

  /** False while another process has it. @throws where the file cannot be made */
  tryTake(): boolean {
    mkdirSync(dirname(this.path), { recursive: true, mode: 0o700 })
    if (create(this.path, this.#mark)) return true
    this.#removeStale()
    return create(this.path, this.#mark)
  }

  /** False when another process still has it after `waitMs`. Rejects where the file cannot be made. */
  async take(waitMs: number): Promise<boolean> {
    const endsAt = this.#runtime.now() + waitMs
    while (!this.tryTake()) {
      if (this.#runtime.now() >= endsAt) return false
      await new Promise<void>((resolve) => void this.#runtime.setTimer(LOOK_MS, resolve))
    }
    return true
  }

  /** Whether the file exists: a person who removes it, or the whole folder, ends what the lock is for. */
  get isHeld(): boolean {
    return existsSync(this.path)
  }

  /** Leaves a lock that another process has taken since, because this one was too old. */
  free(): void {
    if (textOf(this.path) === this.#mark) rmSync(this.path, { force: true })
  }

  /**
   * Two processes may find the same stale lock. The slower one must not remove the lock that the faster one has taken by
   * then, so that they look and remove one after the other.
   */
  #removeStale(): void {
    if (!this.#isStale(this.path)) return
    const turn = `${this.path}.turn`
    if (!create(turn, this.#mark)) {
      // It exists for less than a millisecond, unless its process was killed.
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
    const madeAt = statSync(path, { throwIfNoEntry: false })?.mtimeMs
    if (madeAt === undefined) return false
    if (this.#runtime.wallNow() - madeAt > this.#lastsMs) return true
    const [pid, machine] = textOf(path)?.split(' ') ?? []
    return machine === hostname() && !isAlive(Number(pid))
  }
}

function create(path: string, mark: string): boolean {
  try {
    writeFileSync(path, mark, { flag: 'wx', mode: 0o600 })
    return true
  } catch (error) {
    if (errorCode(error) === 'EEXIST') return false
    throw error
  }
}

function textOf(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return undefined
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return errorCode(error) !== 'ESRCH'
  }
}
