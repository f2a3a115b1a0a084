// The line at level `debug` for each HTTP request. It has no address and no header field, because both may
// hold credentials.

import type { HttpAnswer } from './answer.js'
import { mediaType } from './body.js'
import type { ExchangeHandler } from './exchange.js'
import type { HttpTarget } from './options.js'

export interface TracedAsk {
  readonly method: string
  /** The JSON-RPC method that it carries. */
  readonly rpc?: string | undefined
  readonly body?: Uint8Array
}

/** The handler itself, which now tells how long its exchange took and how large it was. */
export function traced(
  ask: TracedAsk,
  handler: ExchangeHandler,
  { trace, timers }: Pick<HttpTarget, 'trace' | 'timers'>,
): ExchangeHandler {
  if (trace === undefined) return handler
  const startedAt = timers.now()
  const tell = (what: string): void => {
    const ms = Math.round(timers.now() - startedAt)
    trace(`${ask.method}${ask.rpc === undefined ? '' : ` ${ask.rpc}`}: ${what}, ${ms} ms`)
  }
  return {
    sent: () => handler.sent?.(),
    responded: (answer) => {
      handler.responded(answer)
      follow(answer, ask.body?.length ?? 0, tell)
    },
    troubled: (trouble) => {
      tell(trouble.what)
      handler.troubled(trouble)
    },
  }
}

function follow(answer: HttpAnswer, bytesOut: number, tell: (what: string) => void): void {
  const type = mediaType(answer)
  const head = `HTTP ${answer.status}${type === '' ? '' : ` ${type}`}`
  // A stream may go on for hours.
  if (type === 'text/event-stream') tell(`${head}, begins`)
  answer.whenClosed(() => tell(`${head}, ${bytesOut} bytes out, ${answer.bytes} bytes in`))
}
