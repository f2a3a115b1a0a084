// The calls of one connection that wait for their answers.

import type { ErrorBody } from '../../jsonrpc/build.js'
import type { Reply } from '../../jsonrpc/connection.js'
import { ChurnMap } from '../../jsonrpc/fast/churn-map.js'
import type { NotificationFrame } from '../../jsonrpc/frame.js'
import { canonical, type RequestId } from '../../jsonrpc/request-id.js'
import type { Call } from '../../calls/call.js'
import { cancelledId } from '../../mcp/methods.js'
import { subscribed } from '../../mcp/subscription-edits.js'

/** The id of a call by which its client cancels it, in one spelling, or the response that the client closes for that. */
type CallKey = RequestId | Reply

function keyOf(id: RequestId, reply: Reply | undefined): CallKey {
  return reply?.isCancelledByClosing === true ? reply : canonical(id)
}

/** The calls of one connection that are not answered. */
export class OpenCalls {
  readonly #sizeMax: number
  readonly #calls = new ChurnMap<CallKey, Call>()
  #last = 0

  constructor(sizeMax: number) {
    this.#sizeMax = sizeMax
  }

  get size(): number {
    return this.#calls.size
  }

  get isFull(): boolean {
    return this.size >= this.#sizeMax
  }

  has(id: RequestId, reply: Reply): boolean {
    return this.#calls.has(keyOf(id, reply))
  }

  add(call: Call, reply: Reply): void {
    call.reply = reply
    call.serial = ++this.#last
    this.put(call)
  }

  /** The request is answered by this call, whichever had its place. */
  put(call: Call): void {
    this.#calls.set(keyOf(call.frame.id, call.reply), call)
  }

  remove(call: Call): void {
    this.#calls.take(keyOf(call.frame.id, call.reply))
  }

  /** The call that a cancellation names is not wanted any more; gives the id, canonical (MCP, Utilities: cancellation). */
  cancel(frame: NotificationFrame): RequestId | undefined {
    const id = cancelledId(frame)
    if (id !== undefined) this.#calls.get(id)?.cancel(frame)
    return id
  }

  /** The call that is answered there is not wanted any more. */
  giveUp(reply: Reply): void {
    this.#calls.get(reply)?.cancel(undefined)
  }

  /** Ends the requests that stay open. */
  endListening(): void {
    for (const call of this.#calls.values())
      if (call.row.stays === true) call.settle({ kind: 'result', result: subscribed(call.frame.id) })
  }

  /** The client is gone. */
  cancelAll(): void {
    for (const call of this.#calls.values()) call.cancel(undefined)
  }

  /** Each call is answered with this error, and its server gets a cancellation. */
  abandonAll(error: ErrorBody): void {
    for (const call of this.#calls.values()) call.abandon(error)
  }
}
