// The calls of clients without sessions during which servers may ask, from the first request to the last retry.

import type { ResultFrame } from '../../jsonrpc/frame.js'
import { type Member, membersAt } from '../../jsonrpc/members.js'
import type { Edit } from '../../jsonrpc/splice.js'
import { quote, rawAt } from '../../jsonrpc/text.js'
import type { Call, InputNeeded } from '../../mcp/call.js'
import { inputRefused, invalidParams, stateUnknown } from '../../mcp/error-codes.js'
import { failToolCall } from '../../mcp/tool-failure.js'
import { stateFault } from '../../mcp/input-requests.js'
import { cutNamed } from '../../mcp/member-edits.js'
import type { Runtime } from '../../runtime/runtime.js'
import type { ParkLimits } from './parked-call.js'
import { ParkedCalls, bindingOf } from './parked-calls.js'
import { type SealedState, StateSeal, secretOf } from './state-seal.js'

/** Where calls go. */
export interface StatelessRoutes {
  route(call: Call): void
  /** The same to this server alone, with these edits besides; `refused` is called when it is not where the request would go. */
  routeBack(service: string, call: Call, edits: readonly Edit[], refused: () => void): void
}

export interface StatelessLimits extends ParkLimits {
  /** How long the state of a server opens, in milliseconds. */
  readonly relayMs: number
  readonly relayBytesMax: number
}

/** Begins calls, and finds what a retry is about. */
export class StatelessCalls {
  readonly parked: ParkedCalls
  readonly #seal: StateSeal
  readonly #limits: StatelessLimits

  /** `secrets` are what states are sealed with, and what they were sealed with before. */
  constructor(secrets: readonly string[], schema: string, limits: StatelessLimits, runtime: Runtime) {
    const secret = secretOf(runtime)
    this.#limits = limits
    this.#seal = new StateSeal(secrets, schema, { wallNow: () => runtime.wallNow(), secret })
    this.parked = new ParkedCalls({ runtime, limits, seal: this.#seal, secret })
  }

  /** Takes a call over; with `isAskable` its client can be asked something. */
  route(call: Call, routes: StatelessRoutes, isAskable: boolean): void {
    if (!call.row.askable) return routes.route(call)
    const { members } = call.frame.params
    const span = members.span('requestState')
    if (span === undefined) return routes.route(isAskable ? this.parked.begin(call) : call)
    const text = members.string('requestState')
    if (text === undefined)
      return call.fail(invalidParams("'requestState' must be a string", { parameter: 'requestState' }))
    const opened = this.#seal.open(text, bindingOf(call))
    if (opened.kind === 'refused') return call.fail(stateUnknown(opened.why))
    const { state } = opened
    if (state.kind === 'parked') return this.parked.retry(call, state)
    if (state.kind === 'visit') return this.#visited(call, state, routes)
    const edits =
      state.state === undefined
        ? cutNamed(members, ['requestState'], 'request-state')
        : [{ ...span, bytes: Buffer.from(state.state), why: 'request-state' as const }]
    routes.routeBack(state.service, call, edits, () => call.fail(stateUnknown('other-server')))
  }

  /** A call that its server has refused is made once its client has visited the pages; nothing is done twice by that. */
  #visited(call: Call, state: SealedState & { readonly kind: 'visit' }, routes: StatelessRoutes): void {
    const { line, params } = call.frame
    const members = membersAt(line, params.members.span('inputResponses'))
    const isAccepted = ({ value }: Member): boolean => membersAt(line, value)?.string('action') === 'accept'
    if (members === undefined || members.size === 0 || ![...members].every(isAccepted))
      return failToolCall(call, inputRefused(state.service, 'its client did not visit the page'))
    const inner = this.parked.visited(call, state)
    if (inner !== undefined) routes.route(inner)
  }

  /** A server without sessions asks: its client is given the question as it is, with its state sealed. */
  relay(call: Call, { frame, service }: InputNeeded): void {
    const members = membersAt(frame.line, frame.result)
    const why = stateFault(frame.line, members)
    if (why !== undefined) return call.fail(inputRefused(service, why))
    const span = members?.span('requestState')
    const state = span && rawAt(frame.line, span)
    const { relayMs, relayBytesMax } = this.#limits
    if (state !== undefined && state.length > relayBytesMax)
      return call.fail(inputRefused(service, `its requestState has more than ${relayBytesMax} bytes`))
    const text = quote(this.#seal.seal({ kind: 'relay', service, state }, bindingOf(call), relayMs))
    const edits =
      span === undefined
        ? stateAtEnd(frame, text)
        : [{ ...span, bytes: Buffer.from(text), why: 'request-state' as const }]
    call.settle({ kind: 'asked', frame, edits })
  }
}

/** The result has a `resultType` at least, so that no comma is missing. */
function stateAtEnd({ result }: ResultFrame, text: string): readonly Edit[] {
  const at = result.end - 1
  return [{ start: at, end: at, bytes: Buffer.from(`,"requestState":${text}`), why: 'request-state' }]
}
