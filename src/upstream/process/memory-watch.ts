// The memory of one server, with everything that it has started.
//
// A server that leaks takes the machine down with it, and all others. So it is
// looked at from time to time, and ended before that.

import type { LogSink, Runtime, Timer } from '../../runtime/runtime.js'

/** Of the limit, from where on it is worth a warning; and how far it has to fall for another one. */
const WARN_SHARE = 0.8
const CALM_SHARE = 0.7

const MiB = 1024 * 1024

export interface MemoryWatchParts {
  readonly service: string
  readonly group: number
  readonly limitBytes: number
  readonly everyMs: number
  readonly runtime: Pick<Runtime, 'memoryOf' | 'setTimer'>
  readonly log: LogSink
  /** The group uses more than it may; nothing is looked at any more. */
  exceeded(what: string): void
}

/** Looks at the memory of one process group until it is stopped. */
export class MemoryWatch {
  readonly #parts: MemoryWatchParts
  #timer: Timer
  /** As it was measured last. */
  usedBytes: number | undefined
  #stopped = false
  #warned = false

  constructor(parts: MemoryWatchParts) {
    this.#parts = parts
    this.#timer = this.#next()
  }

  stop(): void {
    this.#stopped = true
    this.#timer.cancel()
  }

  #next(): Timer {
    const { runtime, everyMs } = this.#parts
    return runtime.setTimer(everyMs, () => void this.#look())
  }

  async #look(): Promise<void> {
    const used = await this.#used()
    if (this.#stopped) return
    this.usedBytes = used
    if (used === undefined) return this.#unknown()
    if (used > this.#parts.limitBytes) return this.#exceeded(used)
    this.#compare(used / this.#parts.limitBytes, used)
    this.#timer = this.#next()
  }

  async #used(): Promise<number | undefined> {
    const { runtime, group } = this.#parts
    try {
      return await runtime.memoryOf(group)
    } catch {
      return undefined
    }
  }

  #compare(share: number, used: number): void {
    if (share < CALM_SHARE) this.#warned = false
    if (share < WARN_SHARE || this.#warned) return
    this.#warned = true
    this.#warn(`uses ${this.#ofLimit(used)}; above that it is ended`)
  }

  #exceeded(used: number): void {
    this.stop()
    this.#parts.exceeded(`used ${this.#ofLimit(used)} and was ended`)
  }

  #unknown(): void {
    this.stop()
    this.#warn('cannot be watched for memoryLimitMB: this system does not tell how much memory it uses')
  }

  #ofLimit(used: number): string {
    return `${Math.ceil(used / MiB)} MB of the ${Math.floor(this.#parts.limitBytes / MiB)} MB of memoryLimitMB`
  }

  #warn(what: string): void {
    const { service, log } = this.#parts
    log({ level: 'warn', service, message: `'${service}' ${what}` })
  }
}
