// Reads the stderr of a child all the time, and logs a limited number of lines per second.

import type { Readable } from 'node:stream'
import type { Limits } from '../../limits.js'
import type { Redactor } from '../../text/redactor.js'
import { ReadThrottle } from '../../runtime/read-throttle.js'
import type { LogSink, Runtime } from '../../runtime/runtime.js'

const LF = 0x0a

interface LogContext {
  readonly limits: Pick<Limits['upstream'], 'stderr'>
  readonly runtime: Pick<Runtime, 'now'>
  readonly log: LogSink
}

export class StderrLog {
  readonly #service: string
  readonly #context: LogContext
  readonly #redactor: Redactor
  readonly #words: LastWords | undefined
  #line: Buffer[] = []
  #lineBytes = 0
  #isCut = false
  #windowStart = 0
  #inWindow = 0
  #dropped = 0

  /** `words` gets each logged line. */
  constructor(service: string, context: LogContext, redactor: Redactor, words?: LastWords) {
    this.#service = service
    this.#context = context
    this.#redactor = redactor
    this.#words = words
  }

  drain(stream: Readable): void {
    const throttle = new ReadThrottle(stream)
    stream.on('data', (chunk: Buffer) => {
      this.#push(chunk)
      throttle.onRead(chunk)
    })
    // A broken stderr costs only log lines.
    for (const end of ['end', 'error', 'close']) stream.on(end, () => this.#end())
  }

  #push(chunk: Buffer): void {
    let start = 0
    for (let end = chunk.indexOf(LF); end >= 0; end = chunk.indexOf(LF, start)) {
      this.#keep(chunk.subarray(start, end))
      this.#endLine()
      start = end + 1
    }
    this.#keep(chunk.subarray(start))
  }

  #keep(part: Buffer): void {
    const room = this.#context.limits.stderr.lineBytesMax - this.#lineBytes
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
    // The proxy does not even decode a line that it does not log, so a flood costs little.
    if (!this.#mayLog()) return
    const said = Buffer.concat(line).toString('utf8')
    const clean = isCut ? this.#redactor.beginning(said) : this.#redactor.clean(said)
    const text = clean.trimEnd()
    if (text === '') return
    this.#words?.add(text)
    this.#say(text)
  }

  #say(message: string): void {
    this.#context.log({ level: 'info', service: this.#service, message, details: { stream: 'stderr' } })
  }

  #mayLog(): boolean {
    const now = this.#context.runtime.now()
    if (now - this.#windowStart >= 1000) this.#startWindow(now)
    if (this.#inWindow >= this.#context.limits.stderr.linesPerSecondMax) {
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
    this.#context.log({ level: 'warn', service: this.#service, message })
  }
}

// Finds the reason for the failure of a program on its stderr: the line that names the error.
//
// Node writes its version and a stack after the error, npm the place of its log, and Python the error last of
// all.

const KEPT_MAX = 200

const SHOWN_MAX = 3

/** The beginnings of errors. An indented line belongs to the error above. */
const errors: readonly RegExp[] = [
  // An error type of JavaScript, Python, Java or .NET.
  /^(?:Uncaught |Unhandled exception[.:] |Exception in thread "[^"]*" )?(?:[\w$]+[./:]+)*[\w$]*(?:Error|Exception)(?: \[\w+\])?: \S/,
  // Many programs begin with their name.
  /^(?:[\w./-]+: )?(?:fatal error|error|fatal|panic)(?:\[\w+\])?: \S/i,
  // Every error line of npm has this prefix.
  /^npm (?:error|ERR!) .*(?:is not in this registry|could not be found|No matching version|failed, reason:|Lock compromised)/,
]

/** Stack frames, last lines of Node, npm and Rust, examples after an error, and lines without a letter. */
const noise =
  /^\s+at \S|^Node\.js v\d|A complete log of this run|^note: run with|^For example: |^Run '.+ --help' for more information$|^[^\p{L}\p{N}]*$/u

export class LastWords {
  readonly #lines: string[] = []

  add(line: string): void {
    this.#lines.push(line)
    if (this.#lines.length > KEPT_MAX) this.#lines.shift()
  }

  get error(): readonly string[] {
    const error = this.#lines.findLast((line) => errors.some((each) => each.test(line)))
    return error === undefined ? [] : [error]
  }

  /** The line that names the error, or else the last lines. */
  get lines(): readonly string[] {
    const { error } = this
    return error.length > 0 ? error : this.#lines.filter((line) => !noise.test(line)).slice(-SHOWN_MAX)
  }
}
