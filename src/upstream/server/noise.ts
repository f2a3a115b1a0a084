// Output of a server that is no message.
//
// Many servers print a greeting or warnings on stdout, and the proxy skips those. A server that prints nothing else for long
// would take the time of all other servers, so its connection ends as after a crash. A message over the limit is refused
// each time.

import type { FrameError } from '../../jsonrpc/jsonrpc-errors.js'
import type { RequestId } from '../../jsonrpc/request-id.js'
import type { ServerContext } from './context.js'
import type { LogRecord, Runtime } from '../../runtime/runtime.js'

export interface NoiseLimits {
  /** Lines without a message between them. */
  readonly linesMax: number
  /** Bytes without a message between them. */
  readonly bytesMax: number
}

type NoiseContext = Pick<ServerContext, 'service' | 'redactor' | 'log'> & {
  readonly runtime: Pick<Runtime, 'now'>
}

/** More frequent lines would hide other lines of the log. */
const LOG_EVERY_MS = 1000

/** The most bytes of a line that the log shows. */
const SHOWN_BYTES = 200

/** Counts what is no message, and says when it is too much. */
export class Noise {
  readonly #context: NoiseContext
  readonly #limits: NoiseLimits
  readonly #messages: () => number
  readonly #end: (what: string) => void
  /** How many messages had come before the last noise. The lines and bytes are those since the last message. */
  #before = 0
  #lines = 0
  #bytes = 0
  #isOver = false
  #unlogged = 0
  #logsAt = 0

  /** `messages` says how many have come; `end` is called once, when there is too much noise. */
  constructor(
    context: NoiseContext,
    limits: NoiseLimits,
    messages: () => number,
    end: (what: string) => void,
  ) {
    this.#context = context
    this.#limits = limits
    this.#messages = messages
    this.#end = end
  }

  /** A line that is no message; `line` may be the beginning only, and `bytes` is the length of the whole. */
  line(line: Uint8Array, bytes: number, { message }: FrameError): void {
    const shown = Buffer.from(line.buffer, line.byteOffset, Math.min(line.length, SHOWN_BYTES))
    const { redactor } = this.#context
    const said = (): string =>
      shown.length < bytes
        ? redactor.beginning(shown.toString('utf8'))
        : redactor.clean(shown.toString('utf8'))
    this.#add(() => `stdout has a line that is no JSON-RPC message: ${said()}`, { problem: message })
    this.#wrote(bytes)
  }

  /** A request of a server whose revision has no requests of servers. */
  request(method: string): void {
    this.#add(() => `its request ${method} is dropped: its revision has none`, {})
  }

  batch(): void {
    this.#add(() => 'a batch was ignored: servers answer one by one', {})
  }

  /** A message over the limit; `isReported` says that its call has got an error. */
  oversize(id: RequestId | undefined, bytes: number, isReported: boolean): void {
    if (!isReported) this.#logOften(() => 'a message over the limit was dropped', { id, bytes })
  }

  #wrote(bytes: number): void {
    this.#startAnew()
    this.#bytes += bytes
    if (this.#bytes > this.#limits.bytesMax)
      this.#exceeded(`wrote ${this.#bytes} bytes in a row that are no messages`)
  }

  #exceeded(what: string): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#end(what)
  }

  /** A message resets the counts. */
  #startAnew(): void {
    const messages = this.#messages()
    if (messages === this.#before) return
    this.#before = messages
    this.#lines = 0
    this.#bytes = 0
  }

  #add(what: () => string, details: Readonly<Record<string, unknown>>): void {
    this.#startAnew()
    this.#lines++
    this.#logOften(what, details)
    if (this.#lines >= this.#limits.linesMax)
      this.#exceeded(`wrote ${this.#lines} lines in a row that are no messages`)
  }

  /** Logs once a second, with the number of what was not logged. */
  #logOften(what: () => string, details: Readonly<Record<string, unknown>>): void {
    this.#unlogged++
    const now = this.#context.runtime.now()
    if (now < this.#logsAt) return
    this.#logsAt = now + LOG_EVERY_MS
    this.#log('warn', what(), { ...details, lines: this.#unlogged })
    this.#unlogged = 0
  }

  #log(level: LogRecord['level'], message: string, details: Readonly<Record<string, unknown>>): void {
    this.#context.log({ level, service: this.#context.service, message, details })
  }
}
