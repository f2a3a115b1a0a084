// Asks a client with a session the questions of a server without sessions.
//
// MCP 2026-07-28, Multi Round-Trip Requests: the server ends its request with questions, and wants the same request
// again with the answers. A client of a revision with sessions cannot do that, but it can be asked during its call. So
// the proxy asks, and repeats the call in the client's own bytes, with the answers inserted.

import type { ResponseFrame } from '../../jsonrpc/frame.js'
import { type RequestId, numericId } from '../../jsonrpc/request-id.js'
import { rawAt } from '../../jsonrpc/text.js'
import type { Call, CallHolder, CallOwner, InputNeeded, Outcome, Asker } from '../../calls/call.js'
import { inputRefused } from '../../mcp/error-codes.js'
import {
  type InputRequest,
  inputEdits,
  inputRequests,
  paramsFor,
  whyUnaskable,
} from '../../mcp/input-requests.js'
import { callTimeout } from '../../calls/call-deadline.js'
import { setDeadline } from '../../runtime/deadline.js'
import { requestFrame, withdrawalFrame } from './own-frames.js'
import type { Runtime } from '../../runtime/runtime.js'

/** How often, and for how long, a server may ask during one call. */
export interface InputLimits {
  readonly roundsMax: number
  /** In one round. */
  readonly requestsMax: number
  /** How long a client may take to answer one round, in milliseconds. */
  readonly waitMs: number
  /** How long the proxy waits before it repeats a call that its server only wants repeated: at first, and at most. */
  readonly againMs: number
  readonly againMsMax: number
}

/** Asks the client of `call` what its server wants to know; the call goes on with the answers, or fails. */
export function askClient(call: Call, needed: InputNeeded, limits: InputLimits, runtime: Runtime): void {
  call.keep()
  new InputRounds(call, needed, limits, runtime).needsInput(call, needed)
}

const CANCELLED = '{"action":"cancel"}'

class InputRounds implements CallOwner, CallHolder, Asker {
  readonly service: string
  readonly #call: Call
  /** Of the first round, and resumed in each: a later one would insert the answers of the rounds before it too. */
  readonly #first: InputNeeded
  readonly #limits: InputLimits
  readonly #runtime: Runtime
  #rounds = 0
  #repeats = 0
  #asked = 0
  readonly #open = new Map<RequestId, InputRequest>()
  #answers: string[] = []
  #state: string | undefined
  #timer: { cancel(): void } | undefined

  constructor(call: Call, first: InputNeeded, limits: InputLimits, runtime: Runtime) {
    this.#call = call
    this.#first = first
    this.service = first.service
    this.#limits = limits
    this.#runtime = runtime
  }

  settled(_attempt: Call, outcome: Outcome): void {
    this.#call.settle(outcome)
  }

  needsInput(attempt: Call, { frame }: InputNeeded): void {
    this.#call.progress = Math.max(this.#call.progress, attempt.progress)
    const { roundsMax, requestsMax } = this.#limits
    const wanted = inputRequests(frame)
    if (typeof wanted === 'string') return this.#fail(wanted)
    const { asked, state } = wanted
    if (asked.length > 0 && ++this.#rounds > roundsMax)
      return this.#fail(`it has asked ${roundsMax} times already`)
    if (asked.length > requestsMax)
      return this.#fail(`it asks for ${asked.length} things at once, and ${requestsMax} are allowed`)
    for (const request of asked) {
      const why = whyUnaskable(request, this.#call.context)
      if (why !== undefined) return this.#fail(why)
    }
    this.#state = state
    this.#answers = []
    this.#call.holder = this
    const now = this.#runtime.now()
    const { deadline } = this.#call
    // A server that answers is at work, so the answer counts as progress; only the total time goes on.
    deadline.extend(now)
    deadline.pause(now)
    if (asked.length === 0) this.#repeatLater()
    else this.#ask(asked)
  }

  cancel(): void {
    this.#timer?.cancel()
    this.#withdraw('the call was cancelled')
  }

  answered(frame: ResponseFrame, id: RequestId): void {
    const request = this.#open.get(id)
    if (request === undefined) return
    if (frame.kind === 'result') return this.#take(id, request, rawAt(frame.line, frame.result))
    this.#unanswered(id, request, `its client answered with the error ${rawAt(frame.line, frame.error)}`)
  }

  refused(id: RequestId): void {
    const request = this.#open.get(id)
    if (request !== undefined)
      this.#unanswered(id, request, 'its client gave no answer that could be passed on')
  }

  /** Progress of the client is dropped, because no request of the server is open. */
  readonly progressed = (): void => {}

  /** Less often each time, until the total time of the call is over. */
  #repeatLater(): void {
    const { againMs, againMsMax } = this.#limits
    const delayMs = Math.min(againMs * 2 ** this.#repeats++, againMsMax)
    this.#wait(delayMs, 'no result', () => this.#resume())
  }

  #ask(asked: readonly InputRequest[]): void {
    const { waitMs } = this.#limits
    this.#repeats = 0
    this.#wait(waitMs, 'no answer of its client', () => this.#late())
    for (const request of asked) this.#open.set(numericId(++this.#asked), request)
    for (const [id, request] of this.#open) {
      const { context, client } = this.#call
      const params = paramsFor(request, context, () => this.#newId(id))
      const frame = requestFrame(id, request.method, params)
      if (client.questions.ask({ frame, asker: this, during: this.#call, over: () => {} })) continue
      this.#open.delete(id)
      return this.#fail(`its client cannot be asked ${request.method} now`)
    }
  }

  #late(): void {
    const why = `its client did not answer within ${this.#limits.waitMs} ms`
    const open = [...this.#open]
    this.#withdraw(why)
    for (const [id, request] of open) this.#open.set(id, request)
    for (const [id, request] of open) if (!this.#call.settled) this.#unanswered(id, request, why)
  }

  /** A form can be answered with a cancellation; no other question has such an answer, so the call fails. */
  #unanswered(id: RequestId, request: InputRequest, why: string): void {
    if (request.method === 'elicitation/create') return this.#take(id, request, CANCELLED)
    this.#open.delete(id)
    this.#fail(`${request.method}: ${why}`)
  }

  #take(id: RequestId, { key }: InputRequest, answer: string): void {
    this.#open.delete(id)
    this.#answers.push(`${key}:${answer}`)
    if (this.#open.size === 0) this.#resume()
  }

  #resume(): void {
    this.#timer?.cancel()
    if (this.#call.settled) return
    this.#call.deadline.resume(this.#runtime.now())
    const responses = this.#answers.length === 0 ? undefined : `{${this.#answers.join(',')}}`
    const attempt = this.#call.attempt(this)
    const more = inputEdits(this.#call.frame, responses, this.#state)
    attempt.pinnedTo = this.service
    this.#first.resume(attempt, more)
  }

  #fail(why: string): void {
    this.#timer?.cancel()
    this.#withdraw(why)
    this.#call.failTool(inputRefused(this.service, why))
  }

  /** Withdraws the questions that have no answer yet (MCP, Utilities: cancellation). */
  #withdraw(why: string): void {
    const ids = [...this.#open.keys()]
    this.#open.clear()
    for (const id of ids) this.#call.client.questions.withdraw(withdrawalFrame(id, why), this)
  }

  /** Waits for `ms`, or until the total time of the call is over; `what` did not happen in that. */
  #wait(ms: number, what: string, over: () => void): void {
    this.#timer?.cancel()
    const leftMs = Math.max(0, this.#call.deadline.endsAt - this.#runtime.now())
    this.#timer = setDeadline(
      this.#runtime,
      Math.min(ms, leftMs),
      leftMs < ms ? () => this.#expire(what) : over,
    )
  }

  #expire(what: string): void {
    const error = callTimeout(this.service, this.#call, what)
    this.#withdraw(error.message)
    this.#call.fail(error)
  }

  #newId(question: RequestId): string {
    return `${this.#runtime.random().toString(36).slice(2)}-${question}`
  }
}
