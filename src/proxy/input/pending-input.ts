// The input of clients without sessions: the questions of their servers, and the requests with the answers.
//
// MCP 2026-07-28, Multi Round-Trip Requests. If the server has sessions, the proxy answers the client's
// request with the server's questions, and keeps the call open. The client sends the answers in a retry,
// which waits for the outcome of that call or for more questions. A retry never starts a call. If the server
// is of 2026-07-28, the proxy passes the questions and the retry, and signs the state that goes with them.

import type { NotificationFrame, RequestFrame } from '../../jsonrpc/frame.js'
import type { Limits } from '../../limits.js'
import { NO_EDITS } from '../../jsonrpc/splice.js'
import { parse, rawAt } from '../../jsonrpc/text.js'
import { canonicalJson } from '../../text/canonical-json.js'
import type {
  Asker,
  Call,
  ClientPort,
  InputNeeded,
  Questions,
  ReturnedInput,
  ServerQuestion,
} from '../../calls/call.js'
import type { CallContext } from '../../mcp/client-context.js'
import { inputRefused, mistyped, stateUnknown, tooManyCalls } from '../../mcp/error-codes.js'
import { isDeclared, questionOf, requiredCapabilities, stateFault } from '../../mcp/input-requests.js'
import { isOwnState } from '../../mcp/instance-label.js'
import type { Runtime } from '../../runtime/runtime.js'
import { PendingCall } from './pending-call.js'
import { bindingOf, StateMac } from './request-state.js'

export interface InputContext {
  readonly runtime: Runtime
  readonly schema: string
  /** The name of this instance, if there are several. */
  readonly instance?: string | undefined
  readonly limits: Limits['pendingInput']
  /** The secrets of the configuration in force that sign the states of servers; may be empty. */
  stateKeys(): readonly string[]
  /** Whether the states of servers that pass through this client get a MAC, which needs several principals. */
  isSigned(client: CallContext): boolean
}

export interface CallRoutes {
  readonly services: readonly string[]
  route(call: Call): void
}

const AS_WRITTEN: ReturnedInput = { service: undefined, edits: NO_EDITS }

/** The questions to all clients without sessions, and the calls that wait for answers, under common limits. */
export class PendingInput implements Questions {
  readonly context: InputContext
  readonly #mac: StateMac
  readonly #calls = new Map<Call, PendingCall>()

  constructor(context: InputContext) {
    this.context = context
    this.#mac = new StateMac(() => context.stateKeys(), context.schema, context.runtime)
  }

  /** Routes a call to the servers, or to the waiting call for which it brings answers. */
  route(call: Call, routes: CallRoutes): void {
    const { members } = call.frame.params
    const span = call.row.isAskable ? members.span('requestState') : undefined
    if (span === undefined) {
      // Several servers may have a URI, and only the one that asked may get answers. A name has one server.
      const isRead = call.row.route.to === 'uri'
      if (isRead && members.span('inputResponses') !== undefined) call.returned = AS_WRITTEN
      return routes.route(call)
    }
    const state = members.string('requestState')
    if (state === undefined) return call.fail(mistyped('requestState', 'a string'))
    if (isOwnState(state)) return this.#retry(call, state)
    call.returned = this.context.isSigned(call.context)
      ? this.#mac.verify(call, routes.services, state, span)
      : AS_WRITTEN
    if (call.returned === undefined) return call.fail(stateUnknown('unknown'))
    routes.route(call)
  }

  /** Passes the questions of a 2026-07-28 server to its client; only the state may be signed. */
  relay(call: Call, { frame, service }: InputNeeded): void {
    const members = frame.members
    const why = stateFault(frame.line, members)
    if (why !== undefined) return call.fail(inputRefused(service, why))
    const span = members?.span('requestState')
    const state = members?.string('requestState')
    const isSigned = span !== undefined && state !== undefined && this.context.isSigned(call.context)
    call.settle({
      kind: 'asked',
      frame,
      edits: isSigned ? this.#mac.sign(call, service, state, span) : NO_EDITS,
    })
  }

  isAsking(client: ClientPort): boolean {
    return [...this.#calls.keys()].some((call) => call.client === client)
  }

  giveUp(client: ClientPort): void {
    for (const [call, pending] of this.#calls) if (call.client === client) pending.giveUp()
  }

  /** False if the client of the call cannot be asked, or the limits leave no room. */
  ask(question: ServerQuestion): boolean {
    const { during, frame } = question
    const call = during?.root
    if (during === undefined || call === undefined || call.isSettled) return false
    const asked = questionOf(frame)
    if (!isDeclared(asked, call.context.capabilities)) {
      call.noteMissing(requiredCapabilities(asked))
      return false
    }
    const pending = this.#admit(call, frame.line.length)
    if (pending === undefined) return false
    during.wasAsked = true
    pending.add(question)
    return true
  }

  withdraw({ line, params }: NotificationFrame, asker: Asker): void {
    const span = params.members.span('requestId')
    const id = span && rawAt(line, span)
    for (const pending of this.#calls.values())
      pending.drop((each) => each.asker === asker && each.frame.id === id)
  }

  isAwaitedBy(asker: Asker): boolean {
    return [...this.#calls.values()].some((pending) => pending.isAskedBy(asker))
  }

  forget(asker: Asker): void {
    for (const pending of this.#calls.values()) pending.drop((each) => each.asker === asker)
  }

  /** Counts bytes that the proxy holds for a pending call; false if there is no room. */
  reserve(pending: PendingCall, bytes: number): boolean {
    const hasRoom = this.#hasRoom(pending.call, bytes)
    if (hasRoom) pending.heldBytes += bytes
    return hasRoom
  }

  finished({ call }: PendingCall): void {
    this.#calls.delete(call)
  }

  #admit(call: Call, bytes: number): PendingCall | undefined {
    const known = this.#calls.get(call)
    if (known !== undefined) return known.hasRoom && this.reserve(known, bytes) ? known : undefined
    const { callsMax, callsOfOneMax } = this.context.limits
    if (this.#calls.size >= callsMax || this.#ofPrincipal(call).length >= callsOfOneMax) return undefined
    if (!this.#hasRoom(call, call.bytes + bytes)) return undefined
    const pending = new PendingCall(call, this)
    pending.heldBytes = call.bytes + bytes
    this.#calls.set(call, pending)
    return pending
  }

  #hasRoom(call: Call, bytes: number): boolean {
    const { heldBytesMax, heldBytesOfOneMax } = this.context.limits
    const own = heldBy(this.#ofPrincipal(call))
    return own + bytes <= heldBytesOfOneMax && heldBy([...this.#calls.values()]) + bytes <= heldBytesMax
  }

  #ofPrincipal({ context: { principal } }: Call): PendingCall[] {
    return [...this.#calls.values()].filter(({ call }) => call.context.principal === principal)
  }

  #retry(retry: Call, state: string): void {
    const pending = [...this.#calls.values()].find((each) => each.state === state)
    const [own, wanted] = [bindingOf(retry), pending && bindingOf(pending.call)]
    if (pending === undefined || own.principal !== wanted?.principal || own.method !== wanted.method)
      return retry.fail(stateUnknown('unknown'))
    const isSame = own.target === wanted.target && isSameArguments(pending.call.frame, retry.frame)
    if (!isSame) return retry.fail(stateUnknown('other-request'))
    if (!pending.retry(retry)) retry.fail(tooManyCalls())
  }
}

function heldBy(calls: readonly PendingCall[]): number {
  return calls.reduce((bytes, { heldBytes }) => bytes + heldBytes, 0)
}

/** The values of longer texts are not compared, because that would delay all other clients. */
const COMPARED_LENGTH_MAX = 1024 * 1024

/** Whether a retry has the same arguments. The order of members and the spelling do not matter. */
export function isSameArguments(one: RequestFrame, other: RequestFrame): boolean {
  const [first, second] = [argumentsOf(one), argumentsOf(other)]
  if (first === second) return true
  const isLong = Math.max(first.length, second.length) > COMPARED_LENGTH_MAX
  return !isLong && canonicalJson(parse(first)) === canonicalJson(parse(second))
}

function argumentsOf({ line, params }: RequestFrame): string {
  const span = params.members.span('arguments')
  return span === undefined ? '{}' : rawAt(line, span)
}
