// Calls that were cancelled, timed out or cut from their answers, and that the server may still be processing.

import type { RequestId } from '../../jsonrpc/request-id.js'
import type { Call, ClientPort } from '../../mcp/call.js'
import type { Runtime } from '../../runtime/runtime.js'

export interface AbandonedLimits {
  /** Calls that are remembered one by one; beyond them nothing is certain. */
  readonly max: number
  /** How long a server may take to notice that a call was cancelled. */
  readonly graceMs: number
}

/** What a server may still say on account of such a call. */
export type Aftermath = 'question' | 'log'

interface AbandonedCall {
  readonly client: ClientPort
  readonly at: number
  readonly says: Readonly<Record<Aftermath, boolean>>
}

/** Whose they were, and since when. */
export class Abandoned {
  readonly #limits: AbandonedLimits
  readonly #runtime: Pick<Runtime, 'now'>
  readonly #calls = new Map<RequestId, AbandonedCall>()

  constructor(limits: AbandonedLimits, runtime: Pick<Runtime, 'now'>) {
    this.#limits = limits
    this.#runtime = runtime
  }

  add(id: RequestId, { client, row, context }: Call): void {
    const says = { question: row.askable, log: context.logLevel !== undefined }
    const isSilent = !says.question && !says.log
    if (!this.#isFull && !isSilent) this.#calls.set(id, { client, at: this.#runtime.now(), says })
  }

  /** The server has answered after all: it is done with this one. */
  answered(id: RequestId): void {
    if (!this.#isFull) this.#calls.delete(id)
  }

  /** Whether what a server says may be about a call of anybody but this client. */
  mayBeOfOthers(client: ClientPort | undefined, what: Aftermath): boolean {
    return this.#isFull || this.#saying(what).some((call) => call.client !== client)
  }

  /** Whether the server has had time enough to ask nothing more, and it is not known that it will not. */
  get isInDoubt(): boolean {
    const now = this.#runtime.now()
    return this.#saying('question').some(({ at }) => now - at >= this.#limits.graceMs)
  }

  #saying(what: Aftermath): AbandonedCall[] {
    return [...this.#calls.values()].filter(({ says }) => says[what])
  }

  /** Some were not even remembered. */
  get #isFull(): boolean {
    return this.#calls.size >= this.#limits.max
  }
}
