// The proxy's own requests to a server: the handshake, lists, log levels, subscriptions.

import { TransportError } from '../../jsonrpc/errors.js'
import type { RequestFrame, ResponseFrame } from '../../jsonrpc/frame.js'
import type { PendingAnswer, Peer } from '../../jsonrpc/peer.js'
import type { RequestId } from '../../jsonrpc/request-id.js'
import type { Edit } from '../../jsonrpc/splice.js'
import { UpstreamError, fromTransport } from '../contracts/errors.js'
import type { InflightCall } from './inflight-call.js'
import type { ServerTimes } from '../contracts/server-config.js'
import { cancelRequest } from './cancel-request.js'
import { within } from '../../runtime/within.js'
import type { ServerParts } from './pool-parts.js'

type Budget = Exclude<keyof ServerTimes, 'settableIn'>

/** One of a server's times, running. */
export interface Patience {
  readonly of: Budget
  readonly endsAt: number
}

/** The link of the requests. */
export interface OwnRequestsOwner {
  readonly peer: Peer<InflightCall>
  /** Why the peer takes nothing. */
  refusal(): UpstreamError
  /** It does not list what it has. */
  timedOut(): void
  /** An answer came. */
  heard(): void
  /** The server has forgotten the session. */
  forgotten(error: TransportError): void
  /** Resolves when it is known, or will not be, why the connection has ended. */
  explained(): Promise<unknown>
}

/** Asks, and waits as long as the server's times allow. */
export class OwnRequests {
  readonly #parts: ServerParts
  readonly #owner: OwnRequestsOwner
  /** What ends the waits that are under way. */
  readonly #waits = new Set<StoppableWait<ResponseFrame>>()
  #isStopped = false

  constructor(parts: ServerParts, owner: OwnRequestsOwner) {
    this.#parts = parts
    this.#owner = owner
  }

  /** Whether the connection takes anything more. */
  get isOpen(): boolean {
    return this.#owner.peer.open
  }

  /** The server is being stopped: nobody needs to know any more what was asked. */
  stop(): void {
    this.#isStopped = true
    for (const wait of this.#waits) wait.stop()
  }

  /** Begins to wait; several requests may share one patience. */
  patience(of: Budget): Patience {
    const { runtime, times } = this.#parts
    return { of, endsAt: runtime.now() + times[of] }
  }

  /** `params` is raw JSON. @throws UpstreamError */
  ask(method: string, params: string | undefined, patience: Patience): Promise<ResponseFrame> {
    return this.#answer(method, this.#isStopped ? undefined : this.#owner.peer.ask(method, params), patience)
  }

  /** Asks what a client has asked, in its own bytes. @throws UpstreamError */
  pass(frame: RequestFrame, edits: readonly Edit[], patience: Patience): Promise<ResponseFrame> {
    const asked = this.#isStopped ? undefined : this.#owner.peer.askFor(frame, edits)
    return this.#answer(frame.method, asked, patience)
  }

  /** Gives up one that has no patience of its own. */
  giveUp(id: RequestId): void {
    this.#owner.peer.retire(id)
    cancelRequest(this.#owner.peer, id, 'nobody waits for it any more')
  }

  async #answer(
    method: string,
    asked: PendingAnswer | undefined,
    patience: Patience,
  ): Promise<ResponseFrame> {
    const { runtime, service } = this.#parts
    if (asked === undefined) throw this.#owner.refusal()
    try {
      const wait = this.#unlessStopped(asked.answer)
      const answer = await within(wait.over, patience.endsAt - runtime.now(), runtime).finally(() =>
        this.#waits.delete(wait),
      )
      if (answer === undefined) return this.#expired(asked.id, method, patience)
      this.#owner.heard()
      return answer
    } catch (error) {
      if (error instanceof UpstreamError) throw error
      if (error instanceof TransportError && error.code === 'TRANSPORT_SESSION') this.#owner.forgotten(error)
      if (error instanceof TransportError && this.#owner.peer.open) throw fromTransport(service, error)
      await this.#owner.explained()
      throw this.#owner.refusal()
    }
  }

  #unlessStopped(asked: Promise<ResponseFrame>): StoppableWait<ResponseFrame> {
    const wait = new StoppableWait(asked, () => this.#owner.refusal())
    this.#waits.add(wait)
    return wait
  }

  /** @throws UpstreamError always */
  #expired(id: RequestId, method: string, { of }: Patience): never {
    const { service, times } = this.#parts
    const { peer } = this.#owner
    // Only now: the id of an answered request may have been lent to somebody else already.
    peer.retire(id)
    // A handshake is never cancelled (MCP, Utilities: cancellation); the connection ends instead.
    if (of !== 'startTimeoutMs') cancelRequest(peer, id, 'the request timed out')
    if (of === 'listTimeoutMs') this.#owner.timedOut()
    const budget = of.replace(/Ms$/, '')
    const message = `'${service}' did not answer ${method} within ${times[of]} ms (${budget})`
    throw new UpstreamError(service, 'timeout', message, { details: { budget, ms: times[of] } })
  }
}

/** A wait for an answer that ends when the server is stopped. */
class StoppableWait<T> {
  readonly over: Promise<T>
  stop: () => void = () => {}

  constructor(answer: Promise<T>, refusal: () => UpstreamError) {
    this.over = new Promise((resolve, reject) => {
      this.stop = () => reject(refusal())
      answer.then(resolve, reject)
    })
  }
}
