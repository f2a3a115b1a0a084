// Asks a client with a session the questions of a server without sessions.
//
// MCP 2026-07-28, Multi Round-Trip Requests: the server ends its request with questions, and expects the same
// request again with the answers. A client with a session cannot do that, but the proxy can ask it during the
// call. So the proxy asks, and repeats the call in the client's own bytes, with the answers inserted.

import type { Limits } from '../../limits.js'
import type { Call, CallOwner, InputNeeded, Outcome } from '../../calls/call.js'
import { inputRefused } from '../../mcp/error-codes.js'
import {
  type InputRequest,
  inputEdits,
  inputRequests,
  paramsFor,
  whyUnaskable,
} from '../../mcp/input-requests.js'
import type { Runtime } from '../../runtime/runtime.js'
import { ClientQuestions } from './client-questions.js'

/** Asks the client of `call` the server's questions. The call continues with the answers, or fails. */
export function askClient(
  call: Call,
  needed: InputNeeded,
  limits: Limits['session']['input'],
  runtime: Runtime,
): void {
  new InputRounds(call, needed, limits, runtime).onInputNeeded(call, needed)
}

class InputRounds implements CallOwner {
  readonly #call: Call
  /** Every round resumes the first request, because a later one would contain the answers of earlier rounds too. */
  readonly #first: InputNeeded
  readonly #limits: Limits['session']['input']
  readonly #runtime: Runtime
  readonly #client: ClientQuestions<InputRequest>
  #rounds = 0
  /** How many rounds in a row the server has only wanted the call repeated. */
  #repeats = 0

  constructor(call: Call, first: InputNeeded, limits: Limits['session']['input'], runtime: Runtime) {
    this.#call = call
    this.#first = first
    this.#limits = limits
    this.#runtime = runtime
    this.#client = new ClientQuestions(call, first.service, runtime)
  }

  onSettled(_attempt: Call, outcome: Outcome): void {
    this.#call.settle(outcome)
  }

  onInputNeeded(attempt: Call, { frame }: InputNeeded): void {
    this.#call.progress = Math.max(this.#call.progress, attempt.progress)
    const wanted = inputRequests(frame)
    if (typeof wanted === 'string') return this.#fail(wanted)
    const why = this.#refusal(wanted.requests)
    if (why !== undefined) return this.#fail(why)
    // The answer of the server counts as progress, so only the total time continues.
    this.#call.deadline.extend(this.#runtime.now())
    if (wanted.requests.length === 0) this.#repeatLater(wanted.state)
    else this.#ask(wanted.requests, wanted.state)
  }

  #refusal(requests: readonly InputRequest[]): string | undefined {
    const { roundsMax, requestsMax } = this.#limits
    if (requests.length > 0 && ++this.#rounds > roundsMax) return `it has asked ${roundsMax} times already`
    if (requests.length > requestsMax)
      return `it asks for ${requests.length} things at once, and ${requestsMax} are allowed`
    const [why] = requests.flatMap((request) => whyUnaskable(request, this.#call.context) ?? [])
    return why
  }

  /** Repeats the call with growing delays, until the total time of the call is over. */
  #repeatLater(state: string | undefined): void {
    const { againMs, againMsMax } = this.#limits
    const delayMs = Math.min(againMs * 2 ** this.#repeats++, againMsMax)
    this.#client.hold(delayMs, 'no result', () => {
      if (this.#client.release()) this.#resume(undefined, state)
    })
  }

  #ask(requests: readonly InputRequest[], state: string | undefined): void {
    this.#repeats = 0
    const newId = (): string => this.#runtime.random().toString(36).slice(2)
    this.#client.ask({
      questions: requests.map((each) => ({ ...each, params: paramsFor(each, this.#call.context, newId) })),
      waitMs: this.#limits.waitMs,
      answered: (answers) => {
        this.#resume(`{${answers.map(([{ key }, answer]) => `${key}:${answer}`).join(',')}}`, state)
      },
      failed: (why) => this.#fail(why),
    })
  }

  #resume(responses: string | undefined, state: string | undefined): void {
    const attempt = this.#call.attempt(this)
    attempt.pinnedTo = this.#first.service
    this.#first.resume(attempt, inputEdits(this.#call.frame, responses, state))
  }

  #fail(why: string): void {
    this.#call.failTool(inputRefused(this.#first.service, why))
  }
}
