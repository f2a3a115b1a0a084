// Calls of clients without a session that wait for the answers to what their servers have asked.
//
// MCP 2026-07-28, Multi Round-Trip Requests, on a server of a revision with sessions: the client's request is answered with
// the server's questions, and the call to the server goes on. The client sends the answers in another request, a retry,
// which waits for the outcome of that call or for more questions. A retry never starts a call. An entry is made when a server asks.

import { randomBytes } from 'node:crypto'
import type { NotificationFrame, RequestFrame, ResponseFrame, ResultFrame } from '../../jsonrpc/frame.js'
import { type Edit, writing } from '../../jsonrpc/splice.js'
import { toLine } from '../../jsonrpc/line.js'
import { membersAt } from '../../jsonrpc/members.js'
import { numericId, type RequestId } from '../../jsonrpc/request-id.js'
import { quote, rawAt, stringAt } from '../../jsonrpc/text.js'
import type {
  Call,
  CallHolder,
  CallOwner,
  InputNeeded,
  Outcome,
  ReplyChannel,
  Asker,
  ClientPort,
  ServerQuestion,
} from '../../calls/call.js'
import { clientUnreachable, invalidParams, stateUnknown, upstreamFailed } from '../../mcp/error-codes.js'
import { setDeadline } from '../../runtime/deadline.js'
import type { Runtime } from '../../runtime/runtime.js'
import { StateMac } from './state-mac.js'
import { resultFrame } from './own-frames.js'

export interface PendingInputLimits {
  /** Calls that wait for their clients. */
  readonly callsMax: number
  /** Of one principal. */
  readonly callsOfOneMax: number
  /** Of one call. */
  readonly roundsMax: number
  /** Of one call at the same time. */
  readonly questionsMax: number
  /** Bytes of requests, of questions and their answers, and of results for which no request waits. */
  readonly heldBytesMax: number
  /** Of one principal. */
  readonly heldBytesOfOneMax: number
  /** Questions of a server within this time, in milliseconds, are asked together. */
  readonly gatherMs: number
  /** How long a client may take to come back, in milliseconds. */
  readonly lifeMs: number
}

/** The proxy's own questions about calls. Clients answer them in a retry, as they answer the questions of servers. */
export interface OwnQuestions {
  /** The call brings the answer to the question with this state; false when its principal has no such open question. */
  answered(call: Call, state: string): boolean
  /** The server of a call wants the same request again, with answers of the client. */
  continues(call: Call): void
}

const INSTANCE_BYTES = 6
const ID_BYTES = 16
const KEY_BYTES = 32

/** The pending calls of all clients, under common limits. */
export class PendingInput {
  readonly limits: PendingInputLimits
  readonly runtime: Runtime
  readonly mac: StateMac
  /** The questions of the proxy, where it asks any. */
  readonly ownQuestions: () => OwnQuestions | undefined
  readonly #secret: (bytes: number) => Buffer
  /** Tells the states of this instance from those of others. */
  readonly #instance: string
  readonly #calls = new Map<Call, PendingCall>()
  readonly #byState = new Map<string, PendingCall>()

  /**
   * `keys` gives the secrets of the configuration in force with which states of servers are signed; there may be none.
   * `ownQuestions` gives those of the proxy, where it asks any.
   */
  constructor(
    keys: () => readonly string[],
    schema: string,
    limits: PendingInputLimits,
    runtime: Runtime,
    ownQuestions: () => OwnQuestions | undefined = () => undefined,
  ) {
    this.limits = limits
    this.ownQuestions = ownQuestions
    this.runtime = runtime
    this.#secret = secretBytes(runtime)
    this.#instance = newInstance(this.#secret)
    const ownKeys = [this.#secret(KEY_BYTES).toString('base64url')]
    this.mac = new StateMac(() => (keys().length > 0 ? keys() : ownKeys), schema)
  }

  /** Those of one client. */
  of(client: ClientPort): PendingCall[] {
    return [...this.#calls.values()].filter(({ call }) => call.client === client)
  }

  /** The state with which a client comes back; it is used once. */
  newState(pending: PendingCall): string {
    const state = newState(this.#instance, this.#secret)
    this.#byState.set(state, pending)
    return state
  }

  dropState(state: string | undefined): void {
    if (state !== undefined) this.#byState.delete(state)
  }

  /** Adds so many bytes to those that are held for a pending call; false when there is no room. */
  reserves(pending: PendingCall, bytes: number): boolean {
    const hasRoom = this.#hasRoom(pending.call, bytes)
    if (hasRoom) pending.heldBytes += bytes
    return hasRoom
  }

  /** The kept form of an outcome that no request waits for. */
  kept(pending: PendingCall, outcome: Outcome): Outcome {
    if (outcome.kind !== 'answered') return outcome
    const bytes = lengthOf(outcome.frame)
    if (this.reserves(pending, bytes)) return { ...outcome, frame: copied(outcome.frame) }
    const service = pending.call.service ?? ''
    return { kind: 'failed', error: upstreamFailed(service, 'too-large', tooLarge(service, bytes)) }
  }

  over({ call }: PendingCall): void {
    this.#calls.delete(call)
  }

  /** The pending call that a retry with this state is about. */
  find(state: string): PendingCall | undefined {
    return this.#byState.get(state)
  }

  /** The entry of a call that is asked about, with room for a question of so many bytes. */
  admits(call: Call, bytes: number): PendingCall | undefined {
    const known = this.#calls.get(call)
    const { callsMax, callsOfOneMax, questionsMax, roundsMax } = this.limits
    if (known !== undefined) {
      const isFull = known.questions.size >= questionsMax || known.round >= roundsMax
      return !isFull && this.reserves(known, bytes) ? known : undefined
    }
    const own = this.#ofPrincipal(call)
    if (this.#calls.size >= callsMax || own.length >= callsOfOneMax) return undefined
    if (!this.#hasRoom(call, call.bytes + bytes)) return undefined
    const pending = new PendingCall(call, this)
    pending.heldBytes = call.bytes + bytes
    this.#calls.set(call, pending)
    return pending
  }

  #hasRoom(call: Call, bytes: number): boolean {
    const { heldBytesMax, heldBytesOfOneMax } = this.limits
    const own = heldBy(this.#ofPrincipal(call))
    return own + bytes <= heldBytesOfOneMax && heldBy([...this.#calls.values()]) + bytes <= heldBytesMax
  }

  #ofPrincipal({ context: { principal } }: Call): PendingCall[] {
    return [...this.#calls.values()].filter(({ call }) => call.context.principal === principal)
  }
}

/** One call whose server has asked. It owns the call from the first question on; the client's requests are calls of their own. */
export class PendingCall implements CallOwner, CallHolder, ReplyChannel {
  readonly channel: this = this
  /** The call that the server works on. */
  readonly call: Call
  readonly questions: OpenQuestions = new OpenQuestions()
  /** How often the client was asked. */
  round = 0
  /** Bytes of what is held for as long as the client can come back. */
  heldBytes = 0
  readonly #pending: PendingInput
  /** The client's request that waits for the outcome; undefined while the client has the questions. */
  #requester: Call | undefined
  /** The `requestState` of the questions that the client has; undefined while it has none. */
  #state: string | undefined
  /** The outcome of the server, where no request waited for it. */
  #outcome: Outcome | undefined
  /** Ends the wait for the client. */
  #life: { cancel(): void } | undefined
  /** Ends the wait for more questions of the same round. */
  #gathering: { cancel(): void } | undefined
  #isOver = false

  constructor(call: Call, pending: PendingInput) {
    this.#pending = pending
    this.call = call
    call.keep()
    this.#requester = call.handOver(this)
    this.#requester.holder = this
  }

  /** The server asks. */
  add(question: ServerQuestion): void {
    this.questions.add(question)
    if (this.#requester === undefined) return
    const { limits, runtime } = this.#pending
    this.#gathering ??= setDeadline(runtime, limits.gatherMs, () => this.#gathered())
  }

  /** The client comes again; false when there is no room for its answers. */
  retry(retry: Call): boolean {
    const responses = responsesOf(retry.frame)
    const answers = this.#answersIn(responses)
    if (typeof answers === 'string') {
      retry.fail(invalidParams(answers, { parameter: 'inputResponses' }))
      return true
    }
    if (!this.#pending.reserves(this, responses.length)) return false
    this.#leavePark()
    this.call.context = retry.context
    this.#requester = retry
    retry.holder = this
    for (const [name, answer] of answers) this.questions.answer(name, answer)
    if (this.#outcome !== undefined) this.#end(this.#outcome)
    else if (this.questions.size > 0) this.#park()
    return true
  }

  /** The client does not come back: the questions of the server are refused, and its call is cancelled. */
  giveUp(): void {
    this.questions.giveUp()
    this.#end({ kind: 'failed', error: stateUnknown('unknown') })
    this.call.cancel(undefined)
  }

  // CallOwner: what becomes of the server's call.

  settled(_call: Call, ended: Outcome): void {
    if (this.#isOver) return
    this.#gathering?.cancel()
    this.questions.clear()
    const outcome: Outcome =
      ended.kind === 'cancelled' ? { kind: 'failed', error: stateUnknown('unknown') } : ended
    if (this.#requester === undefined) this.#outcome = this.#pending.kept(this, outcome)
    else this.#end(outcome)
  }

  needsInput(_call: Call, needed: InputNeeded): void {
    const requester = this.#requester
    this.#over()
    requester?.needsInput(needed)
  }

  // CallHolder: the holder of the request that waits.

  /** The client gives the call up, on a retry too: a closed response is a cancellation. */
  cancel(frame: NotificationFrame | undefined): void {
    this.questions.clear()
    this.#over()
    this.call.cancel(frame)
  }

  // ReplyChannel: notifications of the server go to the request that waits.

  tell(frame: NotificationFrame, edits: readonly Edit[]): void {
    const call = this.#requester
    if (call === undefined) return
    const span =
      frame.method === 'notifications/progress' ? frame.params.members.span('progressToken') : undefined
    if (span === undefined) return call.tell(frame, edits)
    const own = call.frame.params.meta.span('progressToken')
    if (own !== undefined)
      call.tell(frame, writing(frame.line, span, rawAt(call.frame.line, own), 'progress-token'))
  }

  notify(method: string, params: string): void {
    this.#requester?.notify(method, params)
  }

  #gathered(): void {
    this.#gathering = undefined
    if (this.questions.size > 0 && this.#requester !== undefined) this.#park()
  }

  /** The request that waits is answered with the questions. */
  #park(): void {
    const { limits, runtime } = this.#pending
    this.round++
    this.#state = this.#pending.newState(this)
    this.#answer({ kind: 'asked', frame: this.#inputRequired(this.#state), edits: [] })
    this.#life = setDeadline(runtime, limits.lifeMs, () => this.giveUp())
  }

  #leavePark(): void {
    this.#life?.cancel()
    this.#pending.dropState(this.#state)
    this.#state = undefined
  }

  #inputRequired(state: string): ResultFrame {
    const { requests } = this.questions
    const result = `{"resultType":"input_required","inputRequests":${requests},"requestState":${quote(state)}}`
    return resultFrame(numericId(0), result)
  }

  /** Settles the request that waits; its error names the capabilities that the client has not declared. */
  #answer(outcome: Outcome): void {
    const requester = this.#requester
    if (requester === undefined) return
    this.#requester = undefined
    const { missingCapabilities, service } = this.call
    requester.service = service
    requester.item = this.call.item
    if (missingCapabilities !== undefined) requester.noteMissing(missingCapabilities)
    requester.settle(outcome)
  }

  #end(outcome: Outcome): void {
    this.#over(() => this.#answer(outcome))
  }

  #over(last: () => void = () => {}): void {
    this.#isOver = true
    this.#gathering?.cancel()
    this.#leavePark()
    this.#pending.over(this)
    last()
    this.#requester = undefined
  }

  /** The answers to open questions, by name; a string is the reason why they cannot be used. */
  #answersIn(responses: string): Map<string, string> | string {
    const bytes = Buffer.from(responses)
    const members = membersAt(bytes, { start: 0, end: bytes.length })
    if (members === undefined) return "'inputResponses' must be an object"
    const answers = new Map<string, string>()
    for (const { key, value } of members) {
      const name = stringAt(bytes, key) ?? ''
      if (!this.questions.has(name)) continue
      const answer = rawAt(bytes, value)
      if (!answer.startsWith('{')) return `'inputResponses.${name}' must be an object`
      answers.set(name, answer)
    }
    return answers
  }
}

/** The label of an instance in its states. */
export function newInstance(secret: (bytes: number) => Buffer): string {
  return secret(INSTANCE_BYTES).toString('base64url')
}

/** A state that cannot be guessed. */
export function newState(instance: string, secret: (bytes: number) => Buffer): string {
  return `mcps-proxy.${instance}.${secret(ID_BYTES).toString('base64url')}`
}

/** Gives bytes that cannot be guessed. */
export function secretBytes({ secret }: Pick<Runtime, 'secret'>): (bytes: number) => Buffer {
  return secret ?? ((bytes) => randomBytes(bytes))
}

function heldBy(calls: readonly PendingCall[]): number {
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

/** The answers that a retry brings, as raw JSON. */
function responsesOf({ line, params }: RequestFrame): string {
  const span = params.members.span('inputResponses')
  return span === undefined ? '{}' : rawAt(line, span)
}

// The questions of a server during one call that its client has not answered.

interface OpenQuestion {
  readonly question: ServerQuestion
  readonly id: RequestId
  readonly method: string
  /** Raw JSON: the message it came in is not kept. */
  readonly params: string
}

const CANCEL = '{"action":"cancel"}'

/** Gives each question a name for the client, and answers the server in the form of the server's revision. */
class OpenQuestions {
  readonly #open = new Map<string, OpenQuestion>()
  /** Rises, so that no two questions of a call get the same name. */
  #named = 0

  get size(): number {
    return this.#open.size
  }

  has(name: string): boolean {
    return this.#open.has(name)
  }

  add(question: ServerQuestion): void {
    const { frame } = question
    const { id, method } = frame
    this.#open.set(`q${++this.#named}`, { question, id, method, params: paramsOf(frame) })
  }

  /** Raw JSON of the `inputRequests` (MCP 2026-07-28, Multi Round-Trip Requests). */
  get requests(): string {
    const members = [...this.#open].map(
      ([name, { method, params }]) => `"${name}":{"method":${quote(method)},"params":${params}}`,
    )
    return `{${members.join(',')}}`
  }

  /** Gives the server a client's answer, which is raw JSON. */
  answer(name: string, answer: string): void {
    const open = this.#open.get(name)
    if (open === undefined) return
    this.#drop(name, open)
    const { question, id } = open
    question.asker.answered(resultFrame(id, answer), id)
  }

  /** There will be no answers: a form is cancelled, and any other question refused. */
  giveUp(): void {
    for (const [name, open] of this.#open) {
      if (open.method === 'elicitation/create') this.answer(name, CANCEL)
      else {
        this.#drop(name, open)
        open.question.asker.refused(open.id, clientUnreachable())
      }
    }
  }

  /** The server has taken a question back. */
  withdraw(id: string, asker: Asker): void {
    for (const [name, open] of this.#of(asker)) if (open.id === id) this.#drop(name, open)
  }

  /** Drops the questions of a server that reads no answers any more. */
  forget(asker: Asker): void {
    for (const [name, open] of this.#of(asker)) this.#drop(name, open)
  }

  /** The call has ended. */
  clear(): void {
    for (const [name, open] of this.#open) this.#drop(name, open)
  }

  owes(asker: Asker): boolean {
    return this.#of(asker).length > 0
  }

  #of(asker: Asker): [string, OpenQuestion][] {
    return [...this.#open].filter(([, { question }]) => question.asker === asker)
  }

  #drop(name: string, { question }: OpenQuestion): void {
    this.#open.delete(name)
    question.over()
  }
}

/** Members of a request that only a session has. */
const sessionsOnly: ReadonlySet<string> = new Set(['task', 'elicitationId', '_meta'])

/** The params for a client without sessions, as raw JSON. */
function paramsOf({ line, params: { span, members } }: RequestFrame): string {
  if (span === undefined) return '{}'
  const kept = [...members].filter(({ key }) => !sessionsOnly.has(stringAt(line, key) ?? ''))
  if (kept.length === members.size) return rawAt(line, span)
  return `{${kept.map(({ key, value }) => `${rawAt(line, key)}:${rawAt(line, value)}`).join(',')}}`
}
