// Calls that were cancelled, timed out or cut from their answers, and that the server may still be processing.

import type { RequestId } from '../../jsonrpc/request-id.js'
import type { Call, ClientPort } from '../../mcp/call.js'
import type { Runtime } from '../../runtime/runtime.js'

export interface AbandonedLimits {
  /** Calls that are remembered at the same time; the oldest is forgotten first. */
  readonly max: number
  /** How long a server may log for such a call. */
  readonly logMs: number
  /** How long a server may ask for such a call, unless it answers the call before. */
  readonly askMs: number
}

/** The client is remembered by its number, so that a client that has left can be collected. */
interface AbandonedCall {
  readonly client: number
  readonly isOfSeveral: boolean
  readonly at: number
  readonly mayAsk: boolean
  readonly mayLog: boolean
}

/** The abandoned calls of one connection to a server. */
export class Abandoned {
  readonly #limits: AbandonedLimits
  readonly #runtime: Pick<Runtime, 'now'>
  readonly #calls = new Map<RequestId, AbandonedCall>()

  constructor(limits: AbandonedLimits, runtime: Pick<Runtime, 'now'>) {
    this.#limits = limits
    this.#runtime = runtime
  }

  add(id: RequestId, { client, row, context }: Call): void {
    const [mayAsk, mayLog] = [row.askable, context.logLevel !== undefined]
    if (!mayAsk && !mayLog) return
    const [oldest] = this.#calls.keys()
    if (oldest !== undefined && this.#calls.size >= this.#limits.max) this.#calls.delete(oldest)
    const isOfSeveral = client.isSeveral === true
    this.#calls.set(id, { client: client.serial, isOfSeveral, at: this.#runtime.now(), mayAsk, mayLog })
  }

  /** The server has answered the call after all, so it is done with it. */
  answered(id: RequestId): void {
    this.#calls.delete(id)
  }

  /** Whether the server may still ask for a call of another client than this one. */
  mayAskOthers(client: ClientPort): boolean {
    if (this.#calls.size === 0) return false
    return this.#within(this.#limits.askMs).some((call) => call.mayAsk && isOfOther(call, client))
  }

  /** Whether the server may still log for a call of another client than this one. */
  mayLogForOthers(client: ClientPort): boolean {
    if (this.#calls.size === 0) return false
    return this.#within(this.#limits.logMs).some((call) => call.mayLog && isOfOther(call, client))
  }

  /** Calls are in the order in which they were abandoned. */
  #within(ms: number): AbandonedCall[] {
    const since = this.#runtime.now() - ms
    const expired = this.#runtime.now() - Math.max(this.#limits.askMs, this.#limits.logMs)
    for (const [id, { at }] of this.#calls) {
      if (at > expired) break
      this.#calls.delete(id)
    }
    return [...this.#calls.values()].filter(({ at }) => at > since)
  }
}

/** Requests without a session that share a principal have one number, and may come from several clients. */
function isOfOther(call: AbandonedCall, client: ClientPort): boolean {
  return call.isOfSeveral || call.client !== client.serial
}
