// Calls reach a server in the order in which they came, though one may have to
// wait until its tool's schema is compiled and the next has nothing to wait for.

import type { Call } from '../../mcp/call.js'
import type { CallTarget } from '../../upstream/contracts/upstream.js'

/** The calls to each lane that wait, and those behind them. */
export class CallOrder {
  readonly #last = new WeakMap<CallTarget, Promise<void>>()

  /** Calls `go` with what `ready` gives once every earlier call to the lane has gone: nearly always at once. */
  take<T>(call: Call, lane: CallTarget, ready: T | Promise<T>, go: (value: T) => void): void {
    const before = this.#last.get(lane)
    if (before === undefined && !(ready instanceof Promise)) return go(ready)
    call.keep()
    const turn = this.#turn(call, before, ready, go).finally(() => {
      if (this.#last.get(lane) === turn) this.#last.delete(lane)
    })
    this.#last.set(lane, turn)
  }

  async #turn<T>(
    call: Call,
    before: Promise<void> | undefined,
    ready: T | Promise<T>,
    go: (value: T) => void,
  ): Promise<void> {
    const value = await ready
    await before
    if (!call.settled) go(value)
  }
}
