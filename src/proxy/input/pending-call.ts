// A call of a client without a session that waits for the client's answers to the server's questions.

import type { NotificationFrame, RequestFrame, ResultFrame } from '../../jsonrpc/frame.js'
import { type Edit, writing } from '../../jsonrpc/splice.js'
import { toLine } from '../../jsonrpc/line.js'
import { membersAt } from '../../jsonrpc/members.js'
import { numericId } from '../../jsonrpc/request-id.js'
import { quote, rawAt, stringAt } from '../../jsonrpc/text.js'
import type {
  Asker,
  Call,
  CallHolder,
  CallOwner,
  InputNeeded,
  Outcome,
  ServerQuestion,
} from '../../calls/call.js'
import { clientUnreachable, invalidParams, stateUnknown, tooManyCalls } from '../../mcp/error-codes.js'
import { setDeadline } from '../../runtime/deadline.js'
import type { PendingInput } from './pending-input.js'
import { resultFrame } from './own-frames.js'
import { newOwnState } from './request-state.js'

/** The answer to a form that no person has filled in. */
const CANCEL = '{"action":"cancel"}'

/**
 * One call whose server has asked something. A `PendingCall` owns the call from the first question on, and
 * the client's requests about it are separate calls. Either such a request waits for the outcome, or the
 * client has the questions and a state, or the outcome waits for the client.
 */
export class PendingCall implements CallOwner, CallHolder {
  readonly call: Call
  heldBytes = 0
  /** The `requestState` of the questions that the client has; undefined while the client has no questions. */
  state: string | undefined
  readonly #pending: PendingInput
  /** The unanswered questions, by the names that the client sees. */
  readonly #questions = new Map<string, ServerQuestion>()
  #named = 0
  /** The client's request that waits for the outcome; undefined while the client has the questions. */
  #requester: Call | undefined
  #outcome: Outcome | undefined
  /** Ends the wait for the client, or for more questions of the same round. */
  #timer: { cancel(): void } | undefined
  #isOver = false

  constructor(call: Call, pending: PendingInput) {
    this.#pending = pending
    this.call = call
    call.keep()
    this.#requester = call.handOver(this)
    this.#requester.holder = this
  }

  get hasRoom(): boolean {
    return this.#questions.size < this.#pending.context.limits.questionsMax
  }

  add(question: ServerQuestion): void {
    this.#questions.set(`q${++this.#named}`, question)
    if (this.#requester === undefined || this.#timer !== undefined) return
    const { limits, runtime } = this.#pending.context
    this.#timer = setDeadline(runtime, limits.gatherMs, () => {
      this.#timer = undefined
      if (this.#questions.size > 0) this.#park()
    })
  }

  isAskedBy(asker: Asker): boolean {
    return [...this.#questions.values()].some((question) => question.asker === asker)
  }

  drop(isGone: (question: ServerQuestion) => boolean = () => true): void {
    for (const [name, question] of this.#questions) if (isGone(question)) this.#removeQuestion(name)
  }

  /** Continues with the client's retry; false if there is no room for its answers. */
  retry(retry: Call): boolean {
    const answers = this.#answersIn(retry.frame)
    if (typeof answers === 'string') {
      retry.fail(invalidParams(answers, { parameter: 'inputResponses' }))
      return true
    }
    if (!this.#pending.reserve(this, retry.bytes)) return false
    this.#leavePark()
    this.call.context = retry.context
    this.#requester = retry
    retry.holder = this
    for (const [name, answer] of answers) this.#answerServer(name, answer)
    if (this.#outcome !== undefined) this.#finish(this.#outcome)
    else if (this.#questions.size > 0) this.#park()
    return true
  }

  /** Gives up a client that does not return: cancels a form, refuses any other question, and cancels the call. */
  giveUp(): void {
    for (const [name, { frame }] of this.#questions) {
      if (frame.method === 'elicitation/create') this.#answerServer(name, CANCEL)
      else this.#removeQuestion(name)?.asker.onRefusal(frame.id, clientUnreachable())
    }
    this.#finish({ kind: 'failed', error: stateUnknown('unknown') })
    this.call.cancel(undefined)
  }

  onSettled(_call: Call, ended: Outcome): void {
    if (this.#isOver) return
    this.drop()
    const outcome: Outcome =
      ended.kind === 'cancelled' ? { kind: 'failed', error: stateUnknown('unknown') } : ended
    if (this.#requester === undefined) this.#outcome = this.#kept(outcome)
    else this.#finish(outcome)
  }

  onInputNeeded(_call: Call, needed: InputNeeded): void {
    const requester = this.#requester
    if (requester !== undefined) this.onSettling(requester)
    this.#finish()
    requester?.requestInput(needed)
  }

  /** Called when the client cancels the call, or closes the response to a retry. */
  cancel(frame: NotificationFrame | undefined): void {
    this.drop()
    this.#finish()
    this.call.cancel(frame)
  }

  /** Copies the facts of the call to a request that ends, so that its error can name undeclared capabilities. */
  onSettling(request: Call): void {
    const { service, item, missingCapabilities, confirmedAs, deadline } = this.call
    Object.assign(request, { service, item, missingCapabilities, confirmedAs })
    // `sentAt` belongs to the request that had the call sent: the one with the consent, else the first one.
    const { sentAt = -Infinity } = deadline
    if (sentAt >= request.deadline.arrivedAt) request.deadline.sentAt = sentAt
  }

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

  #park(): void {
    const { limits, runtime, instance } = this.#pending.context
    this.state = newOwnState(runtime, instance)
    this.#answer({ kind: 'asked', frame: this.#inputRequired(this.state), edits: [] })
    this.#timer = setDeadline(runtime, limits.lifeMs, () => this.giveUp())
  }

  #leavePark(): void {
    this.#timer?.cancel()
    this.#timer = undefined
    this.state = undefined
  }

  /** MCP 2026-07-28, Multi Round-Trip Requests. */
  #inputRequired(state: string): ResultFrame {
    const requests = [...this.#questions].map(
      ([name, { frame }]) => `"${name}":{"method":${quote(frame.method)},"params":${paramsOf(frame)}}`,
    )
    const result = `{"resultType":"input_required","inputRequests":{${requests.join(',')}},"requestState":${quote(state)}}`
    return resultFrame(numericId(0), result)
  }

  #answer(outcome: Outcome): void {
    const requester = this.#requester
    this.#requester = undefined
    requester?.settle(outcome)
  }

  #kept(outcome: Outcome): Outcome {
    if (outcome.kind !== 'answered') return outcome
    const { frame } = outcome
    const long = frame.kind === 'result' ? frame.long : undefined
    if (!this.#pending.reserve(this, long?.length ?? frame.line.length))
      return { kind: 'failed', error: tooManyCalls() }
    // Copy a short answer, so that it does not keep its whole chunk in memory.
    if (long !== undefined) return outcome
    const line = toLine(frame.line)
    const members = frame.kind === 'result' ? { members: frame.members?.movedTo(line) } : {}
    return { ...outcome, frame: { ...frame, ...members, line } }
  }

  #finish(outcome?: Outcome): void {
    this.#isOver = true
    this.#leavePark()
    this.#pending.finished(this)
    if (outcome !== undefined) this.#answer(outcome)
    this.#requester = undefined
  }

  #answerServer(name: string, answer: string): void {
    const question = this.#removeQuestion(name)
    if (question === undefined) return
    const { id } = question.frame
    question.asker.onAnswer(resultFrame(id, answer), id)
  }

  #removeQuestion(name: string): ServerQuestion | undefined {
    const question = this.#questions.get(name)
    this.#questions.delete(name)
    question?.onEnd()
    return question
  }

  /** The answers to open questions, by name; a string is the reason why the answers cannot be used. */
  #answersIn({ line, params }: RequestFrame): Map<string, string> | string {
    const span = params.members.span('inputResponses')
    const members = membersAt(line, span)
    if (span !== undefined && members === undefined) return "'inputResponses' must be an object"
    const answers = new Map<string, string>()
    for (const { key, value } of members ?? []) {
      const name = stringAt(line, key) ?? ''
      if (!this.#questions.has(name)) continue
      const answer = rawAt(line, value)
      if (!answer.startsWith('{')) return `'inputResponses.${name}' must be an object`
      answers.set(name, answer)
    }
    return answers
  }
}

/** Members of a request that have a meaning only in a session. */
const sessionsOnly: ReadonlySet<string> = new Set(['task', 'elicitationId', '_meta'])

function paramsOf({ line, params: { span, members } }: RequestFrame): string {
  if (span === undefined) return '{}'
  const kept = [...members].filter(({ key }) => !sessionsOnly.has(stringAt(line, key) ?? ''))
  if (kept.length === members.size) return rawAt(line, span)
  return `{${kept.map(({ key, value }) => `${rawAt(line, key)}:${rawAt(line, value)}`).join(',')}}`
}
