// The proxy asks the client of a call: a question of a server without sessions, or whether the user agrees.
//
// The proxy holds the call meanwhile. Only the total time of the call continues.

import type { ResponseFrame } from '../../jsonrpc/frame.js'
import { type RequestId, numericId } from '../../jsonrpc/request-id.js'
import { rawAt } from '../../jsonrpc/text.js'
import type { Asker, Call, CallHolder } from '../../calls/call.js'
import { callTimeout } from '../../calls/call-deadline.js'
import { setDeadline } from '../../runtime/deadline.js'
import type { Runtime } from '../../runtime/runtime.js'
import { requestFrame, withdrawalFrame } from './own-frames.js'

const FORM = 'elicitation/create'
const CANCELLED = '{"action":"cancel"}'

export interface OwnQuestion {
  readonly method: string
  /** Raw JSON. */
  readonly params: string
}

/** Questions that are asked together. Either `answered` or `failed` is called, once, unless the call ends before. */
export interface Asking<Q extends OwnQuestion> {
  readonly questions: readonly Q[]
  /** The longest time for all answers. */
  readonly waitMs: number
  /** The answers are raw JSON. A form without an answer counts as cancelled. */
  answered(answers: readonly (readonly [Q, string])[]): void
  /** Called if a question that is not a form gets no answer, or if the client cannot be asked. */
  failed(why: string): void
}

export class ClientQuestions<Q extends OwnQuestion> implements Asker, CallHolder {
  readonly service: string
  readonly #call: Call
  readonly #runtime: Runtime
  #asking: Asking<Q> | undefined
  readonly #open = new Map<RequestId, Q>()
  #answers: (readonly [Q, string])[] = []
  #lastId = 0
  #timer: { cancel(): void } | undefined

  constructor(call: Call, service: string, runtime: Runtime) {
    this.#call = call
    this.service = service
    this.#runtime = runtime
  }

  ask(asking: Asking<Q>): void {
    this.#asking = asking
    this.#answers = []
    this.hold(asking.waitMs, 'no answer of its client', () => this.#late(asking.waitMs))
    for (const question of asking.questions) this.#open.set(numericId(++this.#lastId), question)
    for (const [id, { method, params }] of this.#open) {
      const frame = requestFrame(id, method, params)
      const { questions } = this.#call.client
      if (questions.ask({ frame, asker: this, during: this.#call, onEnd: () => {} })) continue
      this.#open.delete(id)
      return this.#fail(`its client cannot be asked ${method} now`)
    }
  }

  /** Holds the call for `ms`, or until its total time is over; the error then says that `what` did not happen. */
  hold(ms: number, what: string, then: () => void): void {
    const call = this.#call
    const now = this.#runtime.now()
    call.keep()
    call.holder = this
    call.deadline.pause(now)
    const leftMs = Math.max(0, call.deadline.endsAt - now)
    const over = leftMs < ms ? () => this.#expire(what) : then
    this.#timer = setDeadline(this.#runtime, Math.min(ms, leftMs), over)
  }

  /** Ends `hold`; false if the call has ended already. */
  release(): boolean {
    this.#timer?.cancel()
    if (this.#call.isSettled) return false
    this.#call.holder = undefined
    this.#call.deadline.resume(this.#runtime.now())
    return true
  }

  // CallHolder

  cancel(): void {
    this.#timer?.cancel()
    this.#withdraw('the call was cancelled')
  }

  // Asker

  onAnswer(frame: ResponseFrame, id: RequestId): void {
    if (frame.kind === 'result') this.#recordAnswer(id, rawAt(frame.line, frame.result))
    else this.#unanswered(id, `its client answered with the error ${rawAt(frame.line, frame.error)}`)
  }

  onRefusal(id: RequestId): void {
    this.#unanswered(id, 'its client gave no answer that could be passed on')
  }

  /** Does nothing: no request of the server is open, so the progress has no target. */
  readonly onProgress = (): void => {}

  #late(waitMs: number): void {
    const why = `its client did not answer within ${waitMs} ms`
    this.#withdraw(why)
    for (const id of this.#open.keys()) this.#unanswered(id, why)
  }

  #unanswered(id: RequestId, why: string): void {
    const method = this.#open.get(id)?.method
    if (method === FORM) return this.#recordAnswer(id, CANCELLED)
    this.#open.delete(id)
    if (method !== undefined) this.#fail(`${method}: ${why}`)
  }

  #recordAnswer(id: RequestId, answer: string): void {
    const question = this.#open.get(id)
    if (question === undefined) return
    this.#open.delete(id)
    this.#answers.push([question, answer])
    if (this.#open.size === 0 && this.release()) this.#asking?.answered(this.#answers)
  }

  #fail(why: string): void {
    this.#withdraw(why)
    if (this.release()) this.#asking?.failed(why)
  }

  #expire(what: string): void {
    const error = callTimeout(this.service, this.#call, what)
    this.#withdraw(error.message)
    this.#call.fail(error)
  }

  /** MCP, Utilities: cancellation. */
  #withdraw(why: string): void {
    for (const id of this.#open.keys()) this.#call.client.questions.withdraw(withdrawalFrame(id, why), this)
  }
}
