// The lists that one client has read, and the notifications of their changes.

import { at, rawSubscription, textAt } from './json.js'
import type { Ledger, Entry } from './ledger.js'
import type { ListMethod } from './plan.js'
import { type ServerFacts, isList, lists } from './server.js'
export type Servers = readonly { readonly facts: ServerFacts }[]

const listsOf: Readonly<Record<string, readonly ListMethod[]>> = {
  'notifications/tools/list_changed': ['tools/list'],
  'notifications/prompts/list_changed': ['prompts/list'],
  'notifications/resources/list_changed': ['resources/list', 'resources/templates/list'],
}

const NEWS_MS = 2000

type Counts = ReadonlyMap<string, number>

export class ListWatch {
  readonly #client: string
  readonly #ledger: Ledger
  readonly #servers: Servers
  readonly #first = new Map<ListMethod, Counts>()
  readonly #reloadsBefore: number
  #firstAt = Infinity
  readonly #last = new Map<ListMethod, Counts>()
  readonly #told = new Map<string, number>()

  constructor(client: string, ledger: Ledger, servers: Servers) {
    this.#client = client
    this.#ledger = ledger
    this.#servers = servers
    this.#reloadsBefore = ledger.reloadsCount
  }

  shown(list: ListMethod, server: string): number {
    return this.#last.get(list)?.get(server) ?? 0
  }

  has(list: ListMethod): boolean {
    return this.#last.has(list)
  }

  told(notification: string): number {
    return this.#told.get(notification) ?? 0
  }

  /**
   * Checks a list response. An undefined result is an error, after which the client must be notified when the list is
   * available.
   *
   * `isSame` is false when the proxy cannot recognise the client, so it may show other items. `isFirst` is false when
   * the proxy may have sent the list before in a response that was lost.
   */
  given(
    method: string,
    result: unknown,
    { isSame, isFirst }: { readonly isSame: boolean; readonly isFirst: boolean },
  ): void {
    if (!isList(method)) return
    const counts = new Map(
      this.#servers.map(({ facts }) => [facts.plan.name, countOf(result, method, facts)]),
    )
    if (!this.#first.has(method)) {
      this.#first.set(method, isFirst ? counts : new Map())
      this.#firstAt = Math.min(this.#firstAt, this.#ledger.now)
    }
    if (result === undefined) return
    if (isSame)
      for (const { facts } of this.#servers) this.#notFewer(method, facts, counts.get(facts.plan.name) ?? 0)
    this.#last.set(method, counts)
  }

  /** Checks a notification. `isAsking` tells whether the client has requested a list and waits for it. */
  changed(notification: string, isAsking: (list: string) => boolean): void {
    const changed = listsOf[notification]
    if (changed === undefined) return
    const told = this.told(notification) + 1
    this.#told.set(notification, told)
    // An instance that takes a session over does not know what its client has read.
    if (this.#ledger.isSeveral) return
    if (!changed.some((list) => this.#first.has(list) || isAsking(list)))
      return this.#ledger.fail('needless-change', `${this.#client} has read no such list: ${notification}`)
    const most = changed.reduce((sum, list) => sum + this.#changesOf(list), 0)
    if (told > most)
      this.#ledger.fail('too-many-changes', `${this.#client} heard ${told} times of ${most}: ${notification}`)
  }

  /** Servers only add items. Items may disappear only after a reload, or when they were recalled from disk. */
  #notFewer(list: ListMethod, { plan: { name: server }, isRecalled }: ServerFacts, count: number): void {
    const mayShrink = isRecalled || this.#ledger.isSeveral || this.#ledger.replaced.has(server)
    const before = this.shown(list, server)
    const what = `${this.#client} sees ${count} of ${server} in ${list}, not ${before}`
    if (!mayShrink && count < before) this.#ledger.fail('shrunk-list', what)
  }

  /** The most changes that the list can have had since the client read it first. */
  #changesOf(list: ListMethod): number {
    const first = this.#first.get(list)
    let most = 2 * (this.#ledger.reloadsCount - this.#reloadsBefore)
    for (const { facts } of this.#servers) {
      most += Math.max(0, facts.sizeOf(list) - (first?.get(facts.plan.name) ?? 0))
      // Recalled items are withdrawn when the server cannot start, and may then change.
      if (facts.isRecalled) most += 2
      // The items of a new server that starts late disappear and come back. The notification of a change just before
      // the first list may come just after it.
      most += 1 + facts.grownSince(this.#firstAt - NEWS_MS)
    }
    return most
  }
}

function countOf(result: unknown, list: ListMethod, { plan }: ServerFacts): number {
  const { member, key } = lists[list]
  const items = at(result, member)
  const mine = [`${plan.name}__`, `sim://${plan.name}/`]
  const names = Array.isArray(items) ? items.map((item: unknown) => textAt(item, key) ?? '') : []
  return names.filter((name) => mine.some((start) => name.startsWith(start))).length
}

// The open `subscriptions/listen` requests of one client (MCP 2026-07-28, Subscriptions), and their notifications.

const UPDATED = 'notifications/resources/updated'
export const TOOLS = 'notifications/tools/list_changed'

export interface OpenListen {
  readonly entry: Entry
  readonly uris: readonly string[]
  readonly hasTools: boolean
  /** The granted filter. Undefined until the acknowledgement arrives. */
  heard: { readonly uris: readonly string[]; readonly hasTools: boolean } | undefined
  /** The number of notifications of each resource, and of the list of tools. */
  readonly news: Map<string, number>
}

export class ListenWatch {
  readonly #client: string
  readonly #ledger: Ledger
  /** By raw id. */
  readonly #listens = new Map<string, OpenListen>()

  constructor(client: string, ledger: Ledger) {
    this.#client = client
    this.#ledger = ledger
  }

  get open(): OpenListen[] {
    return [...this.#listens.values()].filter(
      ({ entry }) => entry.answers.length === 0 && entry.cancelledAt === undefined && !entry.excused,
    )
  }

  begin(entry: Entry, wanted: Pick<OpenListen, 'uris' | 'hasTools'>): void {
    entry.untimed = true
    this.#listens.set(entry.id, { ...wanted, entry, heard: undefined, news: new Map() })
  }

  /** Undefined for a message outside of such requests. */
  of(text: string): { readonly listen: OpenListen | undefined } | undefined {
    const id = rawSubscription(text)
    return id === undefined ? undefined : { listen: this.#listens.get(id) }
  }

  /** Checks a notification. `upTo` is its end in the bytes of the stream. */
  told(listen: OpenListen | undefined, method: string, message: unknown, upTo: number, text: string): void {
    if (listen === undefined) return this.#ledger.fail('foreign', `${this.#client} does not listen: ${text}`)
    const { entry, heard } = listen
    if (entry.silentFrom !== undefined && upTo > entry.silentFrom)
      this.#ledger.fail('after-cancel', `${entry.nonce} was cancelled and hears ${text}`)
    if (entry.answers.length > 0) this.#ledger.fail('late-progress', `${entry.nonce} has ended: ${text}`)
    if (method === 'notifications/subscriptions/acknowledged')
      return this.#acknowledged(listen, message, text)
    if (heard === undefined) this.#ledger.fail('wrong-form', `${entry.nonce} was not told first: ${text}`)
    const uri = textAt(message, 'params', 'uri') ?? ''
    if (method === UPDATED && heard?.uris.includes(uri) !== true)
      this.#ledger.fail('not-followed', `${entry.nonce} does not follow ${uri}: ${text}`)
    if (method === TOOLS && heard?.hasTools !== true)
      this.#ledger.fail('needless-change', `${entry.nonce} does not listen for it: ${text}`)
    const news = method === UPDATED ? uri : method
    listen.news.set(news, (listen.news.get(news) ?? 0) + 1)
  }

  /** Only a closing proxy ends a subscription that has been granted something. */
  ended({ entry, heard }: OpenListen, text: string): void {
    if (heard === undefined && !this.#ledger.isClosing)
      this.#ledger.fail('wrong-form', `${entry.nonce} was not told first: ${text}`)
    const isEmpty = heard?.hasTools !== true && heard?.uris.length === 0
    if (!isEmpty && !this.#ledger.isClosing) this.#ledger.fail('lost', `${entry.nonce} has ended: ${text}`)
  }

  #acknowledged(listen: OpenListen, message: unknown, text: string): void {
    const { entry } = listen
    if (listen.heard !== undefined) this.#ledger.fail('wrong-form', `${entry.nonce} was told again: ${text}`)
    const said = at(message, 'params', 'notifications')
    const named = at(said, 'resourceSubscriptions')
    const uris = Array.isArray(named) ? named.map(String) : []
    const hasTools = at(said, 'toolsListChanged') === true
    listen.heard = { uris, hasTools }
    if ((hasTools && !listen.hasTools) || uris.some((uri) => !listen.uris.includes(uri)))
      this.#ledger.fail('not-followed', `${entry.nonce} did not ask for it: ${text}`)
    const early = uris.find((uri) => !this.#ledger.followed.has(uri))
    if (early !== undefined)
      this.#ledger.fail('early-ack', `${entry.nonce} hears of ${early}, and no server knows: ${text}`)
  }
}
