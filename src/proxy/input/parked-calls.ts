// The calls of one proxy that wait for the answers of clients without sessions.
//
// A client that never comes back is not known to be gone, so each wait has an end, and there are not many of them.

import type { NotificationFrame, RequestFrame, ResponseFrame } from '../../jsonrpc/frame.js'
import { quote, rawAt } from '../../jsonrpc/text.js'
import type { Asker, Call, ClientPort, Outcome } from '../../mcp/call.js'
import { QueueRoom } from '../../mcp/call-queue.js'
import { stateUnknown, upstreamFailed } from '../../mcp/error-codes.js'
import { hasCapability } from '../../mcp/capabilities.js'
import { pagesToVisit } from '../../mcp/pages-to-visit.js'
import type { Runtime } from '../../runtime/runtime.js'
import { type ParkLimits, type ParkRoom, ParkedCall } from './parked-call.js'
import { resultFrame } from './open-questions.js'
import { isSameJson } from './same-json.js'
import { type SealedState, type StateBinding, StateSeal } from './state-seal.js'

export interface ParkedCallsParts {
  readonly runtime: Runtime
  readonly limits: ParkLimits
  readonly seal: StateSeal
  readonly secret: (bytes: number) => Buffer
}

const ID_BYTES = 16

/** Finds the call that a retry is about. */
export class ParkedCalls implements ParkRoom {
  readonly limits: ParkLimits
  readonly runtime: Runtime
  readonly #parts: ParkedCallsParts
  /** Tells this process from others that have the same key. */
  readonly #instance: string
  /** Those of which a server has asked something. */
  readonly #calls = new Map<string, ParkedCall>()
  readonly #ids = new Map<ParkedCall, string>()
  readonly #kept: QueueRoom

  constructor(parts: ParkedCallsParts) {
    this.#parts = parts
    this.limits = parts.limits
    this.runtime = parts.runtime
    this.#instance = parts.secret(ID_BYTES).toString('base64url')
    this.#kept = new QueueRoom(parts.limits.keptBytesMax)
  }

  /** The same call for a server that may ask during it. */
  begin(outer: Call): Call {
    return new ParkedCall(outer, this).inner
  }

  /** A client comes again with a state of this kind. */
  retry(call: Call, { instance, call: id, round }: SealedState & { readonly kind: 'parked' }): void {
    const parked = instance === this.#instance ? this.#calls.get(id) : undefined
    if (parked === undefined) call.fail(stateUnknown('unknown'))
    else if (!isSameRequest(parked.inner.frame, call.frame)) call.fail(stateUnknown('other-request'))
    else parked.retry(call, round)
  }

  withdraw({ line, params }: NotificationFrame, asker: Asker): void {
    const span = params.members.span('requestId')
    if (span !== undefined)
      for (const parked of this.#calls.values()) parked.withdraw(rawAt(line, span), asker)
  }

  /** Whether calls of this client wait. */
  holds(client: ClientPort): boolean {
    return this.#of(client).length > 0
  }

  /** No request of this client will come any more. */
  left(client: ClientPort): void {
    for (const parked of this.#of(client)) parked.give()
  }

  owes(asker: Asker): boolean {
    return [...this.#calls.values()].some((parked) => parked.owes(asker))
  }

  forget(asker: Asker): void {
    for (const parked of this.#calls.values()) parked.forget(asker)
  }

  // ParkRoom

  admits(parked: ParkedCall): boolean {
    if (this.#ids.has(parked)) return true
    const { parkedMax, parkedOfOneMax } = this.limits
    if (this.#calls.size >= parkedMax) return false
    if (this.#of(parked.inner.client).length >= parkedOfOneMax) return false
    const id = this.#parts.secret(ID_BYTES).toString('base64url')
    this.#ids.set(parked, id)
    this.#calls.set(id, parked)
    return true
  }

  seal(parked: ParkedCall, round: number): string {
    const call = this.#ids.get(parked) ?? ''
    const { lifeMs, repeatMs } = this.limits
    const state = { kind: 'parked', instance: this.#instance, call, round } as const
    return this.#parts.seal.seal(state, bindingOf(parked.inner), lifeMs + repeatMs)
  }

  told(call: Call, outcome: Outcome): Outcome {
    if (outcome.kind !== 'answered' || outcome.frame.kind !== 'error' || outcome.form === 'typed')
      return outcome
    const pages = pagesToVisit(outcome.frame)
    if (pages === undefined || !hasCapability(call.context.capabilities, 'elicitation', 'url')) return outcome
    const { seal, limits } = this.#parts
    const state = quote(
      seal.seal({ kind: 'visit', service: call.service ?? '' }, bindingOf(call), limits.lifeMs),
    )
    const result = `{"resultType":"input_required","inputRequests":${pages},"requestState":${state}}`
    return { kind: 'asked', frame: resultFrame(call.frame.id, result), edits: [] }
  }

  kept(parked: ParkedCall, outcome: Outcome): Outcome {
    const bytes = outcome.kind === 'answered' ? lengthOf(outcome.frame) : 0
    this.#free(parked)
    if (!this.#kept.has(bytes)) {
      const service = parked.inner.service ?? ''
      return { kind: 'failed', error: upstreamFailed(service, 'too-large', tooLarge(service, bytes)) }
    }
    this.#kept.take(bytes)
    parked.keptBytes = bytes
    return outcome
  }

  over(parked: ParkedCall): void {
    this.#free(parked)
    const id = this.#ids.get(parked)
    if (id === undefined) return
    this.#ids.delete(parked)
    this.#calls.delete(id)
  }

  #of(client: ClientPort): ParkedCall[] {
    return [...this.#calls.values()].filter(({ inner }) => inner.client === client)
  }

  #free(parked: ParkedCall): void {
    this.#kept.free(parked.keptBytes)
    parked.keptBytes = 0
  }
}

function lengthOf(frame: ResponseFrame): number {
  return (frame.kind === 'result' ? frame.long?.length : undefined) ?? frame.line.length
}

function tooLarge(service: string, bytes: number): string {
  return `'${service}' has answered with ${bytes} bytes while its client was away, and there was no room to keep them`
}

/** The request that a state of this call belongs to. */
export function bindingOf({ frame, context }: Call): StateBinding {
  const { members } = frame.params
  const target = members.string('name') ?? members.string('uri') ?? ''
  return { principal: context.principal ?? '', method: frame.method, target }
}

/** Whether a retry asks for the same, however it is spelled. */
function isSameRequest(one: RequestFrame, other: RequestFrame): boolean {
  return isSameJson(argumentsOf(one), argumentsOf(other))
}

function argumentsOf({ line, params }: RequestFrame): string {
  const span = params.members.span('arguments')
  return span === undefined ? '{}' : rawAt(line, span)
}
