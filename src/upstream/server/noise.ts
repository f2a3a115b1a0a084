// Output of a server that is no message.
//
// Many servers print a greeting or warnings on stdout, which the proxy skips. A server that prints only such
// lines for long would take the time of all other servers, so its connection ends like after a crash. The
// proxy refuses each message over the limit.

import type { FrameError } from '../../jsonrpc/jsonrpc-errors.js'
import type { RequestId } from '../../jsonrpc/request-id.js'
import type { Limits } from '../../limits.js'
import type { ServerContext } from './context.js'
import type { Runtime } from '../../runtime/runtime.js'

type NoiseContext = Pick<ServerContext, 'service' | 'redactor' | 'log'> & {
  readonly runtime: Pick<Runtime, 'now'>
}

type Details = Readonly<Record<string, unknown>>

const LOG_EVERY_MS = 1000

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

  /** `end` is called once, when the noise exceeds its limit. */
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

  /** A request of a server, in a revision that has no such requests. */
  request(method: string): void {
    this.#add(0, () => `its request ${method} is dropped: its revision has none`, {})
  }

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

  /** Logs at most once a second, with the number of lines since the last time. */
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
