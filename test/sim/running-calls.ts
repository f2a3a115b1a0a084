// The calls in progress at a scripted server, which does what their arguments say.

import type { ScriptHost, ServerOutput } from './script.js'
import { capabilitiesIn, wantsLogs } from './request-meta.js'
import { at, clientOf, noncesIn, numberAt, rawToken, textAt } from './json.js'
import type { Job, Ledger } from './ledger.js'
import type { Returned, Rounds } from './rounds.js'
import { askable, askedBy, markIn, markOf, methodOf, questionParams } from './rounds.js'
import type { ServerFacts } from './server.js'
import { type WorkKind, ODDITIES, type Work, isWorkKind } from './plan.js'

/** Work that ends the process or spoils its answers. It becomes harmless once all faults have stopped. */
const unkind: readonly WorkKind[] = ['exit-before', 'exit-half', 'exit-with', 'oversize', 'wrong-id']

export class RunningCalls {
  readonly #host: ScriptHost
  readonly #facts: ServerFacts
  readonly #ledger: Ledger
  readonly #output: ServerOutput
  readonly #rounds: Rounds | undefined
  readonly #calls = new Map<string, Called>()
  /** Over HTTP a cancel may overtake its call. */
  readonly #cancelledBefore = new Set<string>()
  readonly #asked = new Map<string, Asked>()
  #questions = 0

  constructor(host: ScriptHost, output: ServerOutput, rounds: Rounds | undefined) {
    this.#host = host
    this.#facts = host.facts
    this.#ledger = host.context.ledger
    this.#output = output
    this.#rounds = rounds
  }

  has(id: string): boolean {
    return this.#calls.has(id)
  }

  /** False when no call is in progress. */
  hurry(): boolean {
    const [call] = this.#calls.values()
    if (call !== undefined) this.#answer(call, '')
    return call !== undefined
  }

  /** `declared` are the capabilities of its client. */
  take(id: string, message: unknown, text: string, declared: unknown): void {
    const args = at(message, 'params', 'arguments')
    const [nonce = ''] = noncesIn(textAt(args, 'nonce') ?? '')
    const stays = (): boolean => this.#host.stays && !this.#facts.struck
    const job: Job = { stays, cancelled: this.#cancelledBefore.has(id), done: false, open: 0 }
    const [about = nonce] = noncesIn(textAt(message, 'params', '_meta', 'about') ?? '')
    const back = this.#rounds?.returned({ instance: this.#host.name, about, nonce, message, text })
    const call = { id, nonce, about, message, token: rawToken(text), declared, job, back }
    this.#calls.set(id, call)
    if (back === undefined) this.#ledger.executed(nonce, this.#host.name, text, job)
    else this.#ledger.wentOn(about, this.#host.name, job)
    this.#host.reached('call-read')
    const kind = textAt(args, 'kind')
    const work = { ms: numberAt(args, 'ms') ?? 0, n: numberAt(args, 'n') ?? 1 }
    this.#do({ kind: isWorkKind(kind) ? kind : 'echo', ...work }, call)
  }

  /** `text` is the message that cancels the request. */
  cancelled(id: string, text: string): void {
    const job = this.#calls.get(id)?.job
    if (job?.cancelled === true) this.#ledger.fail('cancelled-twice', `${this.#host.name}: ${text}`)
    if (job === undefined && this.#facts.plan.kind === 'http') this.#cancelledBefore.add(id)
    if (job !== undefined) {
      job.cancelled = true
      if (this.#facts.plan.heedsCancel) this.#calls.delete(id)
    }
    this.#host.reached('cancel-read')
  }

  answered(message: unknown, id: string | undefined, text: string): void {
    const asked = id === undefined ? undefined : this.#asked.get(id)
    if (asked === undefined || id === undefined)
      return this.#ledger.fail('stray-answer', `${this.#host.name} asked nothing as ${id}: ${text}`)
    this.#asked.delete(id)
    asked.job.open--
    const said = textAt(message, 'result', 'said')
    const mark = markIn(said ?? '')
    if (mark !== undefined && mark !== asked.mark)
      this.#ledger.fail('foreign-answer', `${asked.mark} was answered ${text}`)
    // A question about a cancelled call may have reached another call of the same client.
    const isOwn = (nonce: string): boolean =>
      nonce === asked.nonce || (asked.job.cancelled && clientOf(nonce) === clientOf(asked.nonce))
    if (!noncesIn(text).every(isOwn))
      this.#ledger.fail('foreign-answer', `${asked.nonce} was answered ${text}`)
    asked.go(said ?? 'refused')
  }

  #do(work: Work, call: Called): void {
    const { ms, n } = work
    const kind = this.#facts.calm && unkind.includes(work.kind) ? 'echo' : work.kind
    const later = (run: () => void): void => this.#host.after(ms, run)
    switch (kind) {
      case 'hang':
        return
      case 'exit-before':
        return later(() => this.#host.exit(1))
      case 'progress':
        return this.#steps(call, work, 1)
      case 'rounds':
        return later(() => (this.#isAlone(call, work) ? undefined : this.#askAll(call, work, 1 + (n % 2))))
      case 'ask':
        return later(() => (this.#isAlone(call, { ...work, n: 0 }) ? undefined : this.#ask(call)))
      case 'log':
      case 'junk':
        if (kind === 'log') this.#log(call)
        else this.#host.junk()
        return later(() => this.#answer(call, ''))
      case 'big':
      case 'echo':
        return later(() => this.#answer(call, kind === 'big' ? 'x'.repeat(n * 1024) : ''))
      case 'refuse':
        return later(() => this.#say(call, `"error":{"code":-32050,"message":"n:${call.nonce};"}`))
      case 'exit-half':
      case 'exit-with':
      case 'oversize':
      case 'twice':
      case 'wrong-id':
        return later(() => {
          if (!this.#facts.calm) this.#output.spoilt ??= kind
          this.#answer(call, '')
        })
    }
  }

  #log({ id, nonce, message }: Called): void {
    // Without sessions, log messages go only to a request that asks for them.
    if (this.#rounds !== undefined && !wantsLogs(message)) return
    const data = `n:${nonce}; ${this.#output.stamp()}`
    this.#output.notify('notifications/message', `{"level":"error","data":"${data}"}`, id)
  }

  #steps(call: Called, work: Work, step: number): void {
    this.#host.after(work.ms / (work.n + 1), () => {
      if (step > work.n) return this.#answer(call, '')
      if (call.token !== undefined) {
        const said = `"message":"n:${call.nonce}; ${this.#output.stamp()}"`
        const params = `{"progressToken":${call.token},"progress":${step},${said}}`
        this.#output.notify('notifications/progress', params, call.id)
      }
      this.#steps(call, work, step + 1)
    })
  }

  /** A server without sessions ends the request with its questions. False for other servers. */
  #isAlone(call: Called, work: Work): boolean {
    if (this.#rounds === undefined) return false
    const asked = this.#rounds.next(
      call.nonce,
      call.back ?? askedBy(work),
      capabilitiesIn(call.message) ?? [],
    )
    if (asked === undefined) this.#answer(call, '')
    else {
      this.#ledger.note(call.about, { mayStandStill: true })
      this.#say(call, `"result":${asked}`)
    }
    return true
  }

  /** Asks a question that the capabilities of the client allow. */
  #ask(call: Called): void {
    // `hurry` has answered the call.
    if (call.job.done) return
    const can = askable.find((name) => at(call.declared, name) !== undefined)
    if (can === undefined) return this.#answer(call, 'nobody to ask')
    const params = (): string => `{"_meta":{"about":"n:${call.nonce}; ${this.#output.stamp()}"}}`
    if (this.#question(call, can, params, (said) => this.#answer(call, said))) return
    this.#answer(call, 'no way to ask')
  }

  /** Asks up to three questions together, in `left` rounds. */
  #askAll(call: Called, work: Work, left: number): void {
    if (call.job.done) return
    const can = askable.filter((name) => at(call.declared, name) !== undefined)
    if (can.length === 0 || left === 0) return this.#answer(call, can.length === 0 ? 'nobody to ask' : '')
    let open = 1
    const go = (): void => {
      if (--open === 0) this.#host.after(work.ms, () => this.#askAll(call, work, left - 1))
    }
    for (let count = work.n % 3; count >= 0; count--) {
      const name = can[count % can.length] ?? ''
      open++
      if (!this.#question(call, name, (mark) => questionParams(name, `n:${call.nonce}; ${mark}`), go)) open--
    }
    go()
  }

  #question(call: Called, can: string, params: (mark: string) => string, go: Asked['go']): boolean {
    const id = `"q${++this.#questions}"`
    const mark = markOf(`${this.#host.name}-${this.#questions}`)
    this.#asked.set(id, { nonce: call.nonce, mark, job: call.job, go })
    call.job.open++
    const text = `{"jsonrpc":"2.0","id":${id},"method":"${methodOf(can)}","params":${params(mark)}}`
    if (this.#host.say(text, call.id)) {
      this.#ledger.asks(call.nonce)
      return true
    }
    this.#asked.delete(id)
    call.job.open--
    return false
  }

  #answer(call: Called, more: string): void {
    const about = `n:${call.nonce}; ${this.#output.stamp()}`
    this.#say(call, `"result":{"content":[],"about":"${about}",${ODDITIES},"more":${JSON.stringify(more)}}`)
  }

  #say(call: Called, rest: string): void {
    const { id, about, job } = call
    if (this.#calls.get(id) !== call) return
    this.#calls.delete(id)
    job.done = true
    this.#ledger.note(about, { reply: rest })
    const typed = rest.replace(/^"result":\{(?!"resultType")/, '"result":{"resultType":"complete",')
    this.#output.respond(id, this.#rounds === undefined ? rest : typed)
  }
}

interface Asked {
  readonly nonce: string
  readonly mark: string
  readonly job: Job
  readonly go: (said: string) => void
}

interface Called {
  readonly id: string
  /** The nonces of the first request of the call, and of the current one. */
  readonly nonce: string
  readonly about: string
  readonly message: unknown
  readonly token: string | undefined
  readonly declared: unknown
  readonly job: Job
  readonly back: Returned | undefined
}
