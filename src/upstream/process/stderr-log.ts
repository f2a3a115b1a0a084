// A child's stderr: always drained, line by line into the log, never faster than anyone reads.

import type { Readable } from 'node:stream'
import type { Redactor } from '../../text/redactor.js'
import { FULL_READ_BYTES, ReadThrottle } from '../../runtime/read-throttle.js'
import type { LogSink, Runtime } from '../../runtime/runtime.js'
import type { LastWords } from './last-words.js'

const LF = 0x0a

export interface StderrLimits {
  /** A longer line is cut. */
  readonly lineBytesMax: number
  /** Further lines are counted and dropped. */
  readonly linesPerSecondMax: number
}

/** Logs the lines of one child's stderr. */
export class StderrLog {
  readonly #service: string
  readonly #limits: StderrLimits
  readonly #runtime: Pick<Runtime, 'now'>
  readonly #log: LogSink
  readonly #discretion: Redactor
  readonly #words: LastWords | undefined
  #line: Buffer[] = []
  #lineBytes = 0
  #isCut = false
  #windowStart = 0
  #inWindow = 0
  #dropped = 0

  /** `words` gets each line that is logged. */
  constructor(
    service: string,
    limits: StderrLimits,
    runtime: Pick<Runtime, 'now'>,
    log: LogSink,
    discretion: Redactor,
    words?: LastWords,
  ) {
    this.#service = service
    this.#limits = limits
    this.#runtime = runtime
    this.#log = log
    this.#discretion = discretion
    this.#words = words
  }

  drain(stream: Readable): void {
    const throttle = new ReadThrottle(stream)
    stream.on('data', (chunk: Buffer) => {
      const lines = this.#push(chunk)
      if (chunk.length >= FULL_READ_BYTES) throttle.worked(lines)
    })
    // A broken stderr loses log lines and nothing else.
    for (const end of ['end', 'error', 'close']) stream.on(end, () => this.#end())
  }

  /** Returns how many lines end in the chunk. */
  #push(chunk: Buffer): number {
    let lines = 0
    let start = 0
    for (let end = chunk.indexOf(LF); end >= 0; end = chunk.indexOf(LF, start)) {
      this.#keep(chunk.subarray(start, end))
      this.#endLine()
      start = end + 1
      lines++
    }
    this.#keep(chunk.subarray(start))
    return lines
  }

  #keep(part: Buffer): void {
    const room = this.#limits.lineBytesMax - this.#lineBytes
    if (part.length > room) this.#isCut = true
    if (room <= 0 || part.length === 0) return
    const kept = part.subarray(0, room)
    this.#line.push(kept)
    this.#lineBytes += kept.length
  }

  #end(): void {
    this.#endLine()
    this.#reportDropped()
  }

  #endLine(): void {
    if (this.#lineBytes === 0) return
    const line = this.#line
    const isCut = this.#isCut
    this.#line = []
    this.#lineBytes = 0
    this.#isCut = false
    // A flood costs little: what is not logged is not even read.
    if (!this.#mayLog()) return
    const said = Buffer.concat(line).toString('utf8')
    const clean = isCut ? this.#discretion.beginning(said) : this.#discretion.clean(said)
    const text = clean.trimEnd()
    if (text === '') return
    this.#words?.add(text)
    this.#say(text)
  }

  #say(message: string): void {
    this.#log({ level: 'info', service: this.#service, message, details: { stream: 'stderr' } })
  }

  #mayLog(): boolean {
    const now = this.#runtime.now()
    if (now - this.#windowStart >= 1000) this.#startWindow(now)
    if (this.#inWindow >= this.#limits.linesPerSecondMax) {
      this.#dropped++
      return false
    }
    this.#inWindow++
    return true
  }

  #startWindow(now: number): void {
    this.#reportDropped()
    this.#windowStart = now
    this.#inWindow = 0
  }

  #reportDropped(): void {
    if (this.#dropped === 0) return
    const message = `${this.#dropped} lines of stderr were dropped`
    this.#dropped = 0
    this.#log({ level: 'warn', service: this.#service, message })
  }
}
