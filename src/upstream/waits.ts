// Calls that wait, and can be taken back as long as they do.

import type { Call, ClientPort } from '../mcp/call.js'
import type { Timer } from './host.js'

/** One call that waits; lets go of it when that is over. */
export interface Wait {
  call: Call | undefined
  readonly patience: Timer
}

/** The calls that wait for one thing, in the order in which they came. */
export class Waits {
  readonly #waits = new Set<Wait>()

  get size(): number {
    return this.#waits.size
  }

  /** `patience` ends the wait when it takes too long. */
  begin(call: Call, patience: Timer): Wait {
    const wait = { call, patience }
    this.#waits.add(wait)
    return wait
  }

  /** Whether the call was still waiting. */
  end(wait: Wait): boolean {
    wait.call = undefined
    wait.patience.cancel()
    return this.#waits.delete(wait)
  }

  /** Takes back what waits for this client, but for what has been settled meanwhile. */
  release(client: ClientPort): Call[] {
    return [...this.#waits].flatMap((wait) => {
      const { call } = wait
      if (call === undefined || call.client !== client || call.settled) return []
      this.end(wait)
      return [call]
    })
  }
}
