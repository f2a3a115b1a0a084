// A scripted server of the revisions with sessions.

import { type ScriptHost, type Spoilt, endWith } from './script-host.js'
import { type ServerScript, setOf } from './server-script.js'
import { revisionIn } from './request-meta.js'
import { at, noncesIn, parse, rawId, rawRequestId, textAt } from './json.js'
import type { Ledger } from './ledger.js'
import { Opening } from './opening.js'
import type { ServerFacts } from './server-facts.js'
import { ServerOutput } from './server-output.js'
import { RunningCalls } from './running-calls.js'

/** One instance of it. */
export class HandshakeScript implements ServerScript {
  readonly #host: ScriptHost
  readonly #facts: ServerFacts
  readonly #ledger: Ledger
  readonly #output: ServerOutput
  readonly #opening: Opening
  readonly #calls: RunningCalls
  readonly #followed = new Set<string>()
  readonly #clients = new Set<string>()
  #declared: unknown
  #initialized = false

  constructor(host: ScriptHost, facts: ServerFacts, ledger: Ledger) {
    this.#host = host
    this.#facts = facts
    this.#ledger = ledger
    this.#output = new ServerOutput(host, facts.lineBytesMax)
    this.#opening = new Opening(host, facts, this.#output)
    this.#calls = new RunningCalls({ host, facts, ledger, output: this.#output })
  }

  get isUp(): boolean {
    return this.#initialized && this.#host.stays
  }

  get isMute(): boolean {
    return this.#opening.isMute
  }

  get declared(): string {
    const said = this.#declared
    return setOf(typeof said === 'object' && said !== null ? Object.keys(said) : [])
  }

  serves(client: string): boolean {
    return this.#clients.has(client)
  }

  blurt(how: Spoilt): void {
    this.#output.spoil(how)
    if (!this.#opening.release() && !this.#calls.hurry()) endWith(this.#host, how)
  }

  mend(): void {
    this.#output.mend()
    this.#opening.release()
  }

  receive(text: string): void {
    const message = parse(text)
    const method = textAt(message, 'method')
    const id = rawId(text)
    if (at(message, 'jsonrpc') !== '2.0') this.#ledger.fail('bad-line', `${this.#host.name} was told ${text}`)
    else if (method === undefined) this.#calls.answered(message, id, text)
    else if (at(message, 'id') === undefined) this.#told(method, text)
    else if (id !== undefined) this.#request(method, id, message, text)
  }

  /** A client that has a session and closes a stream may come back. */
  left(): void {}

  listChanged(kind: 'tools' | 'prompts' | 'resources'): boolean {
    return !this.#initialized || this.#output.notify(`notifications/${kind}/list_changed`, '{}')
  }

  updated(): void {
    for (const uri of this.#followed) {
      const params = `{"uri":${JSON.stringify(uri)},"by":"${this.#output.stamp()}"}`
      this.#output.notify('notifications/resources/updated', params)
    }
  }

  log(): void {
    if (!this.#initialized) return
    this.#output.notify('notifications/message', `{"level":"error","data":"${this.#output.stamp()}"}`)
  }

  #request(method: string, id: string, message: unknown, text: string): void {
    for (const nonce of noncesIn(text)) this.#clients.add(nonce.split('-')[0] ?? '')
    if (this.#calls.has(id)) {
      this.#ledger.fail('id-reused', `${this.#host.name} is still at ${id} and is asked ${text}`)
    }
    if (method !== 'server/discover' && isOfNoSession(message))
      this.#ledger.fail('wrong-era', `${this.#host.name} has sessions and was asked ${text}`)
    switch (method) {
      case 'server/discover':
        return this.#output.respond(id, '"error":{"code":-32601,"message":"no such method"}')
      case 'initialize':
        return this.#initialize(id, message)
      case 'tools/call':
        if (!this.#facts.hasTool(textAt(message, 'params', 'name'))) return this.#notThere(id, text)
        return this.#calls.take(id, message, text, this.#declared)
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
          return this.#output.respond(id, '"error":{"code":-32603,"message":"not now"}')
        return this.#result(id, this.#facts.listed(method, message))
    }
  }

  /** Nothing but `work` is ever called of what it has. One that could not list may be asked what it had once. */
  #notThere(id: string, text: string): void {
    if (!this.#facts.struck) this.#ledger.fail('gone-tool', `${this.#host.name} was asked ${text}`)
    this.#output.respond(id, '"error":{"code":-32602,"message":"no such tool"}')
  }

  #read(id: string, method: string, message: unknown): void {
    this.#host.after(1, () => this.#result(id, this.#facts.read(method, message, this.#output.stamp())))
  }

  #noResource(id: string): void {
    this.#output.respond(id, '"error":{"code":-32002,"message":"no such resource"}')
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
    this.#opening.begin(() => this.#result(id, this.#facts.initialized(version)))
  }

  #told(method: string, text: string): void {
    if (method === 'notifications/initialized') {
      this.#initialized = true
      this.#host.reached('initialized-read')
    } else if (method === 'notifications/cancelled') this.#calls.cancelled(rawRequestId(text), text)
  }

  #result(id: string, result: string): void {
    this.#output.respond(id, `"result":${result}`)
  }
}

/** What a request to a server with sessions does not say. */
function isOfNoSession(message: unknown): boolean {
  const params = at(message, 'params')
  return (
    revisionIn(message) !== undefined ||
    at(params, 'requestState') !== undefined ||
    at(params, 'inputResponses') !== undefined
  )
}
