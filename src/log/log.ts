// The log: one record in, one line out on stderr and one in the file.
//
// Log records come from children, clients and errors, so control characters are escaped
// and secrets are redacted. Logging never throws and never waits: when the reader of stderr
// is too slow, lines are dropped, so that the memory of the proxy stays bounded.

import { jsonLine, plainRecord, readableLine, noPaint, type Paint } from './lines.js'
import { Redactor } from '../text/redactor.js'
import { RotatingFile } from './rotating-file.js'
import type { LogLevel, LogRecord, LogSink } from '../runtime/runtime.js'

/** Bytes that wait for a slow reader of stderr; lines on top of it are dropped and counted. */
const consoleBytesMax = 1024 * 1024

/** How long `close` waits for a reader of stderr that may never come back. */
const consoleFlushMsMax = 1000

/** The members of a stream that the log uses: `process.stderr` has them. */
export interface LogStream {
  readonly writableLength: number
  write(text: string, written?: () => void): boolean
}

export interface ConsoleOptions {
  readonly stream: LogStream
  readonly format: 'readable' | 'json'
  /** Without it the console shows the same levels as the file. */
  readonly level?: LogLevel
}

export interface LoggerOptions {
  /** The least severe level that is logged. */
  readonly level: LogLevel
  /** Undefined logs to no console. */
  readonly console: ConsoleOptions | undefined
  readonly paint?: Paint
  /** JSON lines, rotated; undefined writes no file. */
  readonly file?:
    { readonly path: string; readonly maxSizeBytes: number; readonly maxFiles: number } | undefined
  readonly now?: () => Date
}

const severity: Readonly<Record<LogLevel, number>> = { error: 0, warn: 1, info: 2, debug: 3 }

/** Makes a logger; it is closed by its owner. */
export function createLogger(options: LoggerOptions): Logger {
  return new Logger(options)
}

export class Logger {
  /** Takes a record; never throws. */
  readonly sink: LogSink
  /** The least severe level that is logged from now on. */
  level: LogLevel
  /** Receives each value that is added later. */
  onSecrets: (values: readonly string[]) => void = () => {}
  readonly #options: LoggerOptions
  readonly #redactor = new Redactor()
  /** Of records of one server alone: a server that hands out common words must not blank those of others. */
  readonly #learnt = new Map<string, Redactor>()
  readonly #file: RotatingFile | undefined
  #dropped = 0

  constructor(options: LoggerOptions) {
    this.#options = options
    this.level = options.level
    const onTrouble = (message: string): void =>
      this.#safely(() => this.#toConsole({ level: 'warn', message }))
    this.#file = options.file && new RotatingFile({ ...options.file, onTrouble })
    this.sink = (record) => this.#log(record)
  }

  /** Whether everything is logged. */
  get isVerbose(): boolean {
    return this.level === 'debug'
  }

  /** Values that are replaced wherever they would be logged. */
  addSecrets(values: readonly string[]): void {
    this.#redactor.keep(...values)
    this.onSecrets(values)
  }

  /** The same in records of this server, for values that it was given or has handed out. */
  learnSecrets(values: readonly string[], service: string): void {
    const learnt = this.#learnt.get(service) ?? new Redactor()
    this.#learnt.set(service, learnt)
    learnt.add(...values)
  }

  /** The text, which may be of one server, without secrets, cut after about `lengthMax` UTF-16 units. */
  clean(text: string, lengthMax: number = Infinity, service: string = ''): string {
    return this.#redactor.shown(this.#learnt.get(service)?.clean(text) ?? text, lengthMax)
  }

  /** Writes a record to the console at each level of the log, unless the console itself shows less. */
  announce(record: LogRecord): void {
    this.#safely(() => this.#toConsole(record))
  }

  /** Resolves when the file has what was logged so far. */
  async flush(): Promise<void> {
    await this.#file?.flush()
  }

  /** Writes out what is pending; a stuck reader of stderr is not waited for longer than a second. */
  async close(): Promise<void> {
    await this.#file?.close()
    const stream = this.#options.console?.stream
    if (stream !== undefined && stream.writableLength > 0) await flushed(stream)
  }

  #log(record: LogRecord): void {
    if (severity[record.level] > severity[this.level]) return
    this.#safely(() => this.#toConsole(record))
    this.#safely(() => this.#file?.write(jsonLine(this.#plain(record))))
  }

  /** Drops a record that cannot be written; the caller does not notice. */
  #safely(write: () => void): void {
    try {
      write()
    } catch {
      // The error cannot be logged either.
    }
  }

  #toConsole(record: LogRecord): void {
    const target = this.#options.console
    if (target === undefined || severity[record.level] > severity[target.level ?? 'debug']) return
    if (target.stream.writableLength > consoleBytesMax) {
      this.#dropped += 1
      return
    }
    if (this.#dropped > 0) target.stream.write(this.#line(this.#droppedRecord(), target.format))
    target.stream.write(this.#line(record, target.format))
  }

  #droppedRecord(): LogRecord {
    const message = `${this.#dropped} log lines were dropped, since nobody reads stderr fast enough`
    this.#dropped = 0
    return { level: 'warn', message }
  }

  #line(record: LogRecord, format: 'readable' | 'json'): string {
    const safe = this.#plain(record)
    return format === 'json' ? jsonLine(safe) : readableLine(safe, this.#options.paint ?? noPaint)
  }

  #plain(record: LogRecord): ReturnType<typeof plainRecord> {
    const learnt = this.#learnt.get(record.service ?? '')
    const known = learnt === undefined ? record : { ...record, message: learnt.clean(record.message) }
    return plainRecord(known, this.#now(), this.#redactor)
  }

  #now(): Date {
    return this.#options.now?.() ?? new Date()
  }
}

/** Resolves when a reader of stderr has taken everything, or after a second. */
export async function flushed(stream: LogStream): Promise<void> {
  await new Promise<void>((resolve) => {
    const timer = setTimeout(resolve, consoleFlushMsMax)
    stream.write('', () => {
      clearTimeout(timer)
      resolve()
    })
  })
}
