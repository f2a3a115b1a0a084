// The memory of one server, with everything that it has started.
//
// A server that leaks takes the machine down with it, and all others. So it is
// looked at from time to time, and ended before that.

import type { LogSink, Runtime, Timer } from '../../runtime/runtime.js'

/** Shares of the limit: memory above the first is logged as a warning, once until it has fallen below the second. */
const WARN_SHARE = 0.8
const CALM_SHARE = 0.7

const MiB = 1024 * 1024

/** The memory limit of one process group. */
export interface MemoryLimit {
  readonly service: string
  readonly group: number
  readonly limitBytes: number
  /** How often the memory is measured. */
  readonly everyMs: number
}

/** Looks at the memory of one process group until it is stopped. */
export class MemoryWatch {
  readonly #limit: MemoryLimit
  readonly #runtime: Pick<Runtime, 'memoryOf' | 'setTimer'>
  readonly #log: LogSink
  readonly #onExceeded: (what: string) => void
  #timer: Timer
  /** As it was measured last. */
  usedBytes: number | undefined
  #stopped = false
  #warned = false

  /** `onExceeded` is called once; the memory is not measured after that. */
  constructor(
    limit: MemoryLimit,
    runtime: Pick<Runtime, 'memoryOf' | 'setTimer'>,
    log: LogSink,
    onExceeded: (what: string) => void,
  ) {
    this.#limit = limit
    this.#runtime = runtime
    this.#log = log
    this.#onExceeded = onExceeded
    this.#timer = this.#next()
  }

  stop(): void {
    this.#stopped = true
    this.#timer.cancel()
  }

  #next(): Timer {
    return this.#runtime.setTimer(this.#limit.everyMs, () => void this.#look())
  }

  async #look(): Promise<void> {
    const used = await this.#used()
    if (this.#stopped) return
    this.usedBytes = used
    if (used === undefined) return this.#unknown()
    if (used > this.#limit.limitBytes) return this.#exceeded(used)
    this.#compare(used / this.#limit.limitBytes, used)
    this.#timer = this.#next()
  }

  async #used(): Promise<number | undefined> {
    try {
      return await this.#runtime.memoryOf(this.#limit.group)
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
    this.#onExceeded(`used ${this.#ofLimit(used)} and was ended`)
  }

  #unknown(): void {
    this.stop()
    this.#warn('cannot be watched for memoryLimitMB: this system does not tell how much memory it uses')
  }

  #ofLimit(used: number): string {
    return `${Math.ceil(used / MiB)} MB of the ${Math.floor(this.#limit.limitBytes / MiB)} MB of memoryLimitMB`
  }

  #warn(what: string): void {
    const { service } = this.#limit
    this.#log({ level: 'warn', service, message: `'${service}' ${what}` })
  }
}
