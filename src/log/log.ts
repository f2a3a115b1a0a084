// The log writes each record as one line on stderr and one line in the file.
//
// Records contain text of servers, clients and errors, so the log escapes control characters and redacts
// secrets. A call of the sink never throws and never waits.

import { jsonLine, plainRecord, readableLine, noPaint, type Paint, type PlainRecord } from './lines.js'
import { Redactor } from '../text/redactor.js'
import { RotatingFile, type RotatingFileOptions } from './rotating-file.js'
import { realClock, within } from '../runtime/deadline.js'
import type { LogLevel, LogRecord, LogSink } from '../runtime/runtime.js'

/** The most bytes that wait for a slow reader. Further lines are lost and counted. */
const WAITING_BYTES_MAX = 1024 * 1024

/** How long `close` waits for a reader that may have stopped reading. */
const FLUSH_MS_MAX = 1000

/** The part of a writable stream that the log uses, such as `process.stderr`. */
export interface LogStream {
  readonly writableLength: number
  write(text: string, written?: () => void): boolean
}

export interface ConsoleOptions {
  readonly stream: LogStream
  readonly format: 'readable' | 'json'
  /** By default the console shows the same levels as the file. */
  readonly level?: LogLevel
}

export interface LoggerOptions {
  /** The least severe level that is logged. */
  readonly level: LogLevel
  readonly console: ConsoleOptions | undefined
  readonly paint?: Paint
  /** JSON lines, rotated; undefined writes no file. */
  readonly file?: Pick<RotatingFileOptions, 'path' | 'maxSizeBytes' | 'maxFiles' | 'mayBeStdout'> | undefined
  readonly now?: () => Date
}

const severity: Readonly<Record<LogLevel, number>> = { error: 0, warn: 1, info: 2, debug: 3 }

/** The owner of the logger closes it. */
export class Logger {
  readonly sink: LogSink
  level: LogLevel
  /** `addSecrets` passes its values on to this function. */
  onSecrets: (values: readonly string[]) => void = () => {}
  readonly #options: LoggerOptions
  readonly #redactor = new Redactor()
  /** The secrets of each server. A server that hands out common words must not blank the records of others. */
  readonly #learnt = new Map<string, Redactor>()
  readonly #file: RotatingFile | undefined
  readonly #console: LineStream | undefined

  constructor(options: LoggerOptions) {
    this.#options = options
    this.level = options.level
    const { console, file } = options
    this.#console =
      console &&
      new LineStream(console.stream, (lost) => this.#line(this.#plain(droppedRecord(lost)), console.format))
    const onTrouble = (message: string): void => this.announce({ level: 'warn', message })
    this.#file = file && new RotatingFile({ ...file, onTrouble })
    this.sink = (record) => this.#log(record)
  }

  get isVerbose(): boolean {
    return this.level === 'debug'
  }

  /** Adds values that the log redacts in all records. */
  addSecrets(values: readonly string[]): void {
    this.#redactor.keep(...values)
    this.onSecrets(values)
  }

  /** Adds values that the log redacts in records of this server, which has received them or handed them out. */
  learnSecrets(values: readonly string[], service: string): void {
    const learnt = this.#learnt.get(service) ?? new Redactor()
    this.#learnt.set(service, learnt)
    learnt.add(...values)
  }

  /** Redacts a text, which may come from the server `service`, and cuts it after about `lengthMax` UTF-16 units. */
  clean(text: string, lengthMax: number = Infinity, service: string = ''): string {
    return this.#redactor.shown(this.#learnt.get(service)?.clean(text) ?? text, lengthMax)
  }

  /** Writes a record to the console at every level of the log. The level of the console still applies. */
  announce(record: LogRecord): void {
    this.#toConsole(this.#plain(record))
  }

  /** Writes all pending lines. Waits at most a second for the reader of stderr. */
  async close(): Promise<void> {
    await this.#file?.close()
    await this.#console?.close()
  }

  #log(record: LogRecord): void {
    if (severity[record.level] > severity[this.level]) return
    const plain = this.#plain(record)
    this.#toConsole(plain)
    this.#file?.write(jsonLine(plain))
  }

  #toConsole(record: PlainRecord): void {
    const target = this.#options.console
    if (target === undefined || severity[record.level] > severity[target.level ?? 'debug']) return
    try {
      this.#console?.write(this.#line(record, target.format))
    } catch {
      // The stream is closed, and the error cannot be logged either.
    }
  }

  #line(record: PlainRecord, format: 'readable' | 'json'): string {
    return format === 'json' ? jsonLine(record) : readableLine(record, this.#options.paint ?? noPaint)
  }

  #plain(record: LogRecord): PlainRecord {
    const learnt = this.#learnt.get(record.service ?? '')
    const known = learnt === undefined ? record : { ...record, message: learnt.clean(record.message) }
    return plainRecord(known, this.#options.now?.() ?? new Date(), this.#redactor)
  }
}

function droppedRecord(lost: number): LogRecord {
  return { level: 'warn', message: `${lost} log lines were dropped, since nobody reads stderr fast enough` }
}

/** Writes lines to a stream such as stderr. Nothing waits for a slow reader, and memory stays bounded. */
export class LineStream {
  readonly #stream: LogStream
  readonly #gapLine: (lost: number) => string
  /** The number of lines that were lost since the last written line. */
  #dropped = 0
  /** The number of lines that were lost since the start. */
  lost = 0

  /** `gapLine` returns the line that reports lost lines. */
  constructor(stream: LogStream, gapLine: (lost: number) => string) {
    this.#stream = stream
    this.#gapLine = gapLine
  }

  /** False if the next line would be lost. */
  get isWritable(): boolean {
    return this.#stream.writableLength <= WAITING_BYTES_MAX
  }

  write(line: string): void {
    if (!this.isWritable) {
      this.#dropped += 1
      this.lost += 1
      return
    }
    const gap = this.#dropped === 0 ? '' : this.#gapLine(this.#dropped)
    this.#dropped = 0
    if (gap !== '') this.#stream.write(gap)
    this.#stream.write(line)
  }

  /** Resolves when the reader has read everything, or after a second. */
  async close(): Promise<void> {
    if (this.#stream.writableLength === 0) return
    await within(new Promise<void>((resolve) => this.#stream.write('', resolve)), FLUSH_MS_MAX, realClock)
  }
}
