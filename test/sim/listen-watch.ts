// The requests of one client that stay open (MCP 2026-07-28, Subscriptions): what was said on account of each.

import { SUBSCRIPTION } from './request-meta.js'
import { at, textAt } from './json.js'
import type { Entry, Ledger } from './ledger.js'

const UPDATED = 'notifications/resources/updated'
const TOOLS = 'notifications/tools/list_changed'

/** One of them. */
export interface OpenListen {
  readonly entry: Entry
  readonly uris: readonly string[]
  readonly hasTools: boolean
  /** What its client hears of; undefined until it was told. */
  heard: { readonly uris: readonly string[]; readonly hasTools: boolean } | undefined
  /** How often it has heard of each resource, and of the list of tools. */
  readonly news: Map<string, number>
}

/** Keeps what one client listens for. */
export class ListenWatch {
  readonly #client: string
  readonly #ledger: Ledger
  /** By the ids of their requests, as they were written. */
  readonly #listens = new Map<string, OpenListen>()

  constructor(client: string, ledger: Ledger) {
    this.#client = client
    this.#ledger = ledger
  }

  /** Those that nobody has given up, and that have not ended. */
  get open(): OpenListen[] {
    return [...this.#listens.values()].filter(
      ({ entry }) => entry.answers.length === 0 && entry.cancelledAt === undefined && !entry.excused,
    )
  }

  begin(entry: Entry, wanted: Pick<OpenListen, 'uris' | 'hasTools'>): void {
    entry.untimed = true
    this.#listens.set(entry.id, { ...wanted, entry, heard: undefined, news: new Map() })
  }

  /** Undefined for a message that belongs to no such request. */
  of(text: string): { readonly listen: OpenListen | undefined } | undefined {
    const [, id] = SUBSCRIBED.exec(text) ?? []
    return id === undefined ? undefined : { listen: this.#listens.get(id) }
  }

  /** It was told something on account of a request; `upTo` bytes had been said with that. */
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

  /** It has ended; only who closes ends one that has something to tell. */
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
    const early = uris.find((uri) => !this.#ledger.isFollowed(uri))
    if (early !== undefined)
      this.#ledger.fail('early-ack', `${entry.nonce} hears of ${early}, and no server knows: ${text}`)
  }
}

const SUBSCRIBED = new RegExp(
  String.raw`"${SUBSCRIPTION.replaceAll('.', String.raw`\.`)}":("(?:[^"\\]|\\.)*"|[-+.\deE]+)`,
)

/** The list that has more tools. */
export const toolsOf = ({ news }: OpenListen): number => news.get(TOOLS) ?? 0
