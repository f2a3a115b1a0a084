// A scripted server without sessions (MCP 2026-07-28): every request says by itself what it is.

import { type ScriptHost, type Spoilt, endWith } from './script-host.js'
import type { ServerScript } from './server-script.js'
import { STATELESS, SUBSCRIPTION, capabilitiesIn, revisionIn } from './request-meta.js'
import { at, noncesIn, parse, rawId, rawRequestId, textAt } from './json.js'
import type { Ledger } from './ledger.js'
import { type Rounds, askedBy } from './rounds.js'
import { Opening } from './opening.js'
import type { ServerFacts } from './server-facts.js'
import { ServerOutput } from './server-output.js'
import { RunningCalls } from './running-calls.js'

/** What one request that stays open wants to hear of. */
interface Listen {
  readonly lists: ReadonlySet<string>
  readonly uris: readonly string[]
}

/** What a server says of results that may be kept. */
const STALE = '"ttlMs":0,"cacheScope":"private"'

/** One instance of it. */
export class StatelessScript implements ServerScript {
  readonly declared = ''
  readonly #host: ScriptHost
  readonly #facts: ServerFacts
  readonly #ledger: Ledger
  readonly #output: ServerOutput
  readonly #opening: Opening
  readonly #rounds: Rounds
  readonly #calls: RunningCalls
  readonly #clients = new Set<string>()
  /** By the ids of their requests, as they were written. */
  readonly #listens = new Map<string, Listen>()
  #isDescribed = false

  constructor(host: ScriptHost, facts: ServerFacts, ledger: Ledger) {
    this.#host = host
    this.#facts = facts
    this.#ledger = ledger
    this.#output = new ServerOutput(host, facts.lineBytesMax)
    this.#opening = new Opening(host, facts, this.#output)
    this.#rounds = facts.roundsOf(ledger)
    this.#calls = new RunningCalls({ host, facts, ledger, output: this.#output, rounds: this.#rounds })
  }

  get isUp(): boolean {
    return this.#isDescribed && this.#host.stays
  }

  get isMute(): boolean {
    return this.#opening.isMute
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
    else if (method === 'notifications/cancelled') this.#cancelled(rawRequestId(text), text)
    else if (method === undefined || id === undefined) this.#wrong(text)
    else this.#request(method, id, message, text)
  }

  left(id: string): void {
    this.#cancelled(id, `nobody listens to the stream of ${id}`)
  }

  listChanged(kind: 'tools' | 'prompts' | 'resources'): boolean {
    for (const [id, { lists }] of this.#listens)
      if (lists.has(kind)) this.#tell(id, `notifications/${kind}/list_changed`, '')
    return true
  }

  updated(): void {
    for (const [id, { uris }] of this.#listens)
      for (const uri of uris) {
        const about = `"uri":${JSON.stringify(uri)},"by":"${this.#output.stamp()}",`
        this.#tell(id, 'notifications/resources/updated', about)
      }
  }

  /** Nobody has asked for it. */
  log(): void {}

  #request(method: string, id: string, message: unknown, text: string): void {
    for (const nonce of noncesIn(text)) this.#clients.add(nonce.split('-')[0] ?? '')
    if (this.#calls.has(id) || this.#listens.has(id))
      this.#ledger.fail('id-reused', `${this.#host.name} is still at ${id} and is asked ${text}`)
    // It may be taken for a server with sessions while its era is not known.
    if (method === 'initialize' && this.#facts.plan.protocol === 'auto') return this.#refuse(id, -32601)
    if (revisionIn(message) !== STATELESS || capabilitiesIn(message) === undefined) return this.#wrong(text)
    switch (method) {
      case 'server/discover':
        return this.#discover(id)
      case 'tools/call':
        if (this.#facts.hasTool(textAt(message, 'params', 'name')))
          return this.#calls.take(id, message, text, undefined)
        if (!this.#facts.struck) this.#ledger.fail('gone-tool', `${this.#host.name} was asked ${text}`)
        return this.#refuse(id, -32602)
      case 'resources/read':
        if (this.#facts.has(textAt(message, 'params', 'uri') ?? ''))
          return this.#read(id, method, message, text)
        if (at(message, 'params', 'requestState') !== undefined)
          this.#ledger.fail('foreign-state', `${this.#host.name} has no such resource: ${text}`)
        return this.#refuse(id, -32602)
      case 'prompts/get':
      case 'completion/complete':
        return this.#read(id, method, message, text)
      case 'subscriptions/listen':
        return this.#listen(id, at(message, 'params', 'notifications'))
      case 'tools/list':
      case 'prompts/list':
      case 'resources/list':
      case 'resources/templates/list':
        if (this.#facts.refusesLists) return this.#refuse(id, -32603)
        return this.#result(id, this.#facts.listed(method, message), true)
      default:
        return this.#wrong(text)
    }
  }

  #discover(id: string): void {
    this.#opening.begin(() => {
      this.#isDescribed = true
      this.#output.respond(id, `"result":${this.#facts.described()}`)
    })
  }

  /** Some of what can be read is given only to who has answered. */
  #read(id: string, method: string, message: unknown, text: string): void {
    const asks = asksIn(message)
    const asked = asks === undefined ? undefined : this.#asked(asks, message, text)
    this.#host.after(1, () => {
      if (asked !== undefined) return this.#output.respond(id, `"result":${asked}`)
      this.#result(id, this.#facts.read(method, message, this.#output.stamp()), method === 'resources/read')
    })
  }

  #asked(asks: { nonce: string; n: number }, message: unknown, text: string): string | undefined {
    const [about = ''] = noncesIn(textAt(message, 'params', '_meta', 'about') ?? '')
    const came = { instance: this.#host.name, about, nonce: asks.nonce, message, text, isRead: true }
    const asked = this.#rounds.next(
      came,
      this.#rounds.returned(came) ?? askedBy(asks),
      capabilitiesIn(message) ?? [],
    )
    if (asked !== undefined) this.#ledger.asksAnew(about)
    return asked
  }

  #listen(id: string, wanted: unknown): void {
    const uris = at(wanted, 'resourceSubscriptions')
    const known = Array.isArray(uris) ? uris.map(String).filter((uri) => this.#facts.has(uri)) : []
    const lists = (['tools', 'prompts', 'resources'] as const).filter(
      (kind) => at(wanted, `${kind}ListChanged`) === true,
    )
    this.#listens.set(id, { lists: new Set(lists), uris: known })
    for (const uri of known) this.#ledger.follows(uri)
    const members = [
      ...lists.map((kind) => `"${kind}ListChanged":true`),
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

  #result(id: string, result: string, isKept: boolean): void {
    const head = `{"resultType":"complete"${isKept ? `,${STALE}` : ''}`
    this.#output.respond(id, `"result":${result === '{}' ? `${head}}` : `${head},${result.slice(1)}`}`)
  }

  #refuse(id: string, code: number): void {
    this.#output.respond(id, `"error":{"code":${code},"message":"not here"}`)
  }

  /** It is told what no client of its revision says. */
  #wrong(text: string): void {
    this.#ledger.fail('wrong-era', `${this.#host.name} has no sessions and was told ${text}`)
  }
}

/** Of which call a request to read something is, and how much its client is to be asked before. */
function asksIn(message: unknown): { nonce: string; n: number } | undefined {
  const text = textAt(message, 'params', 'uri') ?? textAt(message, 'params', 'arguments', 'ask') ?? ''
  const [, n, nonce] = /ask\/(\d)\/n:([a-z]\d+-\d+);/.exec(text) ?? []
  return nonce === undefined ? undefined : { nonce, n: Number(n) }
}
