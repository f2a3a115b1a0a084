// The calls of one proxy that wait for the answers of clients without sessions.
//
// A client that never comes back is not known to be gone, so each wait has an end, and there are not many of them.

import type { NotificationFrame, RequestFrame, ResponseFrame } from '../../jsonrpc/frame.js'
import { quote, rawAt } from '../../jsonrpc/text.js'
import type { Asker, Call, ClientPort, Outcome } from '../../mcp/call.js'
import { QueueRoom } from '../../mcp/call-queue.js'
import { stateUnknown, tooManyCalls, upstreamFailed } from '../../mcp/error-codes.js'
import { hasCapability } from '../../mcp/capabilities.js'
import { pagesToVisit } from '../../mcp/pages-to-visit.js'
import type { Runtime } from '../../runtime/runtime.js'
import { toLine } from '../../jsonrpc/line.js'
import { CallsByClient } from './calls-by-client.js'
import { isFairShare } from './fair-share.js'
import { PageVisits } from './page-visits.js'
import { type ParkLimits, type ParkRoom, ParkedCall, responsesOf } from './parked-call.js'
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
  /** Those to which a client can come back. */
  readonly #calls = new Map<string, ParkedCall>()
  readonly #ids = new Map<ParkedCall, string>()
  /** Of these, those during which a server has asked something, and that have not ended for their clients. */
  readonly #asked = new CallsByClient<ParkedCall>()
  /** Those that have ended, and whose clients may have lost the answer: the first one first. */
  readonly #over = new Set<ParkedCall>()
  readonly #visits: PageVisits
  readonly #kept: QueueRoom

  constructor(parts: ParkedCallsParts) {
    this.#parts = parts
    this.limits = parts.limits
    this.runtime = parts.runtime
    this.#instance = parts.secret(ID_BYTES).toString('base64url')
    this.#kept = new QueueRoom(parts.limits.keptBytesMax)
    this.#visits = new PageVisits(parts.limits.parkedMax)
  }

  /** The same call for a server that may ask during it. */
  begin(outer: Call): Call {
    return new ParkedCall(outer, this).inner
  }

  /** A client comes again with a state of this kind. */
  retry(call: Call, { instance, call: id, round }: SealedState & { readonly kind: 'parked' }): void {
    const parked = instance === this.#instance ? this.#calls.get(id) : undefined
    if (parked === undefined) call.fail(stateUnknown('unknown'))
    else this.#comes(call, parked, round)
  }

  /** A client has visited the pages: gives its call for the server that wanted that, unless it was made already. */
  visited(outer: Call, { instance, call: id }: SealedState & { readonly kind: 'visit' }): Call | undefined {
    const known = instance === this.#instance ? this.#calls.get(id) : undefined
    if (known !== undefined) this.#comes(outer, known, 0)
    else if (instance !== this.#instance || !this.#visits.take(id)) outer.fail(stateUnknown('unknown'))
    else return this.#begin(outer, id)
    return undefined
  }

  withdraw(client: ClientPort, { line, params }: NotificationFrame, asker: Asker): void {
    const span = params.members.span('requestId')
    if (span === undefined) return
    for (const parked of this.#asked.of(client)) parked.withdraw(rawAt(line, span), asker)
  }

  /** Whether calls of this client wait. */
  holds(client: ClientPort): boolean {
    return this.#asked.of(client).size > 0
  }

  /** No request of this client will come any more. */
  left(client: ClientPort): void {
    for (const parked of this.#calls.values()) if (parked.inner.client === client) parked.giveUp()
    this.#visits.left(client)
  }

  /** Whether this server waits for an answer of the client. */
  owes(client: ClientPort, asker: Asker): boolean {
    return [...this.#asked.of(client)].some((parked) => parked.owes(asker))
  }

  /** Nobody reads the answers to what this server has asked the client. */
  forget(client: ClientPort, asker: Asker): void {
    for (const parked of this.#asked.of(client)) parked.forget(asker)
  }

  // ParkRoom

  admits(parked: ParkedCall, bytes: number): boolean {
    if (this.#asked.has(parked)) return this.reserves(parked, bytes)
    const { inner } = parked
    const { parkedMax, parkedOfOneMax } = this.limits
    const own = this.#asked.countOf(inner.client.profile.principal)
    if (!isFairShare(own, this.#asked.size, parkedMax)) return false
    if (this.#asked.of(inner.client).size >= parkedOfOneMax) return false
    if (!this.reserves(parked, inner.bytes + bytes)) return false
    if (!this.#ids.has(parked)) this.#name(parked, this.#newId())
    this.#asked.add(parked)
    return true
  }

  reserves(parked: ParkedCall, bytes: number): boolean {
    const room = (): boolean => {
      const { principal } = parked.inner.client.profile
      const calls = [...this.#calls.values()]
      const own = calls.filter(({ inner }) => inner.client.profile.principal === principal)
      return isFairShare(heldBy(own), heldBy(calls), this.limits.heldBytesMax, bytes)
    }
    for (const other of this.#over) if (other !== parked && !room()) other.giveUp()
    const hasRoom = room()
    if (hasRoom) parked.heldBytes += bytes
    return hasRoom
  }

  seal(parked: ParkedCall, round: number): string {
    const call = this.#ids.get(parked) ?? ''
    const state = { kind: 'parked', instance: this.#instance, call, round } as const
    return this.#parts.seal.seal(state, bindingOf(parked.inner))
  }

  told(call: Call, outcome: Outcome): Outcome {
    if (outcome.kind !== 'answered' || outcome.frame.kind !== 'error' || outcome.form === 'typed')
      return outcome
    const pages = pagesToVisit(outcome.frame)
    if (pages === undefined || !hasCapability(call.context.capabilities, 'elicitation', 'url')) return outcome
    const { seal, limits } = this.#parts
    const visit = this.#newId()
    this.#visits.add(visit, call.client)
    const sealed = {
      kind: 'visit',
      service: call.service ?? '',
      instance: this.#instance,
      call: visit,
    } as const
    const state = quote(seal.seal(sealed, bindingOf(call), limits.lifeMs))
    const result = `{"resultType":"input_required","inputRequests":${pages},"requestState":${state}}`
    return { kind: 'asked', frame: resultFrame(call.frame.id, result), edits: [] }
  }

  kept(parked: ParkedCall, outcome: Outcome): Outcome {
    const bytes = outcome.kind === 'answered' ? lengthOf(outcome.frame) : 0
    this.#free(parked)
    for (const other of this.#over) if (other !== parked && !this.#kept.has(bytes)) other.giveUp()
    if (!this.#kept.has(bytes)) {
      const service = parked.inner.service ?? ''
      return { kind: 'failed', error: upstreamFailed(service, 'too-large', tooLarge(service, bytes)) }
    }
    this.#kept.take(bytes)
    parked.keptBytes = bytes
    return outcome.kind === 'answered' ? { ...outcome, frame: copied(outcome.frame) } : outcome
  }

  ended(parked: ParkedCall): void {
    this.#asked.delete(parked)
    this.#over.add(parked)
    const [oldest] = this.#over
    if (this.#over.size > this.limits.parkedMax) oldest?.giveUp()
  }

  over(parked: ParkedCall): void {
    this.#free(parked)
    this.#asked.delete(parked)
    this.#over.delete(parked)
    const id = this.#ids.get(parked)
    if (id === undefined) return
    this.#ids.delete(parked)
    this.#calls.delete(id)
  }

  #comes(retry: Call, parked: ParkedCall, round: number): void {
    if (isSameRequest(parked.inner.frame, retry.frame)) parked.retry(retry, round)
    else retry.fail(stateUnknown('other-request'))
  }

  #begin(outer: Call, id: string): Call | undefined {
    const parked = new ParkedCall(outer, this, responsesOf(outer.frame))
    const hasRoom = this.reserves(parked, outer.bytes)
    if (hasRoom) this.#name(parked, id)
    else outer.fail(tooManyCalls())
    return hasRoom ? parked.inner : undefined
  }

  #newId(): string {
    return this.#parts.secret(ID_BYTES).toString('base64url')
  }

  #name(parked: ParkedCall, id: string): void {
    this.#ids.set(parked, id)
    this.#calls.set(id, parked)
  }

  #free(parked: ParkedCall): void {
    this.#kept.free(parked.keptBytes)
    parked.keptBytes = 0
  }
}

function heldBy(calls: readonly ParkedCall[]): number {
  return calls.reduce((bytes, { heldBytes }) => bytes + heldBytes, 0)
}

function lengthOf(frame: ResponseFrame): number {
  return (frame.kind === 'result' ? frame.long?.length : undefined) ?? frame.line.length
}

/** A short answer does not keep the chunk that it came in. */
function copied(frame: ResponseFrame): ResponseFrame {
  const isLong = frame.kind === 'result' && frame.long !== undefined
  return isLong ? frame : { ...frame, line: toLine(frame.line) }
}

function tooLarge(service: string, bytes: number): string {
  return `'${service}' has answered with ${bytes} bytes while its client was away, and there was no room to keep them`
}

/** The request that a state of this call belongs to. */
export function bindingOf({ frame, row, context }: Call): StateBinding {
  const target = frame.params.members.string(row.route.to === 'uri' ? 'uri' : 'name') ?? ''
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
