// A scripted server of the handshake revisions.

import { isTool } from './consent.js'
import { type Body, type Spoilt, endWith } from './body.js'
import { type Brain, setOf } from './brain.js'
import { claimIn } from './claim.js'
import { at, noncesIn, parse, rawId, rawRequestId, textAt } from './json.js'
import type { Ledger } from './ledger.js'
import type { ServerFacts } from './server-facts.js'
import { Speech } from './speech.js'
import { Workshop } from './workshop.js'

/** One instance of it. */
export class HandshakeBrain implements Brain {
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

  get isUp(): boolean {
    return this.#initialized && this.#body.stays
  }

  get isMute(): boolean {
    return this.#isMute && this.#body.stays
  }

  get declared(): string {
    const said = this.#declared
    return setOf(typeof said === 'object' && said !== null ? Object.keys(said) : [])
  }

  serves(client: string): boolean {
    return this.#clients.has(client)
  }

  blurt(how: Spoilt): void {
    this.#speech.spoil(how)
    if (this.#held !== undefined) return this.release()
    if (!this.#workshop.hurry()) endWith(this.#body, how)
  }

  release(): void {
    const held = this.#held
    this.#held = undefined
    held?.()
  }

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

  /** A client that has a session and closes a stream may come back. */
  left(): void {}

  listChanged(kind: 'tools' | 'prompts' | 'resources'): boolean {
    return !this.#initialized || this.#speech.notify(`notifications/${kind}/list_changed`, '{}')
  }

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
    if (method !== 'server/discover' && isOfNoSession(message))
      this.#ledger.fail('wrong-era', `${this.#body.name} has sessions and was asked ${text}`)
    switch (method) {
      case 'server/discover':
        return this.#speech.respond(id, '"error":{"code":-32601,"message":"no such method"}')
      case 'initialize':
        return this.#initialize(id, message)
      case 'tools/call':
        if (!isTool(textAt(message, 'params', 'name'))) return this.#notThere(id, text)
        return this.#workshop.take(id, message, text, this.#declared)
      case 'resources/subscribe':
      case 'resources/unsubscribe':
        return this.#follow(id, textAt(message, 'params', 'uri') ?? '', method === 'resources/subscribe')
      case 'resources/read':
        if (!this.#facts.has(textAt(message, 'params', 'uri') ?? '')) return this.#noResource(id)
        return this.#read(id, method, message)
      case 'prompts/get':
      case 'completion/complete':
        return this.#read(id, method, message)
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

  #read(id: string, method: string, message: unknown): void {
    this.#body.after(1, () => this.#result(id, this.#facts.read(method, message, this.#speech.stamp())))
  }

  #noResource(id: string): void {
    this.#speech.respond(id, '"error":{"code":-32002,"message":"no such resource"}')
  }

  #follow(id: string, uri: string, on: boolean): void {
    if (!this.#facts.has(uri)) return this.#noResource(id)
    if (on) this.#ledger.follows(uri)
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
    } else if (method === 'notifications/cancelled') this.#workshop.cancelled(rawRequestId(text), text)
  }

  #result(id: string, result: string): void {
    this.#speech.respond(id, `"result":${result}`)
  }
}

/** What a request to a server with sessions does not say. */
function isOfNoSession(message: unknown): boolean {
  const params = at(message, 'params')
  return (
    claimIn(message) !== undefined ||
    at(params, 'requestState') !== undefined ||
    at(params, 'inputResponses') !== undefined
  )
}
