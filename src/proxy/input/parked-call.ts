// A call of a client without sessions, at a server that asks during it.
//
// MCP 2026-07-28, Multi Round-Trip Requests, on a server of a handshake revision: the server's questions end the
// client's request, not the server's. The client is given them as the result, and comes again with the answers in a
// request of its own, a retry, which waits for what the server says then. The server has one call all the while.
// A retry never starts a call.

import type { NotificationFrame, RequestFrame, ResultFrame } from '../../jsonrpc/frame.js'
import { writing } from '../../jsonrpc/id-edit.js'
import { membersAt } from '../../jsonrpc/members.js'
import { numericId } from '../../jsonrpc/request-id.js'
import type { Edit } from '../../jsonrpc/splice.js'
import { quote, rawAt, stringAt } from '../../jsonrpc/text.js'
import type { Line } from '../../jsonrpc/line.js'
import type {
  Asker,
  Call,
  CallHearer,
  CallHolder,
  CallOwner,
  InputNeeded,
  Outcome,
  ServerQuestion,
} from '../../mcp/call.js'
import { invalidParams, stateUnknown, tooManyCalls } from '../../mcp/error-codes.js'
import { isDeclared, questionOf, requiredCapabilities } from '../../mcp/input-requests.js'
import { OpenQuestions, resultFrame } from './open-questions.js'
import { setDeadline } from '../../runtime/deadline.js'
import type { Runtime } from '../../runtime/runtime.js'
import { isSameJson } from './same-json.js'

/** How many calls may wait for their clients, and for how long. */
export interface ParkLimits {
  readonly parkedMax: number
  /** Of one client. */
  readonly parkedOfOneMax: number
  /** Of one call. */
  readonly roundsMax: number
  /** Of one call at once. */
  readonly questionsMax: number
  /** Bytes of answers that came while nobody waited, of all calls together. */
  readonly keptBytesMax: number
  /** Bytes of requests, questions and their answers, of all calls together. */
  readonly heldBytesMax: number
  /** What a server asks within this time, in milliseconds, is asked together. */
  readonly gatherMs: number
  /** How long a client may take to come back. */
  readonly lifeMs: number
  /** How long an answer is given again to who asks again in the same words. */
  readonly repeatMs: number
}

/** What parked calls have in common. */
export interface ParkRoom {
  readonly limits: ParkLimits
  readonly runtime: Pick<Runtime, 'now' | 'setTimer'>
  /** Whether one more may wait, with a question of so many bytes; one that does can be found from now on. */
  admits(parked: ParkedCall, bytes: number): boolean
  /** Reserves so many bytes more for what is held of it; false when there is no room. */
  reserves(parked: ParkedCall, bytes: number): boolean
  /** The state with which a client comes back to this round. */
  seal(parked: ParkedCall, round: number): string
  /** What its client is told of how a call has ended. */
  told(call: Call, outcome: Outcome): Outcome
  /** What is kept of an answer for which nobody waits, or that may be given again. */
  kept(parked: ParkedCall, outcome: Outcome): Outcome
  /** Its server is done: it takes no place any more. */
  ended(parked: ParkedCall): void
  /** Nobody can come back. */
  over(parked: ParkedCall): void
}

type Phase =
  /** The server is at work, and nearly always somebody waits for its answer. */
  | 'running'
  /** The client has the questions, and nobody waits. */
  | 'parked'
  /** The server's answer was given; it is given again to whoever asks again. */
  | 'over'

/** What the client has answered last, and what came of it. */
interface AnsweredRound {
  readonly round: number
  readonly responses: string
  /** Undefined while the server is at work on it. */
  outcome: Outcome | undefined
}

/** One call at a server, with the requests of its client that wait for it. */
export class ParkedCall implements CallOwner, CallHolder, CallHearer {
  /** The server's. */
  readonly inner: Call
  readonly #room: ParkRoom
  #waiting: Call[]
  #phase: Phase = 'running'
  readonly #open = new OpenQuestions()
  /** How often the client was asked. */
  #round = 0
  #answered: AnsweredRound | undefined
  /** What the server has answered while nobody waited. */
  #outcome: Outcome | undefined
  /** Of the end of a wait. */
  #timer: { cancel(): void } | undefined
  /** Until what a server asks at once has come. */
  #gathering: { cancel(): void } | undefined
  #parkedAt = 0
  /** Bytes of an answer that is kept. */
  keptBytes = 0
  /** Bytes of all else that is held for as long as somebody can come back. */
  heldBytes = 0

  /** `responses` are the answers with which the client came to what was asked before the server has had the call. */
  constructor(outer: Call, room: ParkRoom, responses?: string) {
    this.#room = room
    this.#waiting = [outer]
    this.inner = outer.attemptOf(this)
    this.inner.context = { ...outer.context, hearer: this }
    if (responses === undefined) return
    this.#answered = { round: 0, responses, outcome: undefined }
    outer.holder = this
  }

  /** Whether this server waits for an answer to a question here. */
  owes(asker: Asker): boolean {
    return this.#open.owes(asker)
  }

  /** The server asks; false when it has asked too often, or too many calls wait for their clients. */
  ask(question: ServerQuestion): boolean {
    const { questionsMax, roundsMax, gatherMs } = this.#room.limits
    const asked = questionOf(question.frame)
    if (!isDeclared(asked, this.inner.context.capabilities)) {
      this.inner.lacks(requiredCapabilities(asked))
      return false
    }
    const isTooMuch = this.#open.size >= questionsMax || this.#round >= roundsMax
    const { length } = question.frame.line
    if (this.inner.settled || isTooMuch || !this.#room.admits(this, length)) return false
    this.inner.keep()
    if (question.during !== undefined) question.during.wasAsked = true
    this.#open.add(question)
    // What a server asks at once is one round.
    if (this.#phase === 'running')
      this.#gathering ??= setDeadline(this.#room.runtime, gatherMs, () => this.#gathered())
    return true
  }

  /** The server takes a question back. */
  withdraw(id: string, asker: Asker): void {
    this.#open.withdraw(id, asker)
  }

  /** Nobody reads the answers to what this server has asked. */
  forget(asker: Asker): void {
    this.#open.forget(asker)
  }

  /** The client comes again, with answers to this round. */
  retry(retry: Call, round: number): void {
    const responses = responsesOf(retry.frame)
    if (round === this.#answered?.round) return this.#again(retry, responses, this.#answered)
    if (round !== this.#round || this.#phase !== 'parked') return retry.fail(stateUnknown('unknown'))
    const answers = this.#answersIn(responses)
    if (typeof answers === 'string')
      return retry.fail(invalidParams(answers, { parameter: 'inputResponses' }))
    if (!this.#room.reserves(this, responses.length)) return retry.fail(tooManyCalls())
    this.#answered = { round, responses, outcome: undefined }
    this.inner.context = { ...retry.context, hearer: this }
    this.#wait(retry)
    for (const [name, answer] of answers) this.#open.answer(name, answer)
    if (this.#outcome !== undefined) this.#end(this.#outcome)
    else if (this.#open.size > 0) this.#park()
    else this.#phase = 'running'
  }

  /** Nobody has come back: the server is told that there will be no answers. */
  giveUp(): void {
    this.#open.giveUp()
    this.inner.cancel(undefined)
    this.#forgotten()
  }

  // CallOwner: what becomes of the server's call.

  settled(inner: Call, ended: Outcome): void {
    this.#gathering?.cancel()
    this.#open.clear()
    // Who comes again for a call that was cancelled has to hear of it.
    const outcome: Outcome =
      ended.kind === 'cancelled'
        ? { kind: 'failed', error: stateUnknown('unknown') }
        : this.#room.told(inner, ended)
    if (this.#phase === 'parked') this.#outcome = this.#room.kept(this, outcome)
    else if (this.#round === 0 && this.#answered === undefined) this.#endAtOnce(outcome)
    else this.#end(outcome)
  }

  needsInput(_inner: Call, needed: InputNeeded): void {
    for (const call of this.#waiting.splice(0)) {
      call.service = needed.service
      call.needsInput(needed)
    }
    this.#forgotten()
  }

  // CallHolder: of the retries that wait.

  cancel(frame: NotificationFrame | undefined): void {
    this.#waiting = this.#waiting.filter((call) => !call.settled)
    if (this.#waiting.length > 0 || this.#phase !== 'running') return
    // Who closes a response may have lost it, and ask again.
    if (frame === undefined) this.#after(this.#room.limits.repeatMs, () => this.giveUp())
    else this.inner.cancel(frame)
  }

  // CallHearer: what the server says meanwhile is for the latest that waits.

  tell(frame: NotificationFrame, edits: readonly Edit[]): void {
    const call = this.#waiting.at(-1)
    if (call === undefined) return
    const span =
      frame.method === 'notifications/progress' ? frame.params.members.span('progressToken') : undefined
    if (span === undefined) return call.context.hearer?.tell(frame, edits, call)
    const own = call.frame.params.meta.span('progressToken')
    if (own === undefined) return
    call.context.hearer?.tell(frame, writing(frame.line, span, call.raw(own), 'progress-token'), call)
  }

  notify(_call: Call, method: string, params: string): void {
    const call = this.#waiting.at(-1)
    call?.context.hearer?.notify(call, method, params)
  }

  splice(call: Call, line: Line, edits: readonly Edit[]): Uint8Array {
    const [first = call] = this.#waiting
    return first.context.hearer?.splice(first, line, edits) ?? line
  }

  /** Since when its client has the questions, and nobody waits for what comes of them. */
  get awaySince(): number | undefined {
    const isAway = this.#phase === 'parked' && this.#open.size > 0
    return isAway ? this.#parkedAt : undefined
  }

  #gathered(): void {
    this.#gathering = undefined
    if (this.#open.size > 0) this.#park()
  }

  /** Whoever waits is asked, and nobody waits any more. */
  #park(): void {
    this.#round++
    this.#phase = 'parked'
    this.#parkedAt = this.#room.runtime.now()
    this.#tell({ kind: 'asked', frame: this.#inputRequired(), edits: [] })
    this.#after(this.#room.limits.lifeMs, () => this.giveUp())
  }

  #inputRequired(): ResultFrame {
    const state = quote(this.#room.seal(this, this.#round))
    const result = `{"resultType":"input_required","inputRequests":${this.#open.requests},"requestState":${state}}`
    return resultFrame(numericId(0), result)
  }

  #wait(retry: Call): void {
    this.#timer?.cancel()
    this.#waiting.push(retry)
    retry.holder = this
  }

  #tell(outcome: Outcome): void {
    if (this.#answered !== undefined) this.#answered.outcome = outcome
    for (const call of this.#waiting.splice(0)) this.#settle(call, outcome)
  }

  /** An error says what the client would have had to declare. */
  #settle(call: Call, outcome: Outcome): void {
    const { missing, service } = this.inner
    call.service = service
    if (missing !== undefined) call.lacks(missing)
    call.settle(outcome)
  }

  /** It was never parked: nobody can come back. */
  #endAtOnce(outcome: Outcome): void {
    this.#tell(outcome)
    this.#forgotten()
  }

  #end(outcome: Outcome): void {
    this.#phase = 'over'
    this.#room.ended(this)
    this.#tell(outcome)
    this.#after(this.#room.limits.repeatMs, () => this.#forgotten())
    if (this.#answered !== undefined) this.#answered.outcome = this.#room.kept(this, outcome)
  }

  /** A client that has lost a response asks again in the same words, and gets the same. */
  #again(retry: Call, responses: string, { responses: before, outcome }: AnsweredRound): void {
    if (!isSameJson(before, responses)) return retry.fail(stateUnknown('answered'))
    retry.service = this.inner.service
    if (outcome !== undefined) this.#settle(retry, outcome)
    else this.#wait(retry)
  }

  /** The answers to what is open, by name; what is wrong with them, in words. */
  #answersIn(responses: string): Map<string, string> | string {
    const bytes = Buffer.from(responses)
    const members = membersAt(bytes, { start: 0, end: bytes.length })
    if (members === undefined) return "'inputResponses' must be an object"
    const answers = new Map<string, string>()
    for (const { key, value } of members) {
      const name = stringAt(bytes, key) ?? ''
      if (!this.#open.has(name)) continue
      const answer = rawAt(bytes, value)
      if (!answer.startsWith('{')) return `'inputResponses.${name}' must be an object`
      answers.set(name, answer)
    }
    return answers
  }

  #forgotten(): void {
    this.#timer?.cancel()
    this.#room.over(this)
  }

  #after(ms: number, then: () => void): void {
    this.#timer?.cancel()
    this.#timer = setDeadline(this.#room.runtime, ms, then)
  }
}

/** The answers that a retry brings, as raw JSON. */
export function responsesOf({ line, params }: RequestFrame): string {
  const span = params.members.span('inputResponses')
  return span === undefined ? '{}' : rawAt(line, span)
}
