// One server's lists, read through every page and kept until they change.

import { type ListItem, type Page, isSameItem, listShapes, readPage } from '../../mcp/lists.js'
import type { ListKind } from '../../mcp/methods/method-row.js'
import type { ServerCapabilities } from '../../mcp/capabilities.js'
import type { ServerRedactor } from '../../transports/http-client/redactor.js'
import { UpstreamError } from '../contracts/errors.js'
import type { LogSink } from '../../runtime/runtime.js'
import type { Link } from './link.js'
import type { Patience } from './own-requests.js'

/** How much of a list is read before the server is taken to be broken. */
export interface ListLimits {
  readonly pagesMax: number
  readonly itemsMax: number
  /** Before a list that could not be read is read again; doubles up to `retryMsMax`, `retriesMax` times. */
  readonly retryMs: number
  readonly retryMsMax: number
  readonly retriesMax: number
}

const NOTHING: readonly ListItem[] = []

/** How much of what a server says instead is worth a look. */
const SHOWN_LENGTH_MAX = 200

/** Tools that one log line names. */
const NAMED_MAX = 10

/** What a server lists. Items that did not change stay the same objects. */
export class Listing {
  readonly limits: ListLimits
  readonly #service: string
  readonly #log: LogSink
  readonly #discretion: ServerRedactor
  readonly #lists = new Map<ListKind, readonly ListItem[]>()
  readonly #reading = new Map<ListKind, Promise<void>>()
  /** Lists that have changed while they were read, and who said so. */
  readonly #stale = new Map<ListKind, Link>()
  readonly #read = new Set<ListKind>()
  readonly #failures = new Map<ListKind, string>()
  /** Lists that had something before the server came back. */
  readonly #doubted = new Set<ListKind>()

  constructor(service: string, discretion: ServerRedactor, limits: ListLimits, log: LogSink) {
    this.#service = service
    this.#discretion = discretion
    this.limits = limits
    this.#log = log
  }

  items(kind: ListKind): readonly ListItem[] {
    return this.#lists.get(kind) ?? NOTHING
  }

  /** The lists that could not be read the last time. */
  get failed(): ListKind[] {
    return [...this.#failures.keys()]
  }

  /** Why, in words. */
  get failure(): string | undefined {
    const [why] = this.#failures.values()
    return why
  }

  /** Whether this list was read at least once, or is not there to be read. */
  hasRead(kind: ListKind, capabilities: ServerCapabilities): boolean {
    return this.#read.has(kind) || !offers(capabilities, kind)
  }

  /**
   * Reads a list anew and says whether it changed.
   *
   * One read at a time for each list: a change that is announced during a read
   * makes it read once more. A list that cannot be read stays as it was.
   */
  async refresh(link: Link, capabilities: ServerCapabilities, kind: ListKind): Promise<boolean> {
    const before = this.items(kind)
    if (offers(capabilities, kind)) await this.#readOnce(link, kind)
    else this.#none(kind)
    return this.items(kind) !== before
  }

  /** Shows what it listed in an earlier start, or to others, until it has been asked; whether that is something else than before. */
  recall(kind: ListKind, items: readonly ListItem[]): boolean {
    if (isSameList(this.items(kind), items)) return false
    if (items.length > 0) this.#lists.set(kind, items)
    else this.#lists.delete(kind)
    return true
  }

  /** Shows nothing any more that the server has not said itself; gives the lists that had something. */
  forget(): ListKind[] {
    const forgotten = [...this.#lists.keys()].filter((kind) => !this.#read.has(kind))
    for (const kind of forgotten) this.#lists.delete(kind)
    return forgotten
  }

  /** The server has started anew: one that has nothing now may not be done with its start. */
  doubt(): void {
    for (const [kind, items] of this.#lists) if (items.length > 0) this.#doubted.add(kind)
  }

  /** A server that still has nothing is believed. */
  trust(): void {
    this.#doubted.clear()
  }

  #readOnce(link: Link, kind: ListKind): Promise<void> {
    const running = this.#reading.get(kind)
    if (running !== undefined) {
      this.#stale.set(kind, link)
      return running
    }
    const reading = this.#readUntilFresh(link, kind).finally(() => this.#reading.delete(kind))
    this.#reading.set(kind, reading)
    return reading
  }

  async #readUntilFresh(first: Link, kind: ListKind): Promise<void> {
    for (let link: Link | undefined = first; link !== undefined; link = this.#stale.get(kind)) {
      this.#stale.delete(kind)
      try {
        this.#accept(kind, await this.#readAll(link, kind))
        this.#read.add(kind)
      } catch (error) {
        this.#failed(kind, error)
        if (isNotFound(error)) void link.ask('ping', '{}').catch(() => {})
      }
    }
  }

  #failed(kind: ListKind, error: unknown): void {
    const said = error instanceof Error ? error.message : String(error)
    // Whoever tells of it names the server.
    const why = `${listShapes[kind].method}: ${said.replace(`'${this.#service}': `, '')}`
    this.#failures.set(kind, why)
    const kept = this.items(kind).length === 0 ? '' : '; what was known of it stays'
    // That a server which is being stopped lists nothing is no news.
    const isStopped = error instanceof UpstreamError && error.reason === 'shutting-down'
    this.#log({ level: isStopped ? 'debug' : 'warn', service: this.#service, message: `${why}${kept}` })
  }

  /** The server says that it has no such things. */
  #none(kind: ListKind): void {
    try {
      this.#accept(kind, [])
    } catch (error) {
      this.#failed(kind, error)
    }
  }

  #accept(kind: ListKind, items: readonly ListItem[]): void {
    if (items.length === 0 && this.#doubted.has(kind)) throw this.#broken('nothing is there any more')
    this.#doubted.delete(kind)
    this.#failures.delete(kind)
    this.#replace(kind, items)
  }

  async #readAll(link: Link, kind: ListKind): Promise<ListItem[]> {
    const items: ListItem[] = []
    const seen = new Set<string>()
    let cursor: string | undefined
    const patience = link.patience('listTimeoutMs')
    for (let pages = 0; pages < this.limits.pagesMax; pages++) {
      const page = await this.#readOne(link, kind, cursor, patience)
      for (const item of page.items) items.push(item)
      if (items.length > this.limits.itemsMax) throw this.#broken(`more than ${this.limits.itemsMax} items`)
      cursor = page.cursor
      if (cursor === undefined) return items
      if (seen.has(cursor))
        throw this.#broken(`the cursor ${this.#discretion.shown(cursor, SHOWN_LENGTH_MAX)} does not advance`)
      seen.add(cursor)
    }
    throw this.#broken(`more than ${this.limits.pagesMax} pages`)
  }

  async #readOne(link: Link, kind: ListKind, cursor: string | undefined, patience: Patience): Promise<Page> {
    const params = cursor === undefined ? '{}' : `{"cursor":${cursor}}`
    const frame = await link.ask(listShapes[kind].method, params, patience)
    if (frame.kind === 'error') {
      // A server may offer resources and know no templates: that is an empty list. One that had some is not well.
      if (kind === 'templates' && this.items(kind).length === 0) return { items: [], cursor: undefined }
      const why = frame.line.toString('utf8', frame.error.start, frame.error.end)
      throw this.#broken(this.#discretion.shown(why, SHOWN_LENGTH_MAX))
    }
    const page = readPage(frame, kind)
    if (page === undefined) throw this.#broken('the answer holds no list')
    return page
  }

  #replace(kind: ListKind, items: readonly ListItem[]): void {
    const old = this.items(kind)
    const byKey = new Map(old.map((item) => [item.key, item]))
    const merged = items.map((item) => {
      const known = byKey.get(item.key)
      return known !== undefined && isSameItem(known, item) ? known : item
    })
    const same = merged.length === old.length && merged.every((item, index) => item === old[index])
    if (same) return
    this.#lists.set(kind, merged)
    this.#tellOfTasks(merged)
  }

  #tellOfTasks(items: readonly ListItem[]): void {
    const names = items.filter(({ needsTask }) => needsTask).map(({ key }) => `'${key}'`)
    if (names.length === 0) return
    const first = names.slice(0, NAMED_MAX).join(', ')
    const rest = names.length > NAMED_MAX ? ` and ${names.length - NAMED_MAX} more` : ''
    const message = `not listed: ${first}${rest} can only be called as a task, and tasks do not pass this proxy`
    this.#log({ level: 'info', service: this.#service, message })
  }

  #broken(what: string): UpstreamError {
    return new UpstreamError(this.#service, 'invalid-answer', what)
  }
}

/** It may be the session that is not found: what every server answers tells, and begins another one. */
function isNotFound(error: unknown): boolean {
  return error instanceof UpstreamError && error.details?.['status'] === 404
}

function offers(capabilities: ServerCapabilities, kind: ListKind): boolean {
  return kind === 'templates' ? capabilities.resources : capabilities[kind]
}

function isSameList(one: readonly ListItem[], other: readonly ListItem[]): boolean {
  if (one === other) return true
  return one.length === other.length && one.every((item, at) => isSameItem(item, other[at]))
}
