// Asks the user of a client before a call of a tool goes to its server.
//
// A client with a session is asked during its call (MCP, Elicitation). A client without one gets the question as the result,
// and sends the call again with the answer and our `requestState` (MCP 2026-07-28, Multi Round-Trip Requests). The state is
// random. This class keeps what each state was made for, so that it is used once, by one principal, for
// one tool and the same arguments.

import { createHash } from 'node:crypto'
import type { ErrorBody } from '../jsonrpc/build.js'
import type { RequestFrame, ResponseFrame } from '../jsonrpc/frame.js'
import { membersAt } from '../jsonrpc/members.js'
import { numericId, type RequestId } from '../jsonrpc/request-id.js'
import { NO_EDITS } from '../jsonrpc/splice.js'
import { quote, write } from '../jsonrpc/text.js'
import type { Call, CallHolder, Asker } from '../calls/call.js'
import { hasCapability } from '../mcp/capabilities.js'
import { notConfirmed, stateUnknown } from '../mcp/error-codes.js'
import { requestFrame, resultFrame, withdrawalFrame } from '../proxy/input/own-frames.js'
import type { OwnQuestions } from '../proxy/input/pending-input.js'
import { OwnStates } from '../proxy/input/request-state.js'
import { setDeadline } from '../runtime/deadline.js'
import type { Runtime } from '../runtime/runtime.js'
import type { Redactor } from '../text/redactor.js'
import { escapeJson, escapeText } from '../text/escape.js'
import { withoutSecretMembers } from '../text/secret-names.js'

/** How long a person may take. */
const LIFE_MS = 300_000

/** Questions that clients without sessions have, and answers of servers that they still have to bring. */
const WAITING_MAX = 1024
/** The most questions of one principal. */
const WAITING_OF_ONE_MAX = 128

/** A question shows all arguments of a call, so a call with more than these UTF-16 units of them is refused. */
const CONFIRMED_LENGTH_MAX = 32 * 1024
const NAME_LENGTH_MAX = 200

/** Of one tool call; `args` is raw JSON. */
interface ConfirmedCall {
  readonly server: string
  readonly tool: string
  readonly args: string
}

const METHOD = 'elicitation/create'
/** The name of the only question in a result. */
const KEY = 'confirm'
const QUESTION_ID = numericId(1)

/** A question and its principal; the answer counts until `untilMs`. */
interface Waiting {
  readonly about: string
  readonly principal: string
  readonly untilMs: number
}

/** An answer that a call brings. */
interface Answer {
  readonly about: string
  readonly action: string | undefined
}

/** Of one schema. */
export class Confirmations implements OwnQuestions {
  readonly #runtime: Runtime
  readonly #redactor: Redactor
  readonly #states: OwnStates
  /** The keys are the states that clients send again; the oldest comes first. */
  readonly #asked = new Map<string, Waiting>()
  /** Calls that were confirmed and whose servers want them again, by what they are about; the oldest first. */
  readonly #continuing = new Map<string, Waiting>()
  readonly #answers = new WeakMap<Call, Answer>()
  readonly #confirmed = new WeakMap<Call, Waiting['about']>()

  constructor(runtime: Runtime, redactor: Redactor) {
    this.#runtime = runtime
    this.#redactor = redactor
    this.#states = new OwnStates(runtime)
  }

  /** Whether the call brings the answer to a question, so that it is no new call. */
  isAnswer(call: Call): boolean {
    return this.#answers.has(call)
  }

  /** Calls `go` when the user of the client has agreed; otherwise settles the call. */
  confirm(call: Call, asked: ConfirmedCall, go: () => void): void {
    const about = aboutOf(call, asked)
    const confirmed = (): void => {
      call.root.isConfirmed = true
      this.#confirmed.set(call, about)
      go()
    }
    const answer = this.#answers.get(call)
    if (answer !== undefined && answer.about !== about) return call.fail(stateUnknown('other-request'))
    if (answer?.action === 'accept' || this.#takeContinuing(call, about)) return confirmed()
    if (answer?.action !== undefined) return call.fail(notConfirmed(asked.tool, whyNot(answer.action)))
    const why = whyNoForm(call.context)
    if (why !== undefined)
      return call.fail(notConfirmed(asked.tool, `its user cannot be asked, because ${why}`))
    if (asked.args.length > CONFIRMED_LENGTH_MAX)
      return call.fail(notConfirmed(asked.tool, tooLong(asked.args)))
    const params = confirmParams(asked, this.#redactor)
    if (call.client.profile.revision.era === 'stateless') this.#askAndReturn(call, asked, about, params)
    else new SessionQuestion(call, asked, this.#runtime, confirmed).ask(params)
  }

  // OwnQuestions

  answered(call: Call, state: string): boolean {
    const { route } = call.row
    const waiting = route.to === 'name' && route.list === 'tools' ? this.#asked.get(state) : undefined
    if (waiting === undefined || waiting.principal !== principalOf(call)) return false
    this.#asked.delete(state)
    if (waiting.untilMs <= this.#runtime.now()) return false
    call.answersProxy = true
    this.#answers.set(call, { about: waiting.about, action: actionIn(call.frame) })
    return true
  }

  continues(call: Call): void {
    const about = this.#confirmed.get(call)
    if (about !== undefined) this.#keep(this.#continuing, about, about, principalOf(call))
  }

  /** A server that has asked its client gets the same call again, without another question. */
  #takeContinuing(call: Call, about: string): boolean {
    const { members } = call.frame.params
    const bringsMore = members.span('inputResponses') ?? members.span('requestState')
    const known = bringsMore === undefined ? undefined : this.#continuing.get(about)
    return known !== undefined && this.#continuing.delete(about) && known.untilMs > this.#runtime.now()
  }

  #askAndReturn(call: Call, { tool }: ConfirmedCall, about: string, params: string): void {
    const state = this.#states.next()
    if (!this.#keep(this.#asked, state, about, principalOf(call)))
      return call.fail(notConfirmed(tool, 'too many questions wait for answers'))
    const requests = `{"${KEY}":{"method":"${METHOD}","params":${params}}}`
    const result = `{"resultType":"input_required","inputRequests":${requests},"requestState":${quote(state)}}`
    call.settle({ kind: 'asked', frame: resultFrame(QUESTION_ID, result), edits: NO_EDITS })
  }

  /** False when there is no room. */
  #keep(waiting: Map<string, Waiting>, key: string, about: string, principal: string): boolean {
    const now = this.#runtime.now()
    let ofOne = 0
    for (const [old, each] of waiting)
      if (each.untilMs <= now) waiting.delete(old)
      else if (each.principal === principal) ofOne++
    if (waiting.size >= WAITING_MAX || ofOne >= WAITING_OF_ONE_MAX) return false
    waiting.set(key, { about, principal, untilMs: now + LIFE_MS })
    return true
  }
}

/** One question to a client with a session. */
class SessionQuestion implements Asker, CallHolder {
  readonly service: string
  readonly #call: Call
  readonly #tool: string
  readonly #runtime: Runtime
  readonly #confirmed: () => void
  #timer: { cancel(): void } | undefined

  constructor(call: Call, { server, tool }: ConfirmedCall, runtime: Runtime, confirmed: () => void) {
    this.service = server
    this.#call = call
    this.#tool = tool
    this.#runtime = runtime
    this.#confirmed = confirmed
  }

  /** The time of the call stands still until it is answered. */
  ask(params: string): void {
    const call = this.#call
    call.keep()
    call.holder = this
    call.deadline.pause(this.#runtime.now())
    this.#timer = setDeadline(this.#runtime, LIFE_MS, () => this.#late())
    const frame = requestFrame(QUESTION_ID, METHOD, params)
    if (call.client.questions.ask({ frame, asker: this, during: call, over: () => {} })) return
    this.#refuse('its user cannot be asked now')
  }

  // Asker

  answered(frame: ResponseFrame): void {
    if (frame.kind === 'error') return this.#refuse('its client answered the question with an error')
    const action = membersAt(frame.line, frame.result)?.string('action')
    if (action !== 'accept') return this.#refuse(whyNot(action))
    if (this.#ends()) this.#confirmed()
  }

  refused(_id: RequestId, _error: ErrorBody): void {
    this.#refuse('its client gave no answer')
  }

  progressed(): void {}

  // CallHolder

  cancel(): void {
    this.#timer?.cancel()
    this.#withdraw('the call was cancelled')
  }

  #late(): void {
    const why = `its user did not answer within ${LIFE_MS} ms`
    this.#withdraw(why)
    this.#refuse(why)
  }

  #withdraw(why: string): void {
    this.#call.client.questions.withdraw(withdrawalFrame(QUESTION_ID, why), this)
  }

  #refuse(why: string): void {
    if (this.#ends()) this.#call.fail(notConfirmed(this.#tool, why))
  }

  /** Whether the call still waits for this question. */
  #ends(): boolean {
    this.#timer?.cancel()
    const call = this.#call
    if (call.settled || call.holder !== this) return false
    call.holder = undefined
    call.deadline.resume(this.#runtime.now())
    return true
  }
}

/** Why a client can show no form, in words. A client that declares elicitation without parts means forms. */
function whyNoForm({ capabilities, revision }: Call['context']): string | undefined {
  const { version, era, serverRequests } = revision
  // A revision without requests of servers has the question in the result.
  if (era === 'session' && !serverRequests.some((method) => method === METHOD))
    return `revision ${version} has no ${METHOD}`
  if (!capabilities.names.has('elicitation')) return 'its client has not declared elicitation'
  const has = (part: string): boolean => hasCapability(capabilities, 'elicitation', part)
  return has('url') && !has('form') ? 'its client has declared no elicitation by forms' : undefined
}

function tooLong({ length }: string): string {
  return `its arguments have ${length} characters, and a question shows at most ${CONFIRMED_LENGTH_MAX}`
}

function whyNot(action: string | undefined): string {
  return action === 'decline' ? 'its user has declined' : 'its user has not agreed'
}

/** The action in the answer to our question; undefined where there is no answer. */
function actionIn({ line, params }: RequestFrame): string | undefined {
  const responses = membersAt(line, params.members.span('inputResponses'))
  const answer = responses?.span(KEY)
  return answer === undefined ? undefined : (membersAt(line, answer)?.string('action') ?? '')
}

function principalOf({ context: { principal = '' } }: Call): string {
  return principal
}

/** One text for a principal, a tool and arguments. */
function aboutOf(call: Call, { server, tool, args }: ConfirmedCall): string {
  return write([principalOf(call), server, tool, createHash('sha256').update(args).digest('base64url')])
}

/** Raw JSON of the params of an `elicitation/create` that asks for consent and for nothing else. */
export function confirmParams({ server, tool, args }: ConfirmedCall, redactor: Redactor): string {
  const shown = escapeJson(withoutSecretMembers(redactor.clean(args)))
  const message = `Allow this call of the tool ${quoted(tool)} of the server ${quoted(server)}?\n\nArguments: ${shown}`
  return write({ message, requestedSchema: { type: 'object', properties: {} } })
}

function quoted(text: string): string {
  return `'${escapeText(text.slice(0, NAME_LENGTH_MAX))}'`
}
