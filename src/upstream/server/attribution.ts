// Finds the call of a message of a server that does not name one.
//
// The call is known if only one call in flight is possible. A call that was cancelled, has timed out or has
// lost its connection counts too, because the server may still process it.

import type { RequestId } from '../../jsonrpc/request-id.js'
import type { Call, ClientPort } from '../../calls/call.js'
import type { Runtime } from '../../runtime/runtime.js'

/** The most remembered calls; the oldest one is forgotten first. */
const ABANDONED_MAX = 1024

/** How long a server may send requests or logs for an abandoned call that it does not answer. */
const ASK_MS = 60_000

/** The client is stored as a number, so that a client that has left can be collected. */
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
      mayAsk: row.isAskable,
    })
  }

  /**
   * Whether a request on the stream of this call comes too late. No time limit applies, because every message
   * on the stream of a call is about that call.
   */
  isAbandoned(id: RequestId): boolean {
    return this.#abandoned.has(id)
  }

  /** A late answer shows that the server has finished the call. */
  answered(id: RequestId): void {
    this.#abandoned.delete(id)
  }

  get only(): Call | undefined {
    return this.#only(() => true)
  }

  get oneAskable(): Call | undefined {
    return this.#only(({ row }) => row.isAskable)
  }

  /** The call of a request of the server, if only one is possible. */
  get askable(): Call | undefined {
    const found = this.oneAskable
    return found === undefined || this.mayConcernOthers(found.client) ? undefined : found
  }

  /** The call of a log message, if only one is possible. */
  get logging(): Call | undefined {
    const found = this.#only(({ context }) => context.logLevel !== undefined)
    return found === undefined || this.#hasOfOther(found.client) ? undefined : found
  }

  /** Whether a request of the server may be about an abandoned call of another client. */
  mayConcernOthers(client: ClientPort): boolean {
    const isAlone = this.#clients.only === client && client.profile.isSeveral !== true
    return !isAlone && this.#hasOfOther(client)
  }

  /** Stateless requests of one principal have one number, but may come from several clients. */
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
