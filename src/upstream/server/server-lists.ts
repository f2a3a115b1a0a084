// The lists of a server for one lane: kept from an earlier start, copied from another lane, or read from a
// process.
//
// The proxy reads a list when the first process of the lane opens, when a process reports a change, and again
// after a failure. A list that cannot be read stays unchanged, so that a server which is only partly back
// does not appear empty. `mcps.lock` decides which items clients see. Accepted items stay the same objects,
// with the bytes of the server.

import type { OpenedServer, ServerFacts } from '../../mcp/eras/server-opener.js'
import { upstreamFailed } from '../../mcp/error-codes.js'
import { isSameItem, type ListItem, listKinds, listShapes } from '../../mcp/list-items.js'
import type { ListKind } from '../../mcp/methods.js'
import type { Timer } from '../../runtime/runtime.js'
import { errorText } from '../../text/error-text.js'
import { UpstreamError } from '../contracts/upstream-error.js'
import type { KeptFacts } from '../contracts/kept.js'
import type { Listed, ListChange, ListGuard, Verdict } from '../contracts/list-guard.js'
import type { ServerConfig } from '../contracts/server-config.js'
import type { Before, UpstreamFailure } from '../contracts/upstream.js'
import type { ServerConnection } from './server-connection.js'
import type { ServerContext } from './context.js'
import { beforeOf, type Described } from './server-memory.js'
import { type ReadList, readList } from './read-list.js'
import { ofEach, reportLists } from './reports.js'
import type { LaneScope } from './sharing.js'

const NOTHING: readonly ListItem[] = []

const lockedKinds = ['tools', 'prompts'] as const

class ListState {
  /** From this start or an earlier one. Unchanged items stay the same objects. */
  items: readonly ListItem[] = NOTHING
  /** How many items are left out, because clients would refuse them. */
  leftOut = 0
  listedAt: number | undefined
  /** When the list is out of date, if the server has given a time. */
  expiresAt = Infinity
  reading: Promise<void> | undefined
  /** The connection that has reported a change during the read. */
  stale: ServerConnection | undefined
  /** Whether the list is read because a process has reported a change. */
  isReported = false
  /** Failed reads in a row; without failures, reads after a reported change that found no change. */
  useless = 0
  /** The end of the pause after a reported change. Some servers report a change after every read. */
  pauseEndsAt = -Infinity
  timer: Timer | undefined
}

export class ServerLists {
  readonly #context: ServerContext
  readonly #scope: LaneScope
  readonly #onChange: (kinds: readonly ListKind[]) => void
  /** The latest description of a process, and how its era was found; undefined before the first handshake. */
  server: OpenedServer | undefined
  readonly #states: Readonly<Record<ListKind, ListState>> = ofEach(() => new ListState())
  readonly #listedKinds = new Set<ListKind>()
  /** The lists that were read, and those that the server does not have. */
  readonly listed: ReadonlySet<ListKind> = this.#listedKinds
  readonly #failures = new Map<ListKind, UpstreamFailure>()
  /** A tool of the proxy, listed behind those of the server until the server's tools have been read. */
  #ownTool: ListItem | undefined
  #judged: { readonly inputs: readonly unknown[]; readonly verdict: Verdict | undefined } | undefined
  #extended: { readonly judged: readonly ListItem[]; readonly items: readonly ListItem[] } | undefined
  #wasBlocked: string | undefined

  /** Whether the lists of this lane are kept for the next start, even if other lanes have some. */
  readonly #keeps: boolean
  /** Whether this start of the proxy had a description from an earlier one. */
  readonly wasKept: boolean
  /** The facts of an earlier run, and the shown description; undefined after the start. */
  #kept: { readonly facts: KeptFacts | undefined; shown: Described | undefined } | undefined

  #connection: ServerConnection | undefined
  /** Resolves when the reads after the start of a process have ended. */
  firstReads: Promise<void> = Promise.resolve()
  #rounds = 0
  #login: { readonly why: UpstreamFailure; readonly watch: Timer } | undefined

  /** `onChange` gets the changed lists, and an empty array after each read or failed read. */
  constructor(context: ServerContext, scope: LaneScope, onChange: (kinds: readonly ListKind[]) => void) {
    this.#context = context
    this.#scope = scope
    this.#onChange = onChange
    // The lists of a process for one client may differ from those that other clients see.
    this.#keeps = !scope.startsOnCall || context.isolation === 'session'
    const { kept, described } = context.memory
    this.#kept = { facts: kept, shown: undefined }
    this.wasKept = described !== undefined
    this.showKept()
  }

  /** The items before the lock, and without a tool of the proxy. */
  items(kind: ListKind): readonly ListItem[] {
    return this.#states[kind].items
  }

  get leftOut(): number {
    return Object.values(this.#states).reduce((sum, state) => sum + state.leftOut, 0)
  }

  get hasNames(): boolean {
    return this.listed.has('tools') && this.listed.has('prompts')
  }

  listedAt(kind: ListKind): number | undefined {
    return this.#states[kind].listedAt
  }

  reading(kind: ListKind): Promise<void> | undefined {
    return this.#states[kind].reading
  }

  get isBusy(): boolean {
    const failed = [...this.#failures.keys()]
    return this.#rounds > 0 || failed.some((kind) => this.#states[kind].timer !== undefined)
  }

  /** Why the last read of a list failed, or the login that calls need; undefined without a problem. */
  get failure(): UpstreamFailure | undefined {
    const [why] = this.#failures.values()
    return why ?? this.#login?.why
  }

  /** Lists the login tool, if there is one, unless the server has a tool of that name. */
  showLoginTool(): void {
    const tool = this.#context.logins?.()?.tool?.item
    if (tool === undefined || this.#ownTool === tool) return
    if (this.items('tools').some(({ key }) => key === tool.key)) return
    this.#ownTool = tool
    this.#announce(['tools'])
  }

  // The lists that clients see.

  get facts(): ServerFacts | undefined {
    const facts = this.#reported
    return facts && shownFacts(facts, this.#verdict)
  }

  get changes(): readonly ListChange[] {
    return this.#verdict?.changes ?? []
  }

  shown(kind: ListKind): readonly ListItem[] {
    const all = this.items(kind)
    const verdict = this.#verdict
    if (kind !== 'tools' && kind !== 'prompts') return verdict?.blocked === undefined ? all : NOTHING
    const judged = verdict?.lists.get(kind) ?? all
    const tool = this.#ownTool
    if (kind === 'prompts' || tool === undefined) return judged
    // The same items give the same array.
    if (this.#extended?.judged !== judged) this.#extended = { judged, items: [...judged, tool] }
    return this.#extended.items
  }

  /** Why calls are blocked. Lists of an earlier start block no call, and a failed read unblocks none. */
  get blocked(): UpstreamFailure | undefined {
    const blocked = this.#verdict?.blocked
    if (blocked === undefined) return undefined
    const { why, by } = blocked
    const isOwn = by.some((kind) => (kind === 'instructions' ? this.listed.size > 0 : this.listed.has(kind)))
    if (!this.hasNames && by.length > 0 && !isOwn) return undefined
    return { message: why, reason: 'changed', body: upstreamFailed(this.#context.service, 'changed', why) }
  }

  get #reported(): ServerFacts | undefined {
    return this.server?.facts ?? this.#kept?.shown?.facts
  }

  /** Undefined if clients see everything. Every call reads this, and most configurations have no lock. */
  get #verdict(): Verdict | undefined {
    const guard = this.#context.guard()
    if (guard === undefined) return undefined
    const { config } = this.#context
    const facts = this.#reported
    const listed = this.#listed(facts, (kind) => this.#isKnown(kind))
    const inputs = [guard, config, facts, listed.lists.get('tools'), listed.lists.get('prompts')]
    if (!inputs.every((input, at) => input === this.#judged?.inputs[at]))
      this.#judged = { inputs, verdict: guard.judge(config, listed) }
    return this.#judged?.verdict
  }

  #listed(facts: ServerFacts | undefined, isIncluded: (kind: 'tools' | 'prompts') => boolean): Listed {
    const lists = new Map(lockedKinds.filter(isIncluded).map((kind) => [kind, this.items(kind)]))
    return { instructions: instructionsOf(facts), lists }
  }

  /** Whether the list is known. A list that could not be read may still have its earlier items. */
  #isKnown(kind: ListKind): boolean {
    return this.listed.has(kind) || this.isKept(kind) || this.items(kind).length > 0
  }

  /** Whether the server was blocked or unblocked since the last check. */
  #hasTurned(): boolean {
    const before = this.#wasBlocked
    this.#wasBlocked = this.blocked?.message
    return before !== this.#wasBlocked
  }

  #announce(kinds: readonly ListKind[]): void {
    const { memory } = this.#context
    // A client may list the tools and kill the proxy before the other lists are read.
    if (memory.described === undefined && this.listed.has('tools')) this.#keep()
    if (kinds.length === 0) return this.#onChange(kinds)
    reportLists(this.#context, this, this.#scope.client, kinds)
    // A list may block the server, which hides the other lists too.
    if (this.#context.retiredBecause === undefined) this.#onChange(this.#hasTurned() ? listKinds : kinds)
  }

  /** Keeps the server's description and lists for the next start, and for lanes that show them. */
  #keep(): void {
    const { config, guard, memory, retiredBecause } = this.#context
    if (this.server === undefined || retiredBecause !== undefined) return
    const { facts } = this.server
    const kinds = listKinds.filter((kind) => this.#isKnown(kind))
    const lists = new Map(kinds.map((kind) => [kind, this.items(kind)]))
    this.endKept()
    if (this.#keeps || memory.facts === undefined) memory.confirmed({ facts, lists })
    const listed = this.#listed(facts, (kind) => this.listed.has(kind) && !this.#failures.has(kind))
    guard()?.complete(config, listed, listed.lists.size === lockedKinds.length)
    if (this.#hasTurned()) this.#announce(listKinds)
  }

  // Lists of an earlier start, or of another process.

  get isShowingKept(): boolean {
    return this.#kept?.shown !== undefined
  }

  get before(): Before {
    return beforeOf(this.#kept?.facts, this.isShowingKept)
  }

  /** Whether this list was kept. A list that could not be read then is unknown. */
  isKept(kind: ListKind): boolean {
    return this.#kept?.shown?.lists.has(kind) === true
  }

  /** Shows the lists of an earlier start, or of other clients, until the server has been asked. */
  showKept(): void {
    const { described } = this.#context.memory
    if (this.#kept === undefined || described === undefined) return
    this.#kept.shown = described
    for (const [kind, items] of described.lists) {
      const state = this.#states[kind]
      const isSame = state.items.length === items.length
      if (!isSame || !state.items.every((item, at) => isSameItem(item, items[at]))) state.items = items
    }
  }

  /**
   * Records that the first attempt failed, so that the next start does not wait for the server.
   *
   * Clients do not see the facts of an earlier run any more. Those of another process of this run stay, as
   * after a crash.
   */
  startFailed(why: string): void {
    if (this.#kept === undefined) return
    this.#context.memory.storeFailure(why)
    if (this.isShowingKept && this.#context.memory.isConfirmed) return
    this.endKept()
    const forgotten = listKinds.filter((kind) => {
      const { items, listedAt } = this.#states[kind]
      return items.length > 0 && listedAt === undefined
    })
    for (const kind of forgotten) this.#states[kind].items = NOTHING
    this.#announce(forgotten)
  }

  endKept(): void {
    this.#kept = undefined
  }

  // Reads.

  /** Reads the lists of the first process that is ready, or of another one while the first is missing. */
  opened(connection: ServerConnection, server: OpenedServer, isFirst: boolean): void {
    this.server = server
    if (!isFirst && this.#connection !== undefined) return
    this.#endLogin()
    this.#connection = connection
    for (const kind of listKinds) {
      const state = this.#states[kind]
      state.useless = 0
      if (state.listedAt !== undefined || !offers(connection, kind)) this.#listedKinds.add(kind)
      else this.#listedKinds.delete(kind)
    }
    this.firstReads = this.#refresh(connection, listKinds)
  }

  /** Reads wanted lists again if they have expired and the server reports no changes of them. */
  renew(kinds: readonly ListKind[]): void {
    const now = this.#context.runtime.now()
    const old = kinds.filter((kind) => {
      const isReported = this.#connection?.facts?.capabilities.changes.includes(kind) === true
      return !isReported && !this.#failures.has(kind) && Math.round(this.#states[kind].expiresAt - now) <= 0
    })
    if (this.#connection !== undefined && old.length > 0) void this.#refresh(this.#connection, old)
  }

  async readMissing(): Promise<void> {
    if (this.#connection === undefined || this.hasNames) return
    const failed = [...this.#failures.keys()]
    for (const kind of failed) this.#renewed(this.#states[kind])
    await this.#refresh(this.#connection, failed)
  }

  changed(connection: ServerConnection, kinds: readonly ListKind[]): void {
    const due = kinds.filter((kind) => {
      const state = this.#states[kind]
      state.isReported = true
      const waitMs = state.pauseEndsAt - this.#context.runtime.now()
      if (waitMs > 0) this.#readLater(kind, waitMs)
      return waitMs <= 0
    })
    if (due.length > 0) void this.#refresh(connection, due)
  }

  /** Reads the lists again, because notifications of changes may have been lost. */
  missed(connection: ServerConnection): void {
    const changes = connection.facts?.capabilities.changes ?? []
    if (connection === this.#connection && changes.length > 0) void this.#refresh(connection, changes)
  }

  /** The server requires a login during its session. After the login its lists are read again. */
  loginNeeded(connection: ServerConnection, why: UpstreamFailure): void {
    const logins = this.#context.logins?.()
    if (logins === undefined || connection !== this.#connection || this.#login !== undefined) return
    this.showLoginTool()
    const watch = logins.onChange(() => {
      this.#login = undefined
      if (this.#connection !== undefined) void this.#refresh(this.#connection, listKinds)
    })
    this.#login = { why, watch }
  }

  /** Stops reads; ignores a connection from which the lists are not read. */
  close(connection: ServerConnection | undefined = this.#connection): void {
    if (connection !== this.#connection) return
    this.#connection = undefined
    for (const kind of listKinds) this.#renewed(this.#states[kind])
    this.#endLogin()
  }

  /** Clients see each list as soon as it is read: tools need not wait for resources. */
  async #refresh(connection: ServerConnection, kinds: readonly ListKind[]): Promise<void> {
    this.#rounds++
    await Promise.all(kinds.map((kind) => this.#readOnce(connection, kind)))
    this.#rounds--
    this.#keep()
    if (this.#connection === undefined) return
    const { retriesMax } = this.#context.limits.lists
    for (const [kind, failure] of this.#failures) {
      const state = this.#states[kind]
      if (failure.reason === 'login-required') this.loginNeeded(connection, failure)
      else if (state.useless <= retriesMax) this.#readLater(kind, this.#delayMs(state))
    }
  }

  /** A server that cannot list now may be able to in a moment. */
  #readLater(kind: ListKind, delayMs: number): void {
    const state = this.#states[kind]
    state.timer ??= this.#context.runtime.setTimer(delayMs, () => {
      state.timer = undefined
      // Another process may have replaced this one.
      if (this.#connection !== undefined) void this.#refresh(this.#connection, [kind])
    })
  }

  #delayMs({ useless }: ListState): number {
    const { retryMs, retryMsMax } = this.#context.limits.lists
    return Math.min(retryMs * 2 ** Math.max(useless - 1, 0), retryMsMax)
  }

  #renewed(state: ListState): void {
    state.timer?.cancel()
    state.timer = undefined
    state.useless = 0
    state.pauseEndsAt = -Infinity
  }

  /**
   * Reads a list, one read at a time. A change that is reported during a read causes one more read.
   *
   * Calls wait for the returned promise. A server that reports one change after another does not delay them,
   * because the further reads have their own promise.
   */
  #readOnce(connection: ServerConnection, kind: ListKind): Promise<void> {
    const state = this.#states[kind]
    if (state.reading !== undefined) {
      state.stale = connection
      return state.reading
    }
    const read = async (): Promise<void> => {
      await this.#readNow(connection, kind)
      if (state.stale !== undefined) await this.#readNow(state.stale, kind)
    }
    state.reading = read().finally(() => {
      state.reading = undefined
      this.#announce([])
      if (state.stale !== undefined) this.changed(state.stale, [kind])
    })
    return state.reading
  }

  async #readNow(connection: ServerConnection, kind: ListKind): Promise<void> {
    const state = this.#states[kind]
    state.stale = undefined
    const { items: before } = state
    const wasWell = !this.#failures.has(kind)
    const tool = this.#ownTool
    try {
      if (offers(connection, kind))
        this.#take(kind, state, await readList(this.#context, connection, kind, before.length === 0))
      else this.#accept(kind, state, [])
    } catch (error) {
      this.#failed(kind, error)
      // Perhaps the session is missing: a request that every server answers detects this and opens another
      // session.
      if (isNotFound(error) && !connection.isStateless) void connection.ask('ping', '{}').catch(() => {})
    }
    const hasChanged = state.items !== before
    // In the turn of the answer, so that a call that waits for the list finds its items, and before another
    // read, so that clients can call the tools that they see.
    if (hasChanged || (kind === 'tools' && this.#ownTool !== tool)) this.#announce([kind])
    const isUseless = !hasChanged && (state.isReported || this.#failures.has(kind))
    if (isUseless) state.useless = wasWell && this.#failures.has(kind) ? 1 : state.useless + 1
    else if (hasChanged || !wasWell) state.useless = 0
    if (isUseless && state.isReported) state.pauseEndsAt = this.#context.runtime.now() + this.#delayMs(state)
    state.isReported = false
  }

  #take(kind: ListKind, state: ListState, { items, ttlMs, leftOut }: ReadList): void {
    this.#accept(kind, state, items)
    this.#listedKinds.add(kind)
    state.leftOut = leftOut
    const now = this.#context.runtime.now()
    state.listedAt ??= now
    state.expiresAt = now + ttlMs
  }

  #accept(kind: ListKind, state: ListState, items: readonly ListItem[]): void {
    this.#failures.delete(kind)
    if (kind === 'tools') this.#ownTool = undefined
    const byKey = new Map(state.items.map((item) => [item.key, item]))
    const merged = items.map((item) => {
      const before = byKey.get(item.key)
      return before !== undefined && isSameItem(before, item) ? before : item
    })
    const isSame =
      merged.length === state.items.length && merged.every((item, at) => item === state.items[at])
    if (!isSame) state.items = merged
  }

  #failed(kind: ListKind, error: unknown): void {
    const said = errorText(error)
    const message = `${listShapes[kind].method}: ${said.replace(`'${this.#context.service}': `, '')}`
    const reason = error instanceof UpstreamError ? error.reason : undefined
    const body = error instanceof UpstreamError && reason === 'login-required' ? error.body : undefined
    this.#failures.set(kind, { message, reason, body })
    const kept = this.items(kind).length === 0 ? '' : '; its earlier list stays'
    // A stopping server cannot list, which deserves no warning.
    this.#context.tell(reason === 'shutting-down' ? 'debug' : 'warn', `${message}${kept}`)
  }

  #endLogin(): void {
    this.#login?.watch.cancel()
    this.#login = undefined
  }
}

function offers({ facts }: ServerConnection, kind: ListKind): boolean {
  return facts?.capabilities[kind === 'templates' ? 'resources' : kind] === true
}

function isNotFound(error: unknown): boolean {
  return error instanceof UpstreamError && error.details?.['status'] === 404
}

function instructionsOf(facts: ServerFacts | undefined): Listed['instructions'] {
  return facts && { text: facts.instructions }
}

/** The facts of an earlier start that clients may see before a client uses the server. */
export function guardedFacts(
  guard: ListGuard | undefined,
  config: ServerConfig,
  facts: ServerFacts | undefined,
): ServerFacts | undefined {
  if (guard === undefined || facts === undefined) return facts
  return shownFacts(facts, guard.judge(config, { instructions: instructionsOf(facts), lists: new Map() }))
}

function shownFacts(facts: ServerFacts, verdict: Verdict | undefined): ServerFacts {
  return verdict?.showsInstructions === false ? { ...facts, instructions: undefined } : facts
}
