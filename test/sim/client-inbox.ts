// The messages that one client receives, each checked against the ledger.

import type { SimContext } from './byte-flow.js'
import type { SimClient, Waiting } from './client.js'
import { at, noncesIn, numberAt, parse, rawId, rawToken, stampIn, textAt } from './json.js'
import { ALIEN } from './plan.js'
import { consentTo, isConsent } from './consent.js'
import type { Entry, Ledger } from './ledger.js'
import { ListWatch, type Servers, ListenWatch } from './list-watch.js'
import { markIn, neededFor } from './rounds.js'

export interface Source {
  /** Messages of one process are in order on each stream. */
  readonly stream: string
  /** Bytes sent on the stream, with this message. */
  readonly upTo: number
  /** Whether the answer to this request belongs on the stream. */
  answers(entry: Entry): boolean
}

export class ClientInbox {
  readonly #client: SimClient
  readonly #context: SimContext
  readonly #ledger: Ledger
  readonly #waiting = new Map<string, Waiting[]>()
  /** Resources that the client may be notified of. */
  readonly followed: Set<string> = new Set()
  readonly #updates = new Map<string, number>()
  readonly #lastBy = new Map<string, number>()
  readonly #listedBy = new Map<string, number>()
  readonly #rest: Buffer[] = []
  /** The proxy or the client has ended the connection. */
  left = false
  #paused = false
  #wasPaused = false
  #heard = 0
  #isBatch = false
  readonly lists: ListWatch
  readonly listens: ListenWatch

  constructor(client: SimClient, servers: Servers, context: SimContext) {
    this.#client = client
    this.#context = context
    this.#ledger = context.ledger
    this.lists = new ListWatch(client.name, context.ledger, servers)
    this.listens = new ListenWatch(client.name, context.ledger)
  }

  /** In the order in which they were sent. */
  get waiting(): Waiting[] {
    return [...this.#waiting.values()].flat()
  }

  expect(waiting: Waiting): void {
    const { id } = waiting.entry
    waiting.entry.untimed = this.#paused
    const same = this.#waiting.get(id)
    if (same === undefined) this.#waiting.set(id, [waiting])
    else same.push(waiting)
  }

  updates(uri: string): number {
    return this.#updates.get(uri) ?? 0
  }

  paused(on: boolean): void {
    this.#paused = on
    this.#wasPaused ||= on
    if (on) for (const { entry } of this.waiting) entry.untimed = true
  }

  vanished(): void {
    this.left = true
    for (const { entry } of this.waiting) entry.excused = true
  }

  /** The proxy may drop a client that does not read. */
  gone(): void {
    this.left = true
    this.#client.wire.gone?.()
    // The proxy has not accepted what it never read.
    for (const { entry } of this.waiting) entry.excused ||= this.#wasPaused || entry.heardAt === undefined
  }

  hear(chunk: Buffer): void {
    let rest = chunk
    for (let end = rest.indexOf(0x0a); end >= 0; end = rest.indexOf(0x0a)) {
      this.#rest.push(rest.subarray(0, end))
      this.#heard += end + 1
      rest = rest.subarray(end + 1)
      const text = Buffer.concat(this.#rest.splice(0)).toString()
      this.told(text, { stream: '', upTo: this.#heard, answers: () => true })
    }
    if (rest.length > 0) this.#rest.push(rest)
    this.#heard += rest.length
  }

  told(text: string, from: Source): void {
    const { clock, wrong } = this.#context
    if (wrong.toClient === undefined) return this.#told(text, from)
    const pass = (changed: string, delayMs?: number): void => {
      if (delayMs === undefined) this.#told(changed, from)
      else clock.after(delayMs, () => this.#told(changed, from))
    }
    wrong.toClient(text, { to: this.#client.name, pass })
  }

  #told(text: string, from: Source): void {
    const message = parse(text)
    this.#ledger.owned(this.#client.name, noncesIn(text), text)
    if (text.includes(ALIEN)) this.#ledger.fail('foreign-list', `${this.#client.name} was told ${text}`)
    if (Array.isArray(message)) return this.#batch(text, message, from)
    if (!this.#isReturn(text)) this.#inOrder(text, from)
    this.#message(text, message, from)
  }

  refused(entry: Entry, text: string): void {
    const refused = this.lost(entry)
    if (refused === undefined) return
    this.#ledger.answered(entry, false, text)
    refused.next?.(false, text)
  }

  lost(entry: Entry): Waiting | undefined {
    const waiting = this.#waiting.get(entry.id) ?? []
    const lost = waiting.find((each) => each.entry === entry)
    if (lost !== undefined) this.#settled(waiting, lost)
    return lost
  }

  #message(text: string, message: unknown, from: Source): void {
    if (at(message, 'jsonrpc') !== '2.0')
      return this.#ledger.fail('bad-line', `${this.#client.name}: ${text}`)
    const method = textAt(message, 'method')
    const id = rawId(text)
    if (method === undefined) this.#answer(id, text, message, from)
    else if (at(message, 'id') === undefined) this.#notification(method, text, message, from)
    else this.#question(method, id ?? '', text)
  }

  /** The answers of a batch. Each is located by its own text. */
  #batch(text: string, members: readonly unknown[], from: Source): void {
    const parts = text.slice(1, -1).split(/,(?=\{"jsonrpc")/)
    if (parts.length !== members.length) return this.#ledger.fail('bad-batch', text)
    this.#isBatch = true
    for (const part of parts) this.#message(part, parse(part), from)
    this.#isBatch = false
  }

  /** A client that comes back to a call receives what was kept for it, or what was sent before. */
  #isReturn(text: string): boolean {
    const waiting = this.#waiting.get(rawId(text) ?? '') ?? []
    return waiting.some(({ entry }) => entry.root !== undefined && entry.root !== entry)
  }
  /** The messages of one process reach a client in order. */
  #inOrder(text: string, { stream }: Source): void {
    const stamp = stampIn(text)
    if (stamp === undefined || !stamp.speaker.includes('#')) return
    const key = `${stream} ${stamp.speaker}`
    const last = this.#lastBy.get(key) ?? 0
    if (stamp.count < last) this.#ledger.fail('order', `${this.#client.name}: ${text} after ${last}`)
    this.#lastBy.set(key, stamp.count)
  }

  #answer(id: string | undefined, text: string, message: unknown, from: Source): void {
    const waiting = id === undefined ? undefined : this.#waiting.get(id)
    if (id === undefined || waiting === undefined) return this.#unasked(id, text)
    const here = waiting.filter(({ entry }) => from.answers(entry))
    const chosen = chosenOf(here, text, at(message, 'result') !== undefined)
    if (chosen === undefined) return this.#ledger.fail('wrong-answer', `${this.#client.name}: ${text}`)
    this.#settled(waiting, chosen)
    this.#take(chosen, text, message, from)
  }

  #settled(waiting: Waiting[], settled: Waiting): void {
    waiting.splice(waiting.indexOf(settled), 1)
    if (waiting.length === 0) this.#waiting.delete(settled.entry.id)
  }

  #take({ entry, next }: Waiting, text: string, message: unknown, from: Source): void {
    const ok = at(message, 'result') !== undefined
    this.#ledger.answered(entry, ok, text)
    // An answer in a batch may be older than the cancel, and so may one that the proxy makes from the client's own
    // previous message.
    const mayCross = this.#isBatch || text.includes(': its user has ')
    if (!mayCross && entry.silentFrom !== undefined && from.upTo > entry.silentFrom)
      this.#ledger.fail('after-cancel', `${entry.nonce} was cancelled and answered: ${text}`)
    if (ok) formed(this.#ledger, entry, at(message, 'result'), text)
    else if (entry.root !== undefined) knownError(this.#ledger, numberAt(message, 'error', 'code'), text)
    if (entry.root === undefined && !this.#isOvertaken(entry))
      this.lists.given(entry.method, at(message, 'result'), {
        isSame: entry.order !== Infinity,
        isFirst: !this.#hasLost(entry.method),
      })
    next?.(ok, text)
  }

  /** Whether the proxy may have sent the answer to another such request that the client lost or has not read. */
  #hasLost(method: string): boolean {
    return this.waiting.some(
      ({ entry }) => entry.method === method && (entry.excused || entry.answers.length === 0),
    )
  }

  /** An older list may come after a newer one if messages can overtake each other. */
  #isOvertaken({ method, order }: Entry): boolean {
    if (order === undefined) return false
    const last = this.#listedBy.get(method) ?? 0
    this.#listedBy.set(method, Math.max(last, order))
    return order < last
  }

  #unasked(id: string | undefined, text: string): void {
    // An error without an id answers a message that could not be parsed.
    if (id === undefined && /"error":\{"code":-32(600|700)/.test(text)) return
    const known = this.#ledger.all.find((entry) => entry.client === this.#client.name && entry.id === id)
    if (known === undefined) this.#ledger.fail('unasked', `${this.#client.name}: ${text}`)
    else this.#ledger.answered(known, false, text)
  }

  #notification(method: string, text: string, message: unknown, from: Source): void {
    const subscribed = this.listens.of(text)
    if (subscribed !== undefined)
      return this.listens.told(subscribed.listen, method, message, from.upTo, text)
    if (method === 'notifications/progress') return this.#progress(text, message, from)
    if (method === 'notifications/resources/updated') return this.#updated(text, message)
    this.lists.changed(method, (list) =>
      this.waiting.some(({ entry }) => entry.method === list && entry.root === undefined),
    )
  }

  #progress(text: string, message: unknown, { upTo }: Source): void {
    const token = rawToken(text)
    const [nonce = ''] = noncesIn(text)
    const entry = this.#ledger.entries.get(nonce)
    const [, count] = nonce.split('-')
    if (entry === undefined || token !== count)
      this.#ledger.fail('wrong-token', `${this.#client.name}: ${text}`)
    else this.#ledger.progressed(entry, numberAt(message, 'params', 'progress') ?? 0, text)
    if (entry?.silentFrom !== undefined && upTo > entry.silentFrom)
      this.#ledger.fail('after-cancel', `${nonce} was cancelled and goes on: ${text}`)
  }

  #updated(text: string, message: unknown): void {
    const uri = textAt(message, 'params', 'uri') ?? ''
    if (!this.followed.has(uri)) this.#ledger.fail('not-followed', `${this.#client.name}: ${text}`)
    this.#updates.set(uri, this.updates(uri) + 1)
  }

  #question(method: string, id: string, text: string): void {
    const { plan } = this.#client
    const capability = neededFor(method)
    if (!plan.capabilities.some((name) => name === capability))
      this.#ledger.fail('not-declared', `${plan.name} is asked: ${text}`)
    const [nonce = ''] = noncesIn(text)
    if (isConsent(parse(text))) return this.#consent(id, nonce)
    this.#ledger.asked(nonce, plan.answerMs)
    if (plan.answerMs === undefined) return
    const said = `n:${nonce}; ${markIn(text) ?? ''}`
    this.#context.clock.after(plan.answerMs, () => {
      if (this.#ledger.isSeveral && this.#client.speaks) this.#ledger.answersTo(nonce)
      this.#client.say(`{"jsonrpc":"2.0","id":${id},"result":{"said":"${said}"}}`)
    })
  }

  #consent(id: string, nonce: string): void {
    const { name, plan } = this.#client
    const { answerMs } = plan
    const consent = consentTo(nonce)
    const isSaid = answerMs !== undefined && consent !== 'never'
    this.#ledger.asksConsent(nonce, name)
    this.#ledger.asked(nonce, isSaid ? answerMs : undefined)
    if (!isSaid) return
    this.#context.clock.after(answerMs, () => {
      // A client that has ended its input can no longer agree.
      if (!this.#client.speaks) return this.#ledger.note(nonce, { untimed: true })
      if (consent === 'accept') this.#ledger.note(nonce, { consent: 'given' })
      this.#client.say(`{"jsonrpc":"2.0","id":${id},"result":{"action":"${consent}"}}`)
    })
  }
}

/** Chooses the request that an answer belongs to when several have the same id. */
function chosenOf(waiting: readonly Waiting[], text: string, ok: boolean): Waiting | undefined {
  const [nonce] = noncesIn(text)
  const own = waiting.find(({ entry }) => entry.nonce === nonce || entry.root?.nonce === nonce)
  // A question for a request without a session may be about another call.
  if (nonce !== undefined) return own ?? waiting.find(({ entry }) => entry.root !== undefined)
  // The second request with the id is a ping. It gets a result, or an error that its id is in use. An error result
  // for a model belongs to a call.
  if ((ok && !text.includes('"isError":true')) || text.includes('is in use'))
    return waiting.find(isPing) ?? waiting[0]
  const calls = waiting.filter((one) => !isPing(one))
  return calls.find(({ entry }) => entry.cancelledAt === undefined) ?? calls[0] ?? waiting[0]
}

const isPing = ({ entry }: Waiting): boolean => entry.method === 'ping'

// How results and errors look in each era (MCP 2026-07-28, Overview: results, errors).

const kept = (method: string): boolean => method.endsWith('/list') || method === 'resources/read'

/** Requests during which a server may ask. */
const asking: ReadonlySet<string> = new Set(['tools/call', 'prompts/get', 'resources/read'])

/** Results have a type for clients without a session, and only for those. */
function formed(ledger: Ledger, { root, method, nonce }: Entry, result: unknown, text: string): void {
  const type = at(result, 'resultType')
  const isAsked = type === 'input_required'
  const isStateless = type === 'complete' || (isAsked && asking.has(method) && isWhole(result))
  const isHinted =
    isAsked ||
    !kept(method) ||
    (numberAt(result, 'ttlMs') !== undefined && textAt(result, 'cacheScope') !== undefined)
  if (root === undefined ? type !== undefined : !isStateless || !isHinted)
    ledger.fail('wrong-form', `${nonce} (${method}) was answered ${text}`)
}

/** The result has at least one question, or a state to come back with. */
function isWhole(result: unknown): boolean {
  const asked = at(result, 'inputRequests')
  if (asked === undefined) return textAt(result, 'requestState') !== undefined
  return typeof asked === 'object' && asked !== null && Object.keys(asked).length > 0
}

const reserved: readonly number[] = [-32020, -32021, -32022]

/** Error codes that the stateless revision does not define must not reach its clients. */
function knownError(ledger: Ledger, code: number | undefined, text: string): void {
  const isUnknown = code === undefined || (code <= -32020 && code >= -32099 && !reserved.includes(code))
  if (isUnknown || code === -32002) ledger.fail('wrong-form', `an error without a session is ${text}`)
}
