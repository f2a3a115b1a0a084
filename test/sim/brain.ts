// A scripted MCP server: what it says to what it is told. How that travels is the
// business of whoever has it.

import type { Body } from './body.js'
import { at, noncesIn, parse, rawId, textAt } from './json.js'
import type { Ledger } from './ledger.js'
import type { ServerFacts } from './server-facts.js'
import { Speech, type Spoilt } from './speech.js'
import { Workshop } from './workshop.js'

/** One text for all who can be asked the same. */
export function setOf(capabilities: readonly string[]): string {
  return capabilities.toSorted().join(' ')
}

/** One instance of a scripted server. */
export class Brain {
  readonly #body: Body
  readonly #facts: ServerFacts
  readonly #ledger: Ledger
  readonly #speech: Speech
  readonly #workshop: Workshop
  readonly #followed = new Set<string>()
  readonly #clients = new Set<string>()
  #declared: unknown
  #initialized = false
  #isMute = false
  /** Says nothing to `initialize` until it is told to go on. */
  #held: (() => void) | undefined

  constructor(body: Body, facts: ServerFacts, ledger: Ledger) {
    this.#body = body
    this.#facts = facts
    this.#ledger = ledger
    this.#speech = new Speech(body, facts.lineBytesMax)
    this.#workshop = new Workshop({ body, facts, ledger, speech: this.#speech })
  }

  /** It runs, and the proxy has opened it. */
  get isUp(): boolean {
    return this.#initialized && this.#body.stays
  }

  /** It runs, and its answer to `initialize` was lost: the proxy waits for it as long as a start may take. */
  get isMute(): boolean {
    return this.#isMute && this.#body.stays
  }

  /** What it was told that its clients can do, as one text. */
  get declared(): string {
    const said = this.#declared
    return setOf(typeof said === 'object' && said !== null ? Object.keys(said) : [])
  }

  /** Whether it has worked for this client. */
  serves(client: string): boolean {
    return this.#clients.has(client)
  }

  /** Ends what it is at with an answer that is spoilt; the next answer, when it is at nothing. */
  blurt(how: Spoilt): void {
    this.#speech.spoil(how)
    if (this.#held !== undefined) return this.release()
    if (this.#workshop.hurry()) return
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
    this.#speech.mend()
    this.release()
  }

  receive(text: string): void {
    const message = parse(text)
    const method = textAt(message, 'method')
    const id = rawId(text)
    if (at(message, 'jsonrpc') !== '2.0') this.#ledger.fail('bad-line', `${this.#body.name} was told ${text}`)
    else if (method === undefined) this.#workshop.answered(message, id, text)
    else if (at(message, 'id') === undefined) this.#told(method, text)
    else if (id !== undefined) this.#request(method, id, message, text)
  }

  /** Says that a list has changed; false when there is no way to say it now. */
  listChanged(kind: 'tools' | 'prompts' | 'resources'): boolean {
    return !this.#initialized || this.#speech.notify(`notifications/${kind}/list_changed`, '{}')
  }

  /** Says that resources have changed to whoever follows them. */
  updated(): void {
    for (const uri of this.#followed) {
      const params = `{"uri":${JSON.stringify(uri)},"by":"${this.#speech.stamp()}"}`
      this.#speech.notify('notifications/resources/updated', params)
    }
  }

  log(): void {
    if (!this.#initialized) return
    this.#speech.notify('notifications/message', `{"level":"error","data":"${this.#speech.stamp()}"}`)
  }

  #request(method: string, id: string, message: unknown, text: string): void {
    for (const nonce of noncesIn(text)) this.#clients.add(nonce.split('-')[0] ?? '')
    if (this.#workshop.has(id)) {
      this.#ledger.fail('id-reused', `${this.#body.name} is still at ${id} and is asked ${text}`)
    }
    switch (method) {
      case 'initialize':
        return this.#initialize(id, message)
      case 'tools/call':
        if (textAt(message, 'params', 'name') !== 'work') return this.#notThere(id, text)
        return this.#workshop.take(id, message, text, this.#declared)
      case 'resources/subscribe':
      case 'resources/unsubscribe':
        return this.#follow(id, textAt(message, 'params', 'uri') ?? '', method === 'resources/subscribe')
      case 'resources/read':
      case 'prompts/get':
      case 'completion/complete':
        return this.#body.after(1, () =>
          this.#result(id, this.#facts.read(method, message, this.#speech.stamp())),
        )
      default:
        if (this.#facts.refusesLists && method.endsWith('/list'))
          return this.#speech.respond(id, '"error":{"code":-32603,"message":"not now"}')
        return this.#result(id, this.#facts.listed(method, message))
    }
  }

  /** Nothing but `work` is ever called of what it has. One that could not list may be asked what it had once. */
  #notThere(id: string, text: string): void {
    if (!this.#facts.struck) this.#ledger.fail('gone-tool', `${this.#body.name} was asked ${text}`)
    this.#speech.respond(id, '"error":{"code":-32602,"message":"no such tool"}')
  }

  #follow(id: string, uri: string, on: boolean): void {
    if (!uri.startsWith(`sim://${this.#facts.plan.name}/`))
      return this.#speech.respond(id, `"error":{"code":-32002,"message":"no such resource"}`)
    if (on) this.#followed.add(uri)
    else this.#followed.delete(uri)
    this.#result(id, '{}')
  }

  #initialize(id: string, message: unknown): void {
    this.#declared = at(message, 'params', 'capabilities')
    const version = textAt(message, 'params', 'protocolVersion') ?? ''
    this.#held = (): void => {
      this.#isMute = this.#speech.losesAnswer
      this.#result(id, this.#facts.initialized(version))
      this.#body.reached('initialize-answered')
    }
    this.#body.after(this.#facts.plan.initMs, () => {
      if (!this.#facts.holdsInitialize) this.release()
    })
    this.#body.reached('initialize-read')
  }

  #told(method: string, text: string): void {
    if (method === 'notifications/initialized') {
      this.#initialized = true
      this.#body.reached('initialized-read')
    } else if (method === 'notifications/cancelled') this.#workshop.cancelled(text)
  }

  #result(id: string, result: string): void {
    this.#speech.respond(id, `"result":${result}`)
  }
}
