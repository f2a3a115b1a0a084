// A limit of the kernel on the data of a child, for a burst between two measurements of its memory.
//
// RLIMIT_DATA counts private writable memory of one process, and whoever the process starts inherits the limit. RLIMIT_AS
// would count what V8 only reserves, and no Node program would start.

import { execFile } from 'node:child_process'
import type { LogSink } from '../../runtime/runtime.js'

/** Limits the data of a running process to so many bytes. */
export class DataLimit {
  readonly #log: LogSink
  #isUntold = true

  constructor(log: LogSink) {
    this.#log = log
  }

  /** Returns at once, and never throws: where it cannot be done, the watch on the memory holds alone. */
  set(pid: number, bytesMax: number): void {
    if (process.platform !== 'linux') return
    const args = [`--data=${bytesMax}`, '--pid', String(pid)]
    try {
      execFile('prlimit', args, { timeout: 5000 }, (error) => {
        // 1: the process has ended already.
        if (error !== null && error.code !== 1) this.#tell(error)
      })
    } catch (error) {
      this.#tell(error)
    }
  }

  #tell(error: unknown): void {
    if (!this.#isUntold) return
    this.#isUntold = false
    const message = 'prlimit of util-linux cannot be run: memoryLimitMB is held by the watch alone'
    this.#log({ level: 'debug', message, details: { error } })
  }
}
