// Which call a message of a server is about, where the message names none.
//
// That is known where only one call in flight can be meant. A call that was cancelled, timed out or cut from its answer counts
// too: the server may still be processing it.

import type { RequestId } from '../../jsonrpc/request-id.js'
import type { Call, ClientPort } from '../../calls/call.js'
import type { Runtime } from '../../runtime/runtime.js'

/** Calls that are remembered at the same time; the oldest is forgotten first. */
const ABANDONED_MAX = 1024

/** How long a server may ask or log for such a call, unless it answers the call, which the official SDK does not. */
const ASK_MS = 60_000

/** The client is remembered by its number, so that a client that has left can be collected. */
interface AbandonedCall {
  readonly client: number
  readonly isOfSeveral: boolean
  readonly at: number
  readonly mayAsk: boolean
}

export class Attribution {
  readonly #calls: () => readonly Call[]
  readonly #clients: { readonly only: ClientPort | undefined }
  readonly #runtime: Pick<Runtime, 'now'>
  readonly #abandoned = new Map<RequestId, AbandonedCall>()

  constructor(
    calls: () => readonly Call[],
    clients: { readonly only: ClientPort | undefined },
    runtime: Pick<Runtime, 'now'>,
  ) {
    this.#calls = calls
    this.#clients = clients
    this.#runtime = runtime
  }

  abandon(id: RequestId, { client, row }: Call): void {
    const [oldest] = this.#abandoned.keys()
    if (oldest !== undefined && this.#abandoned.size >= ABANDONED_MAX) this.#abandoned.delete(oldest)
    this.#abandoned.set(id, {
      client: client.serial,
      isOfSeveral: client.profile.isSeveral === true,
      at: this.#runtime.now(),
      mayAsk: row.askable,
    })
  }

  /**
   * Whether a question on the stream of this call comes too late. Also long after the times of the limits: what comes on
   * the stream of a call is about that call.
   */
  isAbandoned(id: RequestId): boolean {
    return this.#abandoned.has(id)
  }

  /** An answer has come after all, so the server is done with that call. */
  answered(id: RequestId): void {
    this.#abandoned.delete(id)
  }

  /** The one call in flight; undefined where there are several. */
  get only(): Call | undefined {
    return this.#only(() => true)
  }

  get oneAskable(): Call | undefined {
    return this.#only(({ row }) => row.askable)
  }

  /** The call that the server asks for, where it can only be one. */
  get askable(): Call | undefined {
    const found = this.oneAskable
    return found === undefined || this.mayConcernOthers(found.client) ? undefined : found
  }

  /** The call that a log message is about, where it can only be one. */
  get logging(): Call | undefined {
    const found = this.#only(({ context }) => context.logLevel !== undefined)
    return found === undefined || this.#hasOfOther(found.client) ? undefined : found
  }

  /** Whether the server may ask for an abandoned call of another client than this one. */
  mayConcernOthers(client: ClientPort): boolean {
    const isAlone = this.#clients.only === client && client.profile.isSeveral !== true
    return !isAlone && this.#hasOfOther(client)
  }

  /** Requests without a session that share a principal have one number, and may come from several clients. */
  #hasOfOther({ serial }: ClientPort): boolean {
    if (this.#abandoned.size === 0) return false
    const since = this.#runtime.now() - ASK_MS
    return [...this.#abandoned.values()].some(
      (call) => call.mayAsk && call.at > since && (call.isOfSeveral || call.client !== serial),
    )
  }

  #only(is: (call: Call) => boolean): Call | undefined {
    const [found, other] = this.#calls().filter(is)
    return other === undefined ? found : undefined
  }
}
