// Calls that wait and can be cancelled while they do.

import type { Edit } from '../../jsonrpc/splice.js'
import type { Call, ClientPort } from '../../mcp/call.js'
import type { Timer } from '../../runtime/runtime.js'

/** One call that waits; lets go of it when that is over. */
export interface HeldCall {
  call: Call | undefined
  readonly edits: readonly Edit[]
  readonly bytes: number
  readonly patience: Timer
  /** Gives up its place in line, if it has one. */
  readonly leave: (() => void) | undefined
}

/** The calls that wait for one thing; they are given back in the order in which their clients sent them. */
export class HeldCalls {
  readonly #held = new Set<HeldCall>()
  #bytes = 0

  get size(): number {
    return this.#held.size
  }

  /** Of all calls that wait. */
  get bytes(): number {
    return this.#bytes
  }

  /** `patience` abandons the call when it takes too long; who cancels it ends its wait at once. */
  begin(call: Call, edits: readonly Edit[], patience: Timer, leave?: () => void): HeldCall {
    const wait: HeldCall = { call, edits, bytes: call.bytes, patience, leave }
    this.#held.add(wait)
    this.#bytes += wait.bytes
    call.onCancel = () => this.#leave(wait)
    return wait
  }

  /** Whether the call was still waiting; it is its turn. */
  end(wait: HeldCall): boolean {
    const { call } = wait
    wait.call = undefined
    wait.patience.cancel()
    if (!this.#held.delete(wait)) return false
    this.#bytes -= wait.bytes
    if (call !== undefined) call.onCancel = undefined
    return true
  }

  /** Takes back all calls; one that comes back from a connection that has ended goes before those that came after it. */
  takeAll(): (readonly [Call, readonly Edit[]])[] {
    return this.#take(() => true)
  }

  /** Takes back what waits for this client. */
  release(client: ClientPort): Call[] {
    return this.#take((call) => call.client === client).map(([call]) => call)
  }

  #take(isWanted: (call: Call) => boolean): (readonly [Call, readonly Edit[]])[] {
    const taken = [...this.#held].flatMap((wait) => {
      const { call, edits } = wait
      if (call === undefined || !isWanted(call)) return []
      this.#leave(wait)
      return call.settled ? [] : [[call, edits] as const]
    })
    return taken.sort(
      ([one], [other]) => one.deadline.arrivedAt - other.deadline.arrivedAt || other.repeats - one.repeats,
    )
  }

  #leave(wait: HeldCall): void {
    if (this.end(wait)) wait.leave?.()
  }
}
