// A scripted MCP server: what it says to what it is told. How that travels is the
// business of whoever has it.

import { at, noncesIn, numberAt, parse, rawId, rawToken, textAt } from './json.js'
import type { Ledger } from './ledger.js'
import type { ServerFacts } from './server-facts.js'
import { type Work, isDeed } from './work.js'

/** The process or the session that a brain runs in. */
export interface Body {
  /** `s0#3`: the server, and which of its processes. */
  readonly name: string
  /** Says a message, on account of the request with the id `about`; false when there is no way to the client. */
  say(text: string, about?: string): boolean
  /** Says the first part of a message and no more. */
  sayHalf(text: string, about?: string): void
  junk(): void
  after(delayMs: number, run: () => void): void
  exit(code: number): void
  /** Something that a test may wait for has happened. */
  reached(milestone: Milestone): void
}

export type Milestone =
  | 'started'
  | 'initialize-read'
  | 'initialize-answered'
  | 'initialized-read'
  | 'call-read'
  | 'progress-told'
  | 'half-answered'
  | 'cancel-read'

/** How the next answer is spoilt. */
export type Spoilt = 'twice' | 'wrong-id' | 'oversize' | 'exit-with' | 'exit-half'

/** One instance of a scripted server. */
export class Brain {
  readonly #body: Body
  readonly #facts: ServerFacts
  readonly #ledger: Ledger
  readonly #working = new Map<string, { cancelled: boolean; readonly nonce: string }>()
  readonly #asked = new Map<string, { readonly nonce: string; readonly go: (said: string) => void }>()
  readonly #followed = new Set<string>()
  #declared: unknown
  #said = 0
  #questions = 0
  #initialized = false
  /** Says nothing to `initialize` until it is told to go on. */
  #held: (() => void) | undefined
  #spoilt: Spoilt | undefined

  constructor(body: Body, facts: ServerFacts, ledger: Ledger) {
    this.#body = body
    this.#facts = facts
    this.#ledger = ledger
  }

  /** Calls that it is at, cancelled ones too. */
  get busy(): number {
    return this.#working.size
  }

  /** Ends what it is at with an answer that is spoilt; the next answer, when it is at nothing. */
  blurt(how: Spoilt): void {
    this.#spoilt = how
    if (this.#held !== undefined) return this.release()
    for (const [id, { nonce }] of this.#working) return this.#answer({ id, nonce, token: undefined }, '')
    if (how === 'exit-half') {
      this.#body.sayHalf('{"jsonrpc":"2.0","method":"notifications/message"}')
      this.#body.exit(1)
    } else if (how === 'exit-with') this.#body.exit(0)
  }

  /** Goes on with an `initialize` that was held. */
  release(): void {
    const held = this.#held
    this.#held = undefined
    held?.()
  }

  /** Nothing is spoilt any more. */
  mend(): void {
    this.#spoilt = undefined
    this.release()
  }

  receive(text: string): void {
    const message = parse(text)
    const method = textAt(message, 'method')
    const id = rawId(text)
    if (at(message, 'jsonrpc') !== '2.0') this.#ledger.fail('bad-line', `${this.#body.name} was told ${text}`)
    else if (method === undefined) this.#answered(message, id, text)
    else if (at(message, 'id') === undefined) this.#told(method, text)
    else if (id !== undefined) this.#request(method, id, message, text)
  }

  /** Says that a list has changed; false when there is no way to say it now. */
  listChanged(kind: 'tools' | 'prompts' | 'resources'): boolean {
    return !this.#initialized || this.#notify(`notifications/${kind}/list_changed`, '{}')
  }

  /** Says that resources have changed to whoever follows them. */
  updated(): void {
    for (const uri of this.#followed) {
      this.#notify(
        'notifications/resources/updated',
        `{"uri":${JSON.stringify(uri)},"by":"${this.#stamp()}"}`,
      )
    }
  }

  log(): void {
    if (this.#initialized)
      this.#notify('notifications/message', `{"level":"error","data":"${this.#stamp()}"}`)
  }

  #request(method: string, id: string, message: unknown, text: string): void {
    if (this.#working.has(id)) {
      this.#ledger.fail('id-reused', `${this.#body.name} is still at ${id} and is asked ${text}`)
    }
    switch (method) {
      case 'initialize':
        return this.#initialize(id, message)
      case 'tools/call':
        return this.#call(id, message, text)
      case 'resources/subscribe':
        this.#followed.add(textAt(message, 'params', 'uri') ?? '')
        return this.#result(id, '{}')
      case 'resources/unsubscribe':
        this.#followed.delete(textAt(message, 'params', 'uri') ?? '')
        return this.#result(id, '{}')
      case 'resources/read':
      case 'prompts/get':
      case 'completion/complete':
        return this.#body.after(1, () => this.#result(id, this.#facts.read(method, message, this.#stamp())))
      default:
        return this.#result(id, this.#facts.listed(method, message))
    }
  }

  #initialize(id: string, message: unknown): void {
    this.#declared = at(message, 'params', 'capabilities')
    const version = textAt(message, 'params', 'protocolVersion') ?? ''
    const answer = (): void => {
      this.#result(id, this.#facts.initialized(version))
      this.#body.reached('initialize-answered')
    }
    this.#held = answer
    this.#body.after(this.#facts.plan.initMs, () => {
      if (!this.#facts.holdsInitialize) this.release()
    })
    this.#body.reached('initialize-read')
  }

  #told(method: string, text: string): void {
    if (method === 'notifications/initialized') {
      this.#initialized = true
      this.#body.reached('initialized-read')
    } else if (method === 'notifications/cancelled') this.#cancelled(text)
  }

  #cancelled(text: string): void {
    const id = /"requestId":("(?:[^"\\]|\\.)*"|[-+.\deE]+)/.exec(text)?.[1] ?? ''
    const working = this.#working.get(id)
    if (working?.cancelled === true) this.#ledger.fail('cancelled-twice', `${this.#body.name}: ${text}`)
    if (working !== undefined) {
      working.cancelled = true
      if (this.#facts.plan.heedsCancel) this.#working.delete(id)
    }
    this.#body.reached('cancel-read')
  }

  #answered(message: unknown, id: string | undefined, text: string): void {
    const asked = id === undefined ? undefined : this.#asked.get(id)
    if (asked === undefined || id === undefined) {
      return this.#ledger.fail('stray-answer', `${this.#body.name} asked nothing as ${id}: ${text}`)
    }
    this.#asked.delete(id)
    const said = textAt(message, 'result', 'said')
    const foreign = noncesIn(text).filter((nonce) => nonce !== asked.nonce)
    if (foreign.length > 0) this.#ledger.fail('foreign-answer', `${asked.nonce} was answered ${text}`)
    asked.go(said ?? 'refused')
  }

  #call(id: string, message: unknown, text: string): void {
    const args = at(message, 'params', 'arguments')
    const [nonce = ''] = noncesIn(textAt(args, 'nonce') ?? '')
    this.#ledger.executed(nonce, this.#body.name)
    this.#working.set(id, { cancelled: false, nonce })
    this.#body.reached('call-read')
    const deed = textAt(args, 'deed')
    const work = { ms: numberAt(args, 'ms') ?? 0, n: numberAt(args, 'n') ?? 1 }
    this.#do({ deed: isDeed(deed) ? deed : 'echo', ...work }, { id, nonce, token: rawToken(text) })
  }

  #do(work: Work, call: Called): void {
    const { deed, ms, n } = work
    switch (deed) {
      case 'hang':
        return
      case 'exit-before':
        return this.#body.after(ms, () => this.#body.exit(1))
      case 'progress':
        return this.#steps(call, work, 1)
      case 'ask':
        return this.#body.after(ms, () => this.#ask(call))
      case 'log':
        this.#notify(
          'notifications/message',
          `{"level":"error","data":"n:${call.nonce}; ${this.#stamp()}"}`,
          call,
        )
        return this.#body.after(ms, () => this.#answer(call, ''))
      case 'junk':
        this.#body.junk()
        return this.#body.after(ms, () => this.#answer(call, ''))
      case 'big':
        return this.#body.after(ms, () => this.#answer(call, 'x'.repeat(n * 1024)))
      case 'refuse':
        return this.#body.after(ms, () =>
          this.#say(call, `"error":{"code":-32050,"message":"n:${call.nonce};"}`),
        )
      case 'echo':
        return this.#body.after(ms, () => this.#answer(call, ''))
      case 'exit-half':
      case 'exit-with':
      case 'oversize':
      case 'twice':
      case 'wrong-id':
        return this.#body.after(ms, () => {
          this.#spoilt ??= deed
          this.#answer(call, '')
        })
    }
  }

  #steps(call: Called, work: Work, step: number): void {
    this.#body.after(work.ms / (work.n + 1), () => {
      if (step > work.n) return this.#answer(call, '')
      if (call.token !== undefined) {
        const said = `"message":"n:${call.nonce}; ${this.#stamp()}"`
        const params = `{"progressToken":${call.token},"progress":${step},${said}}`
        this.#notify('notifications/progress', params, call)
        this.#body.reached('progress-told')
      }
      this.#steps(call, work, step + 1)
    })
  }

  /** Asks the client whatever it declared that it can be asked. */
  #ask(call: Called): void {
    const can = ['sampling', 'elicitation', 'roots'].find((name) => at(this.#declared, name) !== undefined)
    if (can === undefined) return this.#answer(call, 'nobody to ask')
    const method =
      { sampling: 'sampling/createMessage', elicitation: 'elicitation/create' }[can] ?? 'roots/list'
    const id = `"q${++this.#questions}"`
    this.#asked.set(id, { nonce: call.nonce, go: (said) => this.#answer(call, said) })
    const params = `{"_meta":{"about":"n:${call.nonce}; ${this.#stamp()}"}}`
    const text = `{"jsonrpc":"2.0","id":${id},"method":"${method}","params":${params}}`
    if (this.#body.say(text, call.id)) return
    this.#asked.delete(id)
    this.#answer(call, 'no way to ask')
  }

  #answer(call: Called, more: string): void {
    const about = `n:${call.nonce}; ${this.#stamp()}`
    this.#say(call, `"result":{"content":[],"about":"${about}","more":${JSON.stringify(more)}}`)
  }

  #say(call: Called, rest: string): void {
    const working = this.#working.get(call.id)
    if (working === undefined || working.nonce !== call.nonce) return
    this.#working.delete(call.id)
    this.#respond(call.id, rest)
  }

  /** The one place from which answers leave. */
  #respond(id: string, rest: string): void {
    const spoilt = this.#spoilt
    this.#spoilt = undefined
    const text = `{"jsonrpc":"2.0","id":${id},${rest}}`
    if (spoilt === undefined) this.#body.say(text, id)
    else this.#spoil(spoilt, id, rest, text)
  }

  #spoil(how: Spoilt, id: string, rest: string, text: string): void {
    switch (how) {
      case 'twice':
        this.#body.say(text, id)
        return void this.#body.say(text, id)
      case 'wrong-id':
        return void this.#body.say(`{"jsonrpc":"2.0","id":"nobody ${this.#said}",${rest}}`, id)
      case 'oversize': {
        const padding = 'o'.repeat(this.#facts.lineBytesMax)
        return void this.#body.say(`{"jsonrpc":"2.0","id":${id},"result":{"o":"${padding}"}}`, id)
      }
      case 'exit-with':
        this.#body.say(text, id)
        return this.#body.exit(0)
      case 'exit-half':
        this.#body.sayHalf(text, id)
        return this.#body.exit(1)
    }
  }

  #result(id: string, result: string): void {
    this.#respond(id, `"result":${result}`)
  }

  #notify(method: string, params: string, call?: Called): boolean {
    return this.#body.say(`{"jsonrpc":"2.0","method":"${method}","params":${params}}`, call?.id)
  }

  /** What is said in order can be seen to have come in order. */
  #stamp(): string {
    return `@${this.#body.name}/${++this.#said};`
  }
}

/** A call that it is at. */
interface Called {
  readonly id: string
  readonly nonce: string
  readonly token: string | undefined
}
