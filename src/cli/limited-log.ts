// Log lines of one kind, no more of them than a person reads.
//
// Dropped records are counted, and the count is logged when the time is over or the log ends.

import type { Runtime } from '../index.js'
import type { LogRecord, LogSink } from '../runtime/runtime.js'
import { counted } from '../text/counted.js'

/** Lines of one kind within one window. */
const linesMax = 5
const windowMs = 60_000
/** Most kinds that are distinguished at a time; further ones count as one. */
const kindsMax = 200

interface Window {
  readonly first: LogRecord
  readonly timer: { cancel(): void }
  lines: number
}

/** Passes the first lines of each kind and counts the others. */
export class LimitedLog {
  readonly #log: LogSink
  readonly #runtime: Pick<Runtime, 'setTimer'>
  readonly #windows = new Map<string, Window>()

  constructor(log: LogSink, runtime: Pick<Runtime, 'setTimer'>) {
    this.#log = log
    this.#runtime = runtime
  }

  take(kind: string, record: LogRecord): void {
    const key = this.#windows.has(kind) || this.#windows.size < kindsMax ? kind : ''
    const window = this.#windows.get(key) ?? this.#begin(key, record)
    window.lines++
    if (window.lines <= linesMax) this.#log(record)
  }

  /** Says what was left out until now. */
  close(): void {
    for (const kind of this.#windows.keys()) this.#end(kind)
  }

  #begin(kind: string, first: LogRecord): Window {
    const window = { first, timer: this.#runtime.setTimer(windowMs, () => this.#end(kind)), lines: 0 }
    this.#windows.set(kind, window)
    return window
  }

  #end(kind: string): void {
    const window = this.#windows.get(kind)
    if (window === undefined) return
    this.#windows.delete(kind)
    window.timer.cancel()
    const more = window.lines - linesMax
    if (more <= 0) return
    const { level, service, message } = window.first
    const text = `left out: ${counted(more, 'more line')} like "${message}"`
    this.#log({ level, message: text, ...(service !== undefined && { service }) })
  }
}
