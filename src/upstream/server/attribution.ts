// Which call a message of a server is about, where the message names none.
//
// That is known where only one call in flight can be meant. A call that was cancelled, timed out or cut from its answer counts
// too: the server may still be processing it.

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

/** The calls of one connection that its server may mean. */
export class Attribution {
  readonly #flights: () => Iterable<{ readonly call: Call }>
  readonly #clients: { readonly only: ClientPort | undefined }
  readonly #abandoned: Abandoned

  /** `flights` gives the calls in flight; `clients` are those of the connection. */
  constructor(
    flights: () => Iterable<{ readonly call: Call }>,
    clients: { readonly only: ClientPort | undefined },
    abandoned: Abandoned,
  ) {
    this.#flights = flights
    this.#clients = clients
    this.#abandoned = abandoned
  }

  /** A call was given up, and the server may still be processing it. */
  abandon(id: RequestId, call: Call): void {
    this.#abandoned.add(id, call)
  }

  /** Whether a question on the stream of this call comes too late. */
  isAbandoned(id: RequestId): boolean {
    return this.#abandoned.has(id)
  }

  /** An answer has come after all, so the server is done with that call. */
  answered(id: RequestId): void {
    this.#abandoned.answered(id)
  }

  /** The one call in flight; undefined where there are several. */
  get only(): Call | undefined {
    return this.#only(() => true)
  }

  /** The one askable call in flight; undefined where there are several. */
  get oneAskable(): Call | undefined {
    return this.#only(({ row }) => row.askable)
  }

  /** The call that the server asks for, where it can only be one. */
  get askable(): Call | undefined {
    const found = this.oneAskable
    return found === undefined || this.mayAskOthers(found.client) ? undefined : found
  }

  /** The call that a log message is about, where it can only be one. */
  get logging(): Call | undefined {
    const found = this.#only(({ context }) => context.logLevel !== undefined)
    return found === undefined || this.#abandoned.mayLogForOthers(found.client) ? undefined : found
  }

  /** Whether the server may ask for an abandoned call of another client than this one. */
  mayAskOthers(client: ClientPort): boolean {
    const isAlone = this.#clients.only === client && client.profile.isSeveral !== true
    return !isAlone && this.#abandoned.mayAskOthers(client)
  }

  /** Undefined where there is none of this kind, and where there are several. */
  #only(is: (call: Call) => boolean): Call | undefined {
    const [found, other] = [...this.#flights()].flatMap(({ call }) => (is(call) ? [call] : []))
    return other === undefined ? found : undefined
  }
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
    const [oldest] = this.#calls.keys()
    if (oldest !== undefined && this.#calls.size >= this.#limits.max) this.#calls.delete(oldest)
    const isOfSeveral = client.profile.isSeveral === true
    this.#calls.set(id, { client: client.serial, isOfSeveral, at: this.#runtime.now(), mayAsk, mayLog })
  }

  /** Also long after the times of the limits: what comes on the stream of a call is about that call. */
  has(id: RequestId): boolean {
    return this.#calls.has(id)
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

  #within(ms: number): AbandonedCall[] {
    const since = this.#runtime.now() - ms
    return [...this.#calls.values()].filter(({ at }) => at > since)
  }
}

/** Requests without a session that share a principal have one number, and may come from several clients. */
function isOfOther(call: AbandonedCall, client: ClientPort): boolean {
  return call.isOfSeveral || call.client !== client.serial
}
