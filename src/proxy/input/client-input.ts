// The input of one client without a session: what its servers ask, and the requests with which it answers.

import type { NotificationFrame, RequestFrame } from '../../jsonrpc/frame.js'
import { NO_EDITS } from '../../jsonrpc/splice.js'
import { membersAt } from '../../jsonrpc/members.js'
import { parse, rawAt } from '../../jsonrpc/text.js'
import type {
  Call,
  InputNeeded,
  ReturnedInput,
  Asker,
  ClientPort,
  Questions,
  ServerQuestion,
} from '../../calls/call.js'
import { inputRefused, mistyped, stateUnknown, tooManyCalls } from '../../mcp/error-codes.js'
import { isDeclared, questionOf, requiredCapabilities, stateFault } from '../../mcp/input-requests.js'
import { PendingCall, type PendingInput } from './pending-input.js'
import { bindingOf, isOwnState } from './request-state.js'

/** The routes of a client. */
export interface CallRoutes {
  /** The names of the servers that may get calls of the client. */
  readonly services: readonly string[]
  route(call: Call): void
}

const AS_WRITTEN: ReturnedInput = { service: undefined, edits: NO_EDITS }

/** Finds the call that a retry is about, and answers calls with the questions of their servers. */
export class ClientInput implements Questions {
  readonly #client: ClientPort
  readonly #pending: PendingInput
  readonly #isSigned: () => boolean

  /** `isSigned` says whether states of servers get a MAC: they do where there are several principals. */
  constructor(client: ClientPort, pending: PendingInput, isSigned: () => boolean) {
    this.#client = client
    this.#pending = pending
    this.#isSigned = isSigned
  }

  /** Takes a call over. */
  route(call: Call, routes: CallRoutes): void {
    const { members } = call.frame.params
    const span = call.row.askable ? members.span('requestState') : undefined
    if (span === undefined) {
      // A URI can lead to several servers, and answers are for the one that has asked; a name leads to one server.
      const isRead = call.row.route.to === 'uri'
      if (isRead && members.span('inputResponses') !== undefined) call.returned = AS_WRITTEN
      return routes.route(call)
    }
    const state = members.string('requestState')
    if (state === undefined) return call.fail(mistyped('requestState', 'a string'))
    if (isOwnState(state))
      return this.#pending.ownQuestions()?.answered(call, state) === true
        ? routes.route(call)
        : this.#retry(call, state)
    call.returned = AS_WRITTEN
    if (this.#isSigned()) {
      const signed = this.#pending.mac.verify(call, routes.services, state, span)
      if (signed === undefined) return call.fail(stateUnknown('unknown'))
      call.returned = signed
    }
    routes.route(call)
  }

  /** A server of 2026-07-28 asks: its client gets the question unchanged. */
  relay(call: Call, { frame, service }: InputNeeded): void {
    const members = membersAt(frame.line, frame.result)
    const why = stateFault(frame.line, members)
    if (why !== undefined) return call.fail(inputRefused(service, why))
    const span = members?.span('requestState')
    const state = members?.string('requestState')
    const edits =
      this.#isSigned() && span !== undefined && state !== undefined
        ? this.#pending.mac.sign(call, service, state, span)
        : NO_EDITS
    this.#pending.ownQuestions()?.continues(call)
    call.settle({ kind: 'asked', frame, edits })
  }

  /** A server with sessions asks; false where the client of the call cannot be asked, or the limits leave no room. */
  ask(question: ServerQuestion): boolean {
    const { during, frame } = question
    const call = during?.root
    if (during === undefined || call === undefined || call.settled) return false
    const asked = questionOf(frame)
    if (!isDeclared(asked, call.context.capabilities)) {
      call.noteMissing(requiredCapabilities(asked))
      return false
    }
    const pending = this.#pending.admits(call, frame.line.length)
    if (pending === undefined) return false
    during.wasAsked = true
    pending.add(question)
    return true
  }

  /** Whether calls wait for its answers. */
  get hasOpenCalls(): boolean {
    return this.#calls.length > 0
  }

  /** The client sends nothing any more. */
  giveUp(): void {
    for (const pending of this.#calls) pending.giveUp()
  }

  /** A server takes a question back. */
  withdraw({ line, params }: NotificationFrame, asker: Asker): void {
    const span = params.members.span('requestId')
    if (span === undefined) return
    const id = rawAt(line, span)
    for (const pending of this.#calls) pending.drop((each) => each.asker === asker && each.frame.id === id)
  }

  /** Whether this server waits for an answer of the client. */
  owes(asker: Asker): boolean {
    return this.#calls.some((pending) => pending.hasQuestion((each) => each.asker === asker))
  }

  /** The server does not read the answers to what it has asked any more. */
  forget(asker: Asker): void {
    for (const pending of this.#calls) pending.drop((each) => each.asker === asker)
  }

  /** The call that this request waits for, or the call itself. */
  callOf(call: Call): Call {
    return call.holder instanceof PendingCall ? call.holder.call : call
  }

  get #calls(): readonly PendingCall[] {
    return this.#pending.of(this.#client)
  }

  #retry(retry: Call, state: string): void {
    const pending = this.#pending.find(state)
    const [own, wanted] = [bindingOf(retry), pending && bindingOf(pending.call)]
    if (pending === undefined || own.principal !== wanted?.principal || own.method !== wanted.method)
      return retry.fail(stateUnknown('unknown'))
    const isSame = own.target === wanted.target && isSameArguments(pending.call.frame, retry.frame)
    if (!isSame) return retry.fail(stateUnknown('other-request'))
    if (!pending.retry(retry)) retry.fail(tooManyCalls())
  }
}

/** Whether a retry has the same arguments, however they are spelled. */
function isSameArguments(one: RequestFrame, other: RequestFrame): boolean {
  return isSameJson(argumentsOf(one), argumentsOf(other))
}

function argumentsOf({ line, params }: RequestFrame): string {
  const span = params.members.span('arguments')
  return span === undefined ? '{}' : rawAt(line, span)
}

/** To compare the values of longer texts would take everybody else's time. */
const COMPARED_LENGTH_MAX = 1024 * 1024

/**
 * Compares the values of two valid JSON texts: the order of members and the spelling have no meaning.
 *
 * Longer ones are the same only as they are written.
 */
export function isSameJson(one: string, other: string): boolean {
  if (one === other) return true
  const isLong = one.length > COMPARED_LENGTH_MAX || other.length > COMPARED_LENGTH_MAX
  return !isLong && isSameValue(parse(one), parse(other))
}

/** Compares values that `JSON.parse` made; without recursion, since a text may be nested as deep as it is long. */
function isSameValue(one: unknown, other: unknown): boolean {
  const pairs: [unknown, unknown][] = [[one, other]]
  for (const [left, right] of pairs) {
    if (Object.is(left, right)) continue
    if (!isStructure(left) || !isStructure(right) || Array.isArray(left) !== Array.isArray(right))
      return false
    const keys = Object.keys(left)
    if (keys.length !== Object.keys(right).length) return false
    if (!keys.every((key) => Object.hasOwn(right, key))) return false
    for (const key of keys) pairs.push([Reflect.get(left, key), Reflect.get(right, key)])
  }
  return true
}

function isStructure(value: unknown): value is object {
  return typeof value === 'object' && value !== null
}
