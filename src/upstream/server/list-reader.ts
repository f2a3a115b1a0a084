// Reads the lists of a lane: when its first process opens, when a process says that they have changed, and again where
// that failed.
//
// A server that comes back and says that it has nothing is asked again, since many servers claim that before they are
// ready.

import type { ServerCapabilities } from '../../mcp/capabilities.js'
import { type ListItem, listKinds, listShapes, readPage } from '../../mcp/lists.js'
import type { ListKind } from '../../mcp/methods.js'
import { LazyPromise } from '../../runtime/lazy.js'
import type { LogRecord, LogSink, Timer } from '../../runtime/runtime.js'
import { UpstreamError } from '../contracts/errors.js'
import type { ServerConnection } from './connection.js'
import type { ServerContext } from './context.js'
import { type ListFailure, type Lists, offers } from './lists.js'
import { keepsTasks, type Sharing } from './sharing.js'
import { markFault, type ParamHeader, paramHeaders } from '../../mcp/http-headers.js'
import { errorText } from '../../text/error-text.js'

/** How often a server that had something before it was started anew is asked again whether it has nothing now. */
const DOUBTED_RETRIES = 3

/** How often a server that cannot list is asked while a call waits for it. */
const HURRIED_TRIES = 3

/** Items that one log line names. */
const NAMED_MAX = 10

/** Reads of one list, whose changes are announced during the read before, for which calls wait. */
const READS_MAX = 2

/**
 * After a read that changed nothing, the next reported change is read this much later; the pause doubles with each such
 * read. Some servers report a change whenever their list is read.
 */
const PAUSE_MS = 1000
const PAUSE_MS_MAX = 30_000

/** The connection from which a list is read. */
interface Source {
  readonly connection: ServerConnection
  readonly capabilities: ServerCapabilities
}

/** Keeps the lists of a lane up to date. */
export class ListReader {
  readonly lists: Lists
  readonly #context: ServerContext
  readonly #sharing: Sharing
  readonly #announce: (kinds: readonly ListKind[]) => void
  readonly #onRead: () => void
  readonly #onNews: () => void
  /** When each list was first read. */
  readonly listedAt: Map<ListKind, number> = new Map()
  /** The connection of the process whose lists these are. */
  #connection: ServerConnection | undefined
  #capabilities: ServerCapabilities | undefined
  /** Resolves when the reads that the start of a process began have ended. */
  opening: Promise<void> = Promise.resolve()
  /** When a list is out of date, where the server has given a time. */
  readonly #expiresAtMs = new Map<ListKind, number>()
  /** Lists that had something before the server came back. */
  readonly #doubted = new Set<ListKind>()
  /** Lists that are being read. */
  readonly #reading = new Map<ListKind, Promise<void>>()
  /** Lists that have changed while they were read, and the connection that reported it. */
  readonly #stale = new Map<ListKind, Source>()
  /** The pause of each list whose last read changed nothing, and when that ends. */
  readonly #pauses = new Map<ListKind, { readonly ms: number; readonly endsAt: number }>()
  /** Lists that are read because a process says that they have changed. */
  readonly #reported = new Set<ListKind>()
  /** Reads that wait for the end of a pause. */
  readonly #paused = new Map<ListKind, Timer>()
  /** Readings of several lists that are under way. */
  #rounds = 0
  #retries = 0
  #retry: Timer | undefined
  /** The login that the server wants. */
  #login: { readonly why: ListFailure; readonly watch: Timer } | undefined
  /** The wait of calls that need the lists, and how many lists were missing when it began. */
  #hurried: { readonly over: LazyPromise<void>; readonly missing: number } | undefined

  /**
   * `announce` is called with the lists that have changed, `onRead` when what was asked for has been read, or could
   * not be, `onNews` when that is so of one list.
   */
  constructor(
    context: ServerContext,
    sharing: Sharing,
    lists: Lists,
    announce: (kinds: readonly ListKind[]) => void,
    onRead: () => void,
    onNews: () => void,
  ) {
    this.#context = context
    this.#sharing = sharing
    this.lists = lists
    this.#announce = announce
    this.#onRead = onRead
    this.#onNews = onNews
  }

  /** A client wants these lists: an expired one is shown and read anew, unless the server reports changes. */
  renew(kinds: readonly ListKind[]): void {
    const reported = this.#capabilities?.changes ?? []
    const old = kinds.filter((kind) => this.#isOutOfDate(kind) && !reported.includes(kind))
    if (this.#connection !== undefined && old.length > 0) void this.#refresh(this.#connection, old)
  }

  #isOutOfDate(kind: ListKind): boolean {
    const expiresAtMs = this.#expiresAtMs.get(kind) ?? Infinity
    return !this.lists.failures.has(kind) && Math.round(expiresAtMs - this.#context.runtime.now()) <= 0
  }

  /** Resolves when the read of this list that is under way has ended; undefined when there is none. */
  reading(kind: ListKind): Promise<void> | undefined {
    return this.#reading.get(kind)
  }

  /** Why the last read of some list failed, or the login that calls need; undefined when nothing is wrong. */
  get failure(): ListFailure | undefined {
    const [why] = this.lists.failures.values()
    return why ?? this.#login?.why
  }

  /** The server wants a login during its session: after a login its lists are read again. */
  loginNeeded(connection: ServerConnection, why: ListFailure): void {
    const { logins } = this.#context
    if (logins === undefined || connection !== this.#connection || this.#login !== undefined) return
    if (logins.tool !== undefined) this.lists.showOwnTool(logins.tool.item)
    const watch = logins.onChange(() => {
      this.#login = undefined
      if (this.#connection !== undefined) void this.#refresh(this.#connection, listKinds)
    })
    this.#login = { why, watch }
  }

  /** Whether something is being read, or about to be. */
  get busy(): boolean {
    return this.#rounds > 0 || this.#retry !== undefined
  }

  /** A process is ready, and its lists are read; of a further one only while the first is not there. */
  opened(connection: ServerConnection, capabilities: ServerCapabilities, isFirst: boolean): void {
    if (!isFirst && this.#connection !== undefined) return
    this.#endLogin()
    this.#connection = connection
    this.#capabilities = capabilities
    this.lists.opened(capabilities)
    this.#retries = 0
    // A server that lists nothing now may still be starting.
    for (const kind of listKinds) if (this.lists.items(kind).length > 0) this.#doubted.add(kind)
    this.opening = this.#refresh(connection, listKinds)
  }

  /**
   * Reads the missing lists now, and a few times more; resolves when one of them has been read, or the tries are used up.
   */
  hurry(): Promise<void> {
    const missing = this.lists.failures.size
    if (this.#connection === undefined || this.lists.hasNames || missing === 0) return Promise.resolve()
    if (this.#hurried !== undefined) return this.#hurried.over.promise
    const over = new LazyPromise<void>()
    this.#hurried = { over, missing }
    this.#cancelRetry()
    this.#retries = 0
    void this.#refresh(this.#connection, [...this.lists.failures.keys()])
    return over.promise
  }

  /** A process says that these have changed. */
  changed(connection: ServerConnection, kinds: readonly ListKind[]): void {
    const { runtime } = this.#context
    const due = kinds.filter((kind) => {
      this.#reported.add(kind)
      const waitMs = (this.#pauses.get(kind)?.endsAt ?? 0) - runtime.now()
      if (waitMs <= 0) return true
      if (!this.#paused.has(kind))
        this.#paused.set(
          kind,
          runtime.setTimer(waitMs, () => {
            this.#paused.delete(kind)
            void this.#refresh(connection, [kind])
          }),
        )
      return false
    })
    if (due.length > 0) void this.#refresh(connection, due)
  }

  /** A list has been read after a report. */
  #pause(kind: ListKind, hasChanged: boolean): void {
    if (hasChanged) return void this.#pauses.delete(kind)
    const ms = Math.min(2 * (this.#pauses.get(kind)?.ms ?? PAUSE_MS / 2), PAUSE_MS_MAX)
    this.#pauses.set(kind, { ms, endsAt: this.#context.runtime.now() + ms })
  }

  /** Notifications of changes may have been lost, so the lists are read again. */
  missed(connection: ServerConnection): void {
    const kinds = this.#capabilities?.changes ?? []
    if (connection === this.#connection && kinds.length > 0) void this.#refresh(connection, kinds)
  }

  /** Nothing more is read; with a connection, only where the lists are those of its process. */
  close(connection: ServerConnection | undefined = this.#connection): void {
    if (connection !== this.#connection) return
    this.#connection = undefined
    for (const timer of this.#paused.values()) timer.cancel()
    this.#paused.clear()
    this.#pauses.clear()
    this.#cancelRetry()
    this.#endLogin()
    this.#endHurry()
  }

  /** Each list is shown as soon as it has been read: tools need not wait for resources. */
  async #refresh(connection: ServerConnection, kinds: readonly ListKind[]): Promise<void> {
    const capabilities = this.#capabilities
    if (capabilities === undefined) return
    this.#rounds++
    await Promise.all(kinds.map((kind) => this.#readOnce(connection, capabilities, kind)))
    this.#rounds--
    this.#onRead()
    if (this.lists.failures.size === 0) this.#retries = 0
    else if (this.#connection !== undefined) {
      const wanted = [...this.lists.failures.values()].find(({ reason }) => reason === 'login-required')
      if (wanted === undefined) this.#scheduleRetry()
      else this.loginNeeded(connection, wanted)
    }
    if (this.#hurried === undefined) return
    const isLess = this.lists.failures.size < this.#hurried.missing
    if (isLess || this.#retries >= HURRIED_TRIES || this.#login !== undefined) this.#endHurry()
  }

  /**
   * One read at a time for each list: a change that is announced during a read makes it read once more.
   *
   * Calls wait for what this gives. A server that announces one change after the other does not keep them waiting: the
   * further reads are a reading of their own.
   */
  #readOnce(connection: ServerConnection, capabilities: ServerCapabilities, kind: ListKind): Promise<void> {
    const running = this.#reading.get(kind)
    if (running !== undefined) {
      this.#stale.set(kind, { connection, capabilities })
      return running
    }
    const reading = this.#readUntilFresh({ connection, capabilities }, kind).finally(() => {
      this.#reading.delete(kind)
      this.#onNews()
      const from = this.#stale.get(kind)
      if (from !== undefined) this.changed(from.connection, [kind])
    })
    this.#reading.set(kind, reading)
    return reading
  }

  async #readUntilFresh(first: Source, kind: ListKind): Promise<void> {
    let from: Source | undefined = first
    for (let reads = 0; from !== undefined && reads < READS_MAX; reads++) {
      this.#stale.delete(kind)
      const { connection, capabilities } = from
      const before = this.lists.items(kind)
      const tool = this.lists.ownTool
      try {
        if (offers(capabilities, kind)) await this.#readFrom(connection, kind)
        else {
          this.#believe(kind, [])
          this.lists.accept(kind, [])
        }
      } catch (error) {
        this.#failed(kind, error)
        // It may be the session that is not found: a request that every server answers finds out, and begins another one.
        if (isNotFound(error) && !connection.isTyped) void connection.ask('ping', '{}').catch(() => {})
      }
      // Not later: clients must be able to call what they are shown, even if the list is read once more.
      const hasChanged = this.lists.items(kind) !== before
      if (hasChanged || (kind === 'tools' && this.lists.ownTool !== tool)) this.#announce([kind])
      from = this.#stale.get(kind)
      if (this.#reported.delete(kind)) this.#pause(kind, hasChanged)
    }
  }

  async #readFrom(connection: ServerConnection, kind: ListKind): Promise<void> {
    const wasEmpty = this.lists.items(kind).length === 0
    const { items, ttlMs } = await readList(this.#context, connection, kind, wasEmpty)
    this.#believe(kind, items)
    this.#tellOfTasks(this.lists.read(kind, items) ?? [])
    if (!this.listedAt.has(kind)) this.listedAt.set(kind, this.#context.runtime.now())
    this.#expiresAtMs.set(kind, this.#context.runtime.now() + ttlMs)
  }

  #failed(kind: ListKind, error: unknown): void {
    const said = errorText(error)
    // The log line names the server anyway.
    const why = `${listShapes[kind].method}: ${said.replace(`'${this.#context.service}': `, '')}`
    const reason = error instanceof UpstreamError ? error.reason : undefined
    const body = error instanceof UpstreamError && reason === 'login-required' ? error.body : undefined
    this.lists.failed(kind, { message: why, reason, body })
    const kept = this.lists.items(kind).length === 0 ? '' : '; what was known of it stays'
    // A server that is being stopped cannot list: that is no warning.
    const isStopped = error instanceof UpstreamError && error.reason === 'shutting-down'
    this.#log(isStopped ? 'debug' : 'warn', `${why}${kept}`)
  }

  /** @throws UpstreamError when a server that had something may not be done with its start */
  #believe(kind: ListKind, items: readonly ListItem[]): void {
    if (items.length === 0 && this.#doubted.has(kind))
      throw new UpstreamError(this.#context.service, 'invalid-answer', 'nothing is there any more')
    this.#doubted.delete(kind)
  }

  #tellOfTasks(items: readonly ListItem[]): void {
    const names = items.filter(({ needsTask }) => needsTask).map(({ key }) => `'${key}'`)
    if (names.length === 0) return
    const what = `${someOf(names)} can only be called as a task`
    if (!keepsTasks(this.#sharing))
      this.#log('info', `not listed: ${what}, and its clients share a process that may ask them`)
    else if (this.#capabilities?.tasks === undefined)
      this.#log('info', `not listed: ${what}, and the server does not offer tasks`)
    else this.#log('info', `listed to clients with tasks only: ${what}`)
  }

  #endLogin(): void {
    this.#login?.watch.cancel()
    this.#login = undefined
  }

  #endHurry(): void {
    this.#hurried?.over.come()
    this.#hurried = undefined
  }

  #cancelRetry(): void {
    this.#retry?.cancel()
    this.#retry = undefined
  }

  /** A server that cannot list now may be able to in a moment. */
  #scheduleRetry(): void {
    const { limits, runtime } = this.#context
    const { retriesMax, retryMs, retryMsMax } = limits.lists
    if (this.#retry !== undefined || this.#retries >= retriesMax) return
    const delayMs = Math.min(retryMs * 2 ** this.#retries++, retryMsMax)
    this.#retry = runtime.setTimer(delayMs, () => {
      this.#retry = undefined
      // A server that still has nothing is believed.
      if (this.#retries >= DOUBTED_RETRIES) this.#doubted.clear()
      // The process may have been replaced meanwhile.
      if (this.#connection !== undefined)
        void this.#refresh(this.#connection, [...this.lists.failures.keys()])
    })
  }

  #log(level: LogRecord['level'], message: string): void {
    this.#context.log({ level, service: this.#context.service, message })
  }
}

function isNotFound(error: unknown): boolean {
  return error instanceof UpstreamError && error.details?.['status'] === 404
}

function someOf(names: readonly string[]): string {
  const more = names.length > NAMED_MAX ? `, and ${names.length - NAMED_MAX} more` : ''
  return `${names.slice(0, NAMED_MAX).join(', ')}${more}`
}

/** The most characters of an answer that is no list which an error shows. */
const SHOWN_LENGTH_MAX = 200

/** A list, and how long it holds; infinite unless the server says that of each page. */
export interface ReadList {
  readonly items: readonly ListItem[]
  readonly ttlMs: number
}

/** `wasEmpty` says that nothing is known to be in the list. @throws UpstreamError */
async function readList(
  { discretion, limits, log, marked, mirrors, service }: ServerContext,
  connection: ServerConnection,
  kind: ListKind,
  wasEmpty: boolean,
): Promise<ReadList> {
  const { pagesMax, itemsMax } = limits.lists
  const broken = (what: string): UpstreamError => new UpstreamError(service, 'invalid-answer', what)
  const warn = (message: string): void => log({ level: 'warn', service, message })
  const shown = (text: string): string => discretion.shown(text, SHOWN_LENGTH_MAX)
  const items: ListItem[] = []
  const faults: string[] = []
  const ttls: number[] = []
  const seen = new Set<string>()
  let params = '{}'
  const patience = connection.own.patience('listTimeoutMs')
  for (let pages = 0; pages < pagesMax; pages++) {
    const frame = await connection.ask(listShapes[kind].method, params, patience)
    if (frame.kind === 'error') {
      // A server may offer resources and know no templates: that is an empty list. One that had some is not well.
      if (kind === 'templates' && wasEmpty) return { items, ttlMs: Infinity }
      const why = frame.line.toString('utf8', frame.error.start, frame.error.end)
      throw broken(shown(why))
    }
    const page = readPage(frame, kind, itemsMax)
    if (page === undefined) throw broken('the answer holds no list')
    if (page === 'too-long' || items.length + page.items.length > itemsMax)
      throw broken(`more than ${itemsMax} items`)
    for (const item of page.items) items.push(item)
    faults.push(...page.faults)
    if (page.ttlMs !== undefined) ttls.push(page.ttlMs)
    const { cursor } = page
    const isLast = cursor === undefined || cursor === '""' || seen.has(cursor)
    if (cursor !== undefined && isLast)
      warn(
        `${listShapes[kind].method} ends after ${pages + 1} pages: the cursor ${shown(cursor)} does not advance`,
      )
    if (isLast) {
      if (faults.length > 0) warn(`not listed, because clients refuse such items: ${someOf(faults)}`)
      const isMarked = kind === 'tools' && mirrors && connection.isTyped
      const ttlMs = ttls.length > pages ? Math.min(...ttls) : Infinity
      return { items: isMarked ? marked.listed(items) : items, ttlMs }
    }
    seen.add(cursor)
    params = `{"cursor":${cursor}}`
  }
  throw broken(`more than ${pagesMax} pages`)
}

const NONE: readonly ParamHeader[] = []

/** Knows the marked arguments of each tool. */
export class MarkedTools {
  readonly #service: string
  readonly #log: LogSink
  readonly #marked = new Map<string, readonly ParamHeader[]>()

  constructor(service: string, log: LogSink) {
    this.#service = service
    this.#log = log
  }

  of(tool: string): readonly ParamHeader[] {
    return this.#marked.get(tool) ?? NONE
  }

  /** The server has these; gives those that can be called. */
  listed(tools: readonly ListItem[]): readonly ListItem[] {
    this.#marked.clear()
    return tools.filter((tool) => this.#isUsable(tool))
  }

  #isUsable({ line, key, schemaSpan }: ListItem): boolean {
    if (schemaSpan === undefined) return true
    const schema = line.subarray(schemaSpan.start, schemaSpan.end)
    const fault = markFault(schema)
    if (fault !== undefined) {
      this.#log({
        level: 'warn',
        service: this.#service,
        message: `its tool '${key}' is not listed: ${fault}`,
      })
      return false
    }
    const headers = paramHeaders(schema)
    if (headers.length > 0) this.#marked.set(key, headers)
    return true
  }
}
