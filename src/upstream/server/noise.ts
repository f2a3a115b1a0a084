// Output of a server that is no message.
//
// Many servers print a greeting or warnings on stdout, and the proxy skips those. A server that prints nothing else for long
// would take the time of all other servers, so its connection ends as after a crash. A message over the limit is refused
// each time.

import type { FrameError } from '../../jsonrpc/jsonrpc-errors.js'
import type { RequestId } from '../../jsonrpc/request-id.js'
import type { Limits } from '../../limits.js'
import type { ServerContext } from './context.js'
import type { Runtime } from '../../runtime/runtime.js'

type NoiseContext = Pick<ServerContext, 'service' | 'redactor' | 'log'> & {
  readonly runtime: Pick<Runtime, 'now'>
}

type Details = Readonly<Record<string, unknown>>

/** More frequent lines would hide other lines of the log. */
const LOG_EVERY_MS = 1000

/** The most bytes of a line that the log shows. */
const SHOWN_BYTES = 200

export class Noise {
  readonly #context: NoiseContext
  readonly #limits: Limits['upstream']['noise']
  readonly #end: (what: string) => void
  #lines = 0
  #bytes = 0
  #isOver = false
  #unlogged = 0
  #logsAt = 0

  /** `end` is called once, when there is too much noise. */
  constructor(context: NoiseContext, limits: Limits['upstream']['noise'], end: (what: string) => void) {
    this.#context = context
    this.#limits = limits
    this.#end = end
  }

  message(): void {
    this.#lines = 0
    this.#bytes = 0
  }

  line(line: Uint8Array, { message }: FrameError): void {
    const bytes = line.length
    const said = (): string => {
      const { redactor } = this.#context
      const text = Buffer.from(line.buffer, line.byteOffset, Math.min(bytes, SHOWN_BYTES)).toString('utf8')
      return bytes > SHOWN_BYTES ? redactor.beginning(text) : redactor.clean(text)
    }
    this.#add(bytes, () => `stdout has a line that is no JSON-RPC message: ${said()}`, { problem: message })
  }

  /** A request of a server whose revision has no requests of servers. */
  request(method: string): void {
    this.#add(0, () => `its request ${method} is dropped: its revision has none`, {})
  }

  /** A message over the limit, which no call waits for. */
  oversize(id: RequestId | undefined, bytes: number): void {
    this.#log(() => 'a message over the limit was dropped', { id, bytes })
  }

  #add(bytes: number, what: () => string, details: Details): void {
    const { linesMax, bytesMax } = this.#limits
    this.#lines++
    this.#bytes += bytes
    this.#log(what, details)
    if (this.#isOver || (this.#lines < linesMax && this.#bytes <= bytesMax)) return
    this.#isOver = true
    const much = this.#bytes > bytesMax ? `${this.#bytes} bytes` : `${this.#lines} lines`
    this.#end(`wrote ${much} in a row that are no messages`)
  }

  /** Logs once a second, with the number of what was not logged. */
  #log(what: () => string, details: Details): void {
    const { log, runtime, service } = this.#context
    this.#unlogged++
    const now = runtime.now()
    if (now < this.#logsAt) return
    this.#logsAt = now + LOG_EVERY_MS
    log({ level: 'warn', service, message: what(), details: { ...details, lines: this.#unlogged } })
    this.#unlogged = 0
  }
}
