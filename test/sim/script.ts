// A scripted MCP server of either era: what it says in response to what it receives. `StdioServer` and `HttpServer` carry it.

import type { SimContext } from './byte-flow.js'
import { at, clientOf, noncesIn, parse, rawId, rawRequestId, textAt } from './json.js'
import { STATELESS, SUBSCRIPTION, capabilitiesIn, revisionIn } from './request-meta.js'
import { type Rounds, askedBy } from './rounds.js'
import { RunningCalls } from './running-calls.js'
import { type ServerFacts, isList } from './server.js'

export type Milestone =
  'started' | 'initialize-read' | 'initialize-answered' | 'initialized-read' | 'call-read' | 'cancel-read'

export type Spoilt = 'twice' | 'wrong-id' | 'oversize' | 'exit-with' | 'exit-half'

/** What the process or the session of a scripted server offers to its script. */
export interface ScriptHost {
  /** `s0#3`: the server, and which of its processes. */
  readonly name: string
  readonly facts: ServerFacts
  readonly context: SimContext
  /** It runs, and nobody has asked it to end. */
  readonly stays: boolean
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

/** The messages of one instance: all of them leave here, and may be spoilt here. */
export class ServerOutput {
  readonly #host: ScriptHost
  /** How the next answer is spoilt. */
  spoilt: Spoilt | undefined
  #said = 0

  constructor(host: ScriptHost) {
    this.#host = host
  }

  /** `rest` is the answer without its envelope and id. */
  respond(id: string, rest: string): void {
    const how = this.spoilt
    this.spoilt = undefined
    const text = `{"jsonrpc":"2.0","id":${id},${rest}}`
    switch (how) {
      case undefined:
        return void this.#host.say(text, id)
      case 'twice':
        this.#host.say(text, id)
        return void this.#host.say(text, id)
      case 'wrong-id':
        return void this.#host.say(`{"jsonrpc":"2.0","id":"nobody ${this.#said}",${rest}}`, id)
      case 'oversize': {
        const padding = 'o'.repeat(this.#host.facts.lineBytesMax)
        return void this.#host.say(`{"jsonrpc":"2.0","id":${id},"result":{"o":"${padding}"}}`, id)
      }
      case 'exit-with':
        this.#host.say(text, id)
        return this.#host.exit(0)
      case 'exit-half':
        this.#host.sayHalf(text, id)
        return this.#host.exit(1)
    }
  }

  /** False when there is no way to say it now; `about` is the id of the call that it belongs to. */
  notify(method: string, params: string, about?: string): boolean {
    return this.#host.say(`{"jsonrpc":"2.0","method":"${method}","params":${params}}`, about)
  }

  /** What is said in order can be seen to have come in order. */
  stamp(): string {
    return `@${this.#host.name}/${++this.#said};`
  }
}

export class Script {
  readonly #host: ScriptHost
  readonly #facts: ServerFacts
  readonly #output: ServerOutput
  readonly #calls: RunningCalls
  /** What a server without sessions has asked; undefined for one with sessions. */
  readonly #rounds: Rounds | undefined
  readonly #followed = new Set<string>()
  readonly #clients = new Set<string>()
  /** What requests that stay open want to hear of, by their ids as they were written. */
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

  /** It runs, and the proxy has opened it. */
  get isUp(): boolean {
    return this.#isOpen && this.#host.stays
  }

  /** It runs, and its answer to what opens it was lost: the proxy waits for it as long as a start may take. */
  get isMute(): boolean {
    return this.#isMute && this.#host.stays
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

  /** Nobody listens any more on the stream of this request; a client that has a session may come back. */
  left(id: string): void {
    if (this.#rounds !== undefined) this.#cancelled(id, `nobody listens to the stream of ${id}`)
  }

  /** Says that the list of tools has changed; false when there is no way to say it now. */
  toolsChanged(): boolean {
    const method = 'notifications/tools/list_changed'
    if (this.#rounds === undefined) return !this.#isOpen || this.#output.notify(method, '{}')
    for (const [id, { hasTools }] of this.#listens) if (hasTools) this.#tell(id, method, '')
    return true
  }

  /** Says that resources have changed to whoever follows them. */
  updated(): void {
    const method = 'notifications/resources/updated'
    const about = (uri: string): string => `"uri":${JSON.stringify(uri)},"by":"${this.#output.stamp()}"`
    for (const uri of this.#followed) this.#output.notify(method, `{${about(uri)}}`)
    for (const [id, { uris }] of this.#listens)
      for (const uri of uris) this.#tell(id, method, `${about(uri)},`)
  }

  /** Without a session nobody has asked for it. */
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
    else if (method === 'notifications/cancelled') this.#cancelled(rawRequestId(text), text)
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
        // Nothing but `work` is ever called of what it has. One that could not list may be asked what it had once.
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
    if (method === 'server/discover') return this.#open(() => this.#describe(id))
    if (method === 'subscriptions/listen') return this.#listen(id, at(message, 'params', 'notifications'))
    if (isList(method)) return this.#result(id, this.#facts.listed(method, message), true)
    this.#wrong(`has no sessions and was told ${text}`)
  }

  /** Says what is wrong with a request of another era; false when it is not served for that. */
  #isOfEra(method: string, id: string, message: unknown, text: string): boolean {
    if (this.#rounds === undefined) {
      if (method !== 'server/discover' && isOfNoSession(message))
        this.#wrong(`has sessions and was asked ${text}`)
      return true
    }
    // It may be taken for a server with sessions while its era is not known.
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

  /** The request that opens it has come. The answer can be held back, and can get lost. */
  #open(answer: () => void): void {
    this.#held = (): void => {
      // An answer with an id that nobody knows is none.
      this.#isMute = this.#output.spoilt === 'wrong-id'
      answer()
      this.#host.reached('initialize-answered')
    }
    this.#host.after(this.#facts.plan.initMs, () => {
      if (!this.#facts.holdsInitialize) this.#release()
    })
    this.#host.reached('initialize-read')
  }

  /** Answers that request now; false when it has not come, or is answered. */
  #release(): boolean {
    const held = this.#held
    this.#held = undefined
    held?.()
    return held !== undefined
  }

  #describe(id: string): void {
    this.#isOpen = true
    this.#output.respond(id, `"result":${this.#facts.described()}`)
  }

  /** Some of what can be read is given only to who has answered. */
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

  /** Without sessions a result says its type, and for how long it may be kept. */
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

/** One text for all who can be asked the same. */
export function setOf(capabilities: readonly string[]): string {
  return capabilities.toSorted().join(' ')
}

/** What a request to a server with sessions does not say. */
function isOfNoSession(message: unknown): boolean {
  const isReturn = ['requestState', 'inputResponses'].some(
    (name) => at(message, 'params', name) !== undefined,
  )
  return isReturn || revisionIn(message) !== undefined
}

/** Of which call a request to read something is, and how much its client is to be asked before. */
function asksIn(message: unknown): { nonce: string; n: number } | undefined {
  const text = textAt(message, 'params', 'uri') ?? textAt(message, 'params', 'arguments', 'ask') ?? ''
  const [, n, nonce] = /ask\/(\d)\/n:([a-z]\d+-\d+);/.exec(text) ?? []
  return nonce === undefined ? undefined : { nonce, n: Number(n) }
}
