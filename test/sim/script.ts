// A scripted MCP server of either era: its responses to the messages that it receives. `StdioServer` and `HttpServer`
// carry them.

import type { SimContext } from './byte-flow.js'
import { SUBSCRIPTION, at, clientOf, noncesIn, parse, rawId, rawRequestId, textAt } from './json.js'
import { STATELESS, capabilitiesIn, revisionIn } from './request-meta.js'
import { type Rounds, askedBy } from './rounds.js'
import { RunningCalls } from './running-calls.js'
import { type ServerFacts, isList } from './server.js'

export type Milestone =
  'started' | 'initialize-read' | 'initialize-answered' | 'initialized-read' | 'call-read' | 'cancel-read'

export type Spoilt = 'twice' | 'wrong-id' | 'oversize' | 'exit-with' | 'exit-half'

export interface ScriptHost {
  /** The server and the number of the process, as in `s0#3`. */
  readonly name: string
  readonly facts: ServerFacts
  readonly context: SimContext
  /** The process or session runs, and was not asked to end. */
  readonly stays: boolean
  /** Sends a message that belongs to the request `about`. False when no stream to the client is open. */
  say(text: string, about?: string): boolean
  sayHalf(text: string, about?: string): void
  junk(): void
  after(delayMs: number, run: () => void): void
  exit(code: number): void
  /** Tests may wait for milestones. */
  reached(milestone: Milestone): void
}

/** Sends the messages of one instance, and spoils some of them. */
export class ServerOutput {
  readonly #host: ScriptHost
  spoilt: Spoilt | undefined
  #said = 0

  constructor(host: ScriptHost) {
    this.#host = host
  }

  /** `rest` is the answer without its envelope and id. */
  respond(id: string, rest: string): void {
    const how = this.spoilt
    this.spoilt = undefined
    const written = how === 'wrong-id' ? `"nobody ${this.#said}"` : id
    const body = how === 'oversize' ? `"result":{"o":"${'o'.repeat(this.#host.facts.lineBytesMax)}"}` : rest
    const text = `{"jsonrpc":"2.0","id":${written},${body}}`
    if (how === 'exit-half') this.#host.sayHalf(text, id)
    else this.#host.say(text, id)
    if (how === 'twice') this.#host.say(text, id)
    if (how === 'exit-with' || how === 'exit-half') this.#host.exit(how === 'exit-half' ? 1 : 0)
  }

  /** `about` is the id of the request that it belongs to. False when no stream is open. */
  notify(method: string, params: string, about?: string): boolean {
    return this.#host.say(`{"jsonrpc":"2.0","method":"${method}","params":${params}}`, about)
  }

  /** Numbers the messages, so that clients can check their order. */
  stamp(): string {
    return `@${this.#host.name}/${++this.#said};`
  }
}

export class Script {
  readonly #host: ScriptHost
  readonly #facts: ServerFacts
  readonly #output: ServerOutput
  readonly #calls: RunningCalls
  /** Undefined for a server with sessions. */
  readonly #rounds: Rounds | undefined
  readonly #followed = new Set<string>()
  readonly #clients = new Set<string>()
  /** The open `subscriptions/listen` requests by raw id. */
  readonly #listens = new Map<string, { readonly hasTools: boolean; readonly uris: readonly string[] }>()
  #declared: unknown
  #isOpen = false
  #isMute = false
  #held: (() => void) | undefined

  constructor(host: ScriptHost) {
    this.#host = host
    this.#facts = host.facts
    this.#output = new ServerOutput(host)
    this.#rounds = host.facts.plan.isStateless === true ? host.facts.roundsOf(host.context.ledger) : undefined
    this.#calls = new RunningCalls(host, this.#output, this.#rounds)
  }

  get isUp(): boolean {
    return this.#isOpen && this.#host.stays
  }

  /** It runs, and its answer to `initialize` was lost, so the proxy waits until the start times out. */
  get isMute(): boolean {
    return this.#isMute && this.#host.stays
  }

  /** The client capabilities that it received, as one text. */
  get declared(): string {
    return setOf(Object.keys(this.#declared ?? {}))
  }

  serves(client: string): boolean {
    return this.#clients.has(client)
  }

  /** Spoils the answer of the call in progress, or else the next answer. */
  blurt(how: Spoilt): void {
    this.#output.spoilt ??= how
    if (this.#release() || this.#calls.hurry()) return
    if (how === 'exit-half') this.#host.sayHalf('{"jsonrpc":"2.0","method":"notifications/message"}')
    if (how === 'exit-half' || how === 'exit-with') this.#host.exit(how === 'exit-half' ? 1 : 0)
  }

  mend(): void {
    this.#output.spoilt = undefined
    this.#release()
  }

  receive(text: string): void {
    const { toServer } = this.#host.context.wrong
    if (toServer === undefined) return this.#receive(text)
    const pass = (changed: string, delayMs?: number): void => {
      if (delayMs === undefined) this.#receive(changed)
      else this.#host.after(delayMs, () => this.#receive(changed))
    }
    const reply = (answer: string): void => void this.#host.say(answer, rawId(answer))
    toServer(text, { to: this.#host.name, pass, reply })
  }

  /** The client closed the stream of a request. A client with a session may resume it. */
  left(id: string): void {
    if (this.#rounds !== undefined) this.#cancelled(id, `nobody listens to the stream of ${id}`)
  }

  /** False when no stream is open. */
  toolsChanged(): boolean {
    const method = 'notifications/tools/list_changed'
    if (this.#rounds === undefined) return !this.#isOpen || this.#output.notify(method, '{}')
    for (const [id, { hasTools }] of this.#listens) if (hasTools) this.#tell(id, method, '')
    return true
  }

  updated(): void {
    const method = 'notifications/resources/updated'
    const about = (uri: string): string => `"uri":${JSON.stringify(uri)},"by":"${this.#output.stamp()}"`
    for (const uri of this.#followed) this.#output.notify(method, `{${about(uri)}}`)
    for (const [id, { uris }] of this.#listens)
      for (const uri of uris) this.#tell(id, method, `${about(uri)},`)
  }

  /** Without a session, log messages need a request that asks for them. */
  log(): void {
    if (!this.#isOpen || this.#rounds !== undefined) return
    this.#output.notify('notifications/message', `{"level":"error","data":"${this.#output.stamp()}"}`)
  }

  #receive(text: string): void {
    const message = parse(text)
    const method = textAt(message, 'method')
    const id = at(message, 'id') === undefined ? undefined : rawId(text)
    if (at(message, 'jsonrpc') !== '2.0')
      this.#host.context.ledger.fail('bad-line', `${this.#host.name} was told ${text}`)
    else if (method === 'notifications/cancelled') this.#cancelled(rawRequestId(text) ?? '', text)
    else if (method !== undefined && id !== undefined) this.#request(method, id, message, text)
    else if (this.#rounds !== undefined) this.#wrong(`has no sessions and was told ${text}`)
    else if (method === undefined) this.#calls.answered(message, id, text)
    else if (method === 'notifications/initialized') {
      this.#isOpen = true
      this.#host.reached('initialized-read')
    }
  }

  #request(method: string, id: string, message: unknown, text: string): void {
    for (const nonce of noncesIn(text)) this.#clients.add(clientOf(nonce))
    const { ledger } = this.#host.context
    if (this.#calls.has(id) || this.#listens.has(id))
      ledger.fail('id-reused', `${this.#host.name} is still at ${id} and is asked ${text}`)
    if (!this.#isOfEra(method, id, message, text)) return
    switch (method) {
      case 'tools/call':
        if (this.#facts.hasTool(textAt(message, 'params', 'name')))
          return this.#calls.take(id, message, text, this.#declared)
        // Clients call no other tool, unless a tool list from an earlier run still has it.
        if (!this.#facts.struck) ledger.fail('gone-tool', `${this.#host.name} was asked ${text}`)
        return this.#refuse(id, -32602, 'no such tool')
      case 'resources/read':
        if (this.#facts.has(textAt(message, 'params', 'uri') ?? ''))
          return this.#read(method, id, message, text)
        if (at(message, 'params', 'requestState') !== undefined)
          ledger.fail('foreign-state', `${this.#host.name} has no such resource: ${text}`)
        return this.#noResource(id)
      case 'prompts/get':
      case 'completion/complete':
        return this.#read(method, id, message, text)
    }
    if (this.#facts.refusesLists && method.endsWith('/list')) return this.#refuse(id, -32603, 'not now')
    if (this.#rounds === undefined) return this.#requestInSession(method, id, message)
    if (method === 'server/discover')
      return this.#open(() => {
        this.#isOpen = true
        this.#output.respond(id, `"result":${this.#facts.described()}`)
      })
    if (method === 'subscriptions/listen') return this.#listen(id, at(message, 'params', 'notifications'))
    if (isList(method)) return this.#result(id, this.#facts.listed(method, message), true)
    this.#wrong(`has no sessions and was told ${text}`)
  }

  /** Reports a request of the wrong era. False when it must not be served. */
  #isOfEra(method: string, id: string, message: unknown, text: string): boolean {
    if (this.#rounds === undefined) {
      const isReturn = ['requestState', 'inputResponses'].some(
        (name) => at(message, 'params', name) !== undefined,
      )
      if (method !== 'server/discover' && (isReturn || revisionIn(message) !== undefined))
        this.#wrong(`has sessions and was asked ${text}`)
      return true
    }
    // Until the proxy knows the era, it may take the server for one with sessions.
    const isProbe = method === 'initialize' && this.#facts.plan.protocol === 'auto'
    const isKnown = revisionIn(message) === STATELESS && capabilitiesIn(message) !== undefined
    if (isProbe) this.#refuse(id, -32601, 'no such method')
    else if (!isKnown) this.#wrong(`has no sessions and was told ${text}`)
    return isKnown && !isProbe
  }

  #requestInSession(method: string, id: string, message: unknown): void {
    const uri = textAt(message, 'params', 'uri') ?? ''
    switch (method) {
      case 'server/discover':
        return this.#refuse(id, -32601, 'no such method')
      case 'initialize': {
        this.#declared = at(message, 'params', 'capabilities')
        const version = textAt(message, 'params', 'protocolVersion') ?? ''
        return this.#open(() => this.#result(id, this.#facts.initialized(version)))
      }
      case 'resources/subscribe':
        if (!this.#facts.has(uri)) return this.#noResource(id)
        this.#host.context.ledger.followed.add(uri)
        this.#followed.add(uri)
        return this.#result(id, '{}')
      case 'resources/unsubscribe':
        if (!this.#facts.has(uri)) return this.#noResource(id)
        this.#followed.delete(uri)
        return this.#result(id, '{}')
      default:
        return this.#result(id, this.#facts.listed(method, message))
    }
  }

  /** Handles `initialize`. Its answer can be delayed or lost. */
  #open(answer: () => void): void {
    this.#held = (): void => {
      // The proxy ignores an answer with an unknown id.
      this.#isMute = this.#output.spoilt === 'wrong-id'
      answer()
      this.#host.reached('initialize-answered')
    }
    this.#host.after(this.#facts.plan.initMs, () => {
      if (!this.#facts.holdsInitialize) this.#release()
    })
    this.#host.reached('initialize-read')
  }

  /** Answers `initialize` now. False when it has not come, or has been answered. */
  #release(): boolean {
    const held = this.#held
    this.#held = undefined
    held?.()
    return held !== undefined
  }

  /** A read may require answers of the client first. */
  #read(method: string, id: string, message: unknown, text: string): void {
    const asked = this.#rounds === undefined ? undefined : this.#asked(this.#rounds, message, text)
    this.#host.after(1, () => {
      if (asked !== undefined) return this.#output.respond(id, `"result":${asked}`)
      this.#result(id, this.#facts.read(method, message, this.#output.stamp()), method === 'resources/read')
    })
  }

  #asked(rounds: Rounds, message: unknown, text: string): string | undefined {
    const asks = asksIn(message)
    if (asks === undefined) return undefined
    const [about = ''] = noncesIn(textAt(message, 'params', '_meta', 'about') ?? '')
    const came = { instance: this.#host.name, about, nonce: asks.nonce, message, text, isRead: true }
    const asked = rounds.next(
      asks.nonce,
      rounds.returned(came) ?? askedBy(asks),
      capabilitiesIn(message) ?? [],
    )
    if (asked !== undefined) this.#host.context.ledger.note(about, { mayStandStill: true })
    return asked
  }

  #listen(id: string, wanted: unknown): void {
    const uris = at(wanted, 'resourceSubscriptions')
    const known = Array.isArray(uris) ? uris.map(String).filter((uri) => this.#facts.has(uri)) : []
    const kinds = ['tools', 'prompts', 'resources'].filter(
      (kind) => at(wanted, `${kind}ListChanged`) === true,
    )
    this.#listens.set(id, { hasTools: kinds.includes('tools'), uris: known })
    for (const uri of known) this.#host.context.ledger.followed.add(uri)
    const members = [
      ...kinds.map((kind) => `"${kind}ListChanged":true`),
      ...(Array.isArray(uris) ? [`"resourceSubscriptions":${JSON.stringify(known)}`] : []),
    ]
    const about = `"notifications":{${members.join(',')}},`
    this.#tell(id, 'notifications/subscriptions/acknowledged', about)
  }

  #tell(id: string, method: string, members: string): void {
    this.#output.notify(method, `{${members}"_meta":{"${SUBSCRIPTION}":${id}}}`, id)
  }

  #cancelled(id: string, text: string): void {
    if (!this.#listens.delete(id)) this.#calls.cancelled(id, text)
  }

  /** Without sessions, results have `resultType` and cache hints. */
  #result(id: string, result: string, isKept = false): void {
    if (this.#rounds === undefined) return this.#output.respond(id, `"result":${result}`)
    const head = `{"resultType":"complete"${isKept ? ',"ttlMs":0,"cacheScope":"private"' : ''}`
    this.#output.respond(id, `"result":${result === '{}' ? `${head}}` : `${head},${result.slice(1)}`}`)
  }

  #refuse(id: string, code: number, message: string): void {
    const said = this.#rounds === undefined ? message : 'not here'
    this.#output.respond(id, `"error":{"code":${code},"message":"${said}"}`)
  }

  #noResource(id: string): void {
    this.#refuse(id, this.#rounds === undefined ? -32002 : -32602, 'no such resource')
  }

  #wrong(what: string): void {
    this.#host.context.ledger.fail('wrong-era', `${this.#host.name} ${what}`)
  }
}

/** A key for clients with the same capabilities. */
export const setOf = (capabilities: readonly string[]): string => capabilities.toSorted().join(' ')

/** The call that a read belongs to, and the number that determines its questions. */
function asksIn(message: unknown): { nonce: string; n: number } | undefined {
  const text = textAt(message, 'params', 'uri') ?? textAt(message, 'params', 'arguments', 'ask') ?? ''
  const [, n, nonce] = /ask\/(\d)\/n:([a-z]\d+-\d+);/.exec(text) ?? []
  return nonce === undefined ? undefined : { nonce, n: Number(n) }
}
