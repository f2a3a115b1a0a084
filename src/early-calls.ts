// The calls of one client that came before its `initialize` was answered.

import type { Call } from './mcp/call.js'
import { tooManyCalls } from './mcp/error-codes.js'

/** Holds calls until the client is told what is there. */
export class EarlyCalls {
  readonly #bytesMax: number
  /** In the order in which they came. */
  readonly #calls = new Set<Call>()
  #bytes = 0

  /** `bytesMax` is for all of them; one alone may be as long as it is. */
  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax
  }

  /** Who gives a call up makes room for others. */
  hold(call: Call): void {
    const bytes = call.bytes
    if (this.#bytes > 0 && this.#bytes + bytes > this.#bytesMax) return call.fail(tooManyCalls())
    call.keep()
    this.#calls.add(call)
    this.#bytes += bytes
    call.onCancel = () => {
      if (this.#calls.delete(call)) this.#bytes -= bytes
    }
  }

  /** Those that somebody waits for still. */
  release(): readonly Call[] {
    const calls = [...this.#calls]
    this.#calls.clear()
    for (const call of calls) call.onCancel = undefined
    return calls
  }
}
