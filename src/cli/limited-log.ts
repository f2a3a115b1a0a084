// Log lines of one kind, no more of them than a person reads.
//
// What is left out is counted, and the count is logged when the time is over or the log ends.

import type { LogRecord, LogSink } from '../log.js'
import type { Runtime } from '../index.js'

/** Lines of one kind within one window. */
const linesMax = 5
const windowMs = 60_000
/** Kinds that are told apart at a time; those on top of it count as one. */
const kindsMax = 200

interface Window {
  readonly first: LogRecord
  lines: number
}

/** Passes the first lines of each kind and counts the others. */
export class LimitedLog {
  readonly #log: LogSink
  readonly #runtime: Pick<Runtime, 'setTimer'>
  readonly #windows = new Map<string, Window>()
  readonly #timers = new Map<string, { cancel(): void }>()

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
    const window = { first, lines: 0 }
    this.#windows.set(kind, window)
    this.#timers.set(
      kind,
      this.#runtime.setTimer(windowMs, () => this.#end(kind)),
    )
    return window
  }

  #end(kind: string): void {
    const window = this.#windows.get(kind)
    this.#windows.delete(kind)
    this.#timers.get(kind)?.cancel()
    this.#timers.delete(kind)
    const more = (window?.lines ?? 0) - linesMax
    if (window === undefined || more <= 0) return
    const { level, service, message } = window.first
    const lines = more === 1 ? 'line' : 'lines'
    const text = `left out: ${more} more ${lines} like "${message}"`
    this.#log({ level, message: text, ...(service !== undefined && { service }) })
  }
}
