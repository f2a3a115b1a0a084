// The lists of a server as one lane knows them: kept of an earlier start, said by another process, or read from its own.
//
// A list is read when the first process of the lane opens, when a process says that it has changed, and again where that
// failed. A list that cannot be read stays as it was, so that a server which comes back half does not look as if it had
// nothing. Clients get all of it as `mcps.lock` lets them see it; accepted items stay the same objects, with the bytes of the
// server.

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
  /** Of this start or an earlier one. Items that did not change stay the same objects. */
  items: readonly ListItem[] = NOTHING
  /** How many more the server has, which clients would refuse. */
  leftOut = 0
  listedAt: number | undefined
  /** When it is out of date, where the server has given a time. */
  expiresAt = Infinity
  reading: Promise<void> | undefined
  /** The connection that has reported a change while it was read. */
  stale: ServerConnection | undefined
  /** It is read because a process says that it has changed. */
  isReported = false
  /** Reads in a row that failed; while none fails, those that changed nothing although a change was reported. */
  useless = 0
  /** A reported change is not read before this: some servers report one whenever their list is read. */
  pauseEndsAt = -Infinity
  /** Runs until it is read again. */
  timer: Timer | undefined
}

export class ServerLists {
  readonly #context: ServerContext
  readonly #scope: LaneScope
  readonly #onChange: (kinds: readonly ListKind[]) => void
  /** The latest description that a process gave, and how its revision was found out; undefined before the first handshake. */
  server: OpenedServer | undefined
  readonly #states: Readonly<Record<ListKind, ListState>> = ofEach(() => new ListState())
  readonly #listedKinds = new Set<ListKind>()
  /** The lists that were read, and those that the server does not have. */
  readonly listed: ReadonlySet<ListKind> = this.#listedKinds
  readonly #failures = new Map<ListKind, UpstreamFailure>()
  /** A tool of the proxy's own, which is listed behind those of the server until these have been read. */
  #ownTool: ListItem | undefined
  /** The last verdict of the lock, and everything that it depends on. */
  #judged: { readonly inputs: readonly unknown[]; readonly verdict: Verdict | undefined } | undefined
  /** The last list with a tool of the proxy's own. */
  #extended: { readonly judged: readonly ListItem[]; readonly items: readonly ListItem[] } | undefined
  #wasBlocked: string | undefined

  /** Whether what this server says is kept for the next start, and not only what the processes of other lanes say. */
  readonly #keeps: boolean
  /** Whether a description of an earlier start was there at this one. */
  readonly wasKept: boolean
  /** The facts of an earlier run, and the description that is shown; undefined once this start has ended. */
  #kept: { readonly facts: KeptFacts | undefined; shown: Described | undefined } | undefined

  /** The connection of the process whose lists these are. */
  #connection: ServerConnection | undefined
  /** Resolves when the reads that the start of a process began have ended. */
  firstReads: Promise<void> = Promise.resolve()
  #rounds = 0
  /** The login that the server wants. */
  #login: { readonly why: UpstreamFailure; readonly watch: Timer } | undefined

  /** `onChange` names the lists that have changed; none where one was read, or could not be. */
  constructor(context: ServerContext, scope: LaneScope, onChange: (kinds: readonly ListKind[]) => void) {
    this.#context = context
    this.#scope = scope
    this.#onChange = onChange
    // The lists of a client's own process may differ from those of the common lane, which other clients see.
    this.#keeps = !scope.startsOnCall || context.isolation === 'session'
    const { kept, described } = context.memory
    this.#kept = { facts: kept, shown: undefined }
    this.wasKept = described !== undefined
    this.showKept()
  }

  /** Before the lock, and without a tool of the proxy's own. */
  items(kind: ListKind): readonly ListItem[] {
    return this.#states[kind].items
  }

  /** How many items of all lists are left out, because clients would refuse them. */
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

  get busy(): boolean {
    const failed = [...this.#failures.keys()]
    return this.#rounds > 0 || failed.some((kind) => this.#states[kind].timer !== undefined)
  }

  /** Why the last read of some list failed, or the login that calls need; undefined when nothing is wrong. */
  get failure(): UpstreamFailure | undefined {
    const [why] = this.#failures.values()
    return why ?? this.#login?.why
  }

  /** Lists the tool by which a person logs in, where there is one, unless the server has one of that name. */
  showLoginTool(): void {
    const tool = this.#context.logins?.()?.tool?.item
    if (tool === undefined || this.#ownTool === tool) return
    if (this.items('tools').some(({ key }) => key === tool.key)) return
    this.#ownTool = tool
    this.#announce(['tools'])
  }

  // The lists as clients see them.

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
    // The result is the same array for the same items.
    if (this.#extended?.judged !== judged) this.#extended = { judged, items: [...judged, tool] }
    return this.#extended.items
  }

  /** Why no call may go to the server; what an earlier start has listed blocks none, and a list that fails saves none. */
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

  /** Undefined where everything is shown. Every call asks, and most configurations have no lock. */
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

  /** Whether something is known of the list; one that could not be read may stand as it was before. */
  #isKnown(kind: ListKind): boolean {
    return this.listed.has(kind) || this.isKept(kind) || this.items(kind).length > 0
  }

  /** Whether the server is blocked since the last look, or is not any more. */
  #hasTurned(): boolean {
    const before = this.#wasBlocked
    this.#wasBlocked = this.blocked?.message
    return before !== this.#wasBlocked
  }

  #announce(kinds: readonly ListKind[]): void {
    const { memory } = this.#context
    // A client may list the tools and kill the proxy before the other lists have come.
    if (memory.described === undefined && this.listed.has('tools')) this.#keep()
    if (kinds.length === 0) return this.#onChange(kinds)
    reportLists(this.#context, this, this.#scope.client, kinds)
    // A list may block the server, and then the others are not shown either.
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

  // Lists from before this start, or of another process.

  /** Whether lists of before this start are shown. */
  get isShowingKept(): boolean {
    return this.#kept?.shown !== undefined
  }

  get before(): Before {
    return beforeOf(this.#kept?.facts, this.isShowingKept)
  }

  /** Whether this list was kept: one that could not be read then is not known. */
  isKept(kind: ListKind): boolean {
    return this.#kept?.shown?.lists.has(kind) === true
  }

  /** Shows what the server listed in an earlier start, or to other clients, until it has been asked. */
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
   * The first attempt has failed, so the next start does not wait for the server.
   *
   * The facts of an earlier run are not shown any more. Those of another process of this run stay, as after a crash.
   */
  startFailed(why: string): void {
    if (this.#kept === undefined) return
    this.#context.memory.failed(why)
    if (this.isShowingKept && this.#context.memory.isConfirmed) return
    this.endKept()
    const forgotten = listKinds.filter((kind) => {
      const { items, listedAt } = this.#states[kind]
      return items.length > 0 && listedAt === undefined
    })
    for (const kind of forgotten) this.#states[kind].items = NOTHING
    this.#announce(forgotten)
  }

  /** From now on nothing is shown that was kept. */
  endKept(): void {
    this.#kept = undefined
  }

  // Reads.

  /** A process is ready, and its lists are read; of a further one only while the first is not there. */
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

  /** A client wants these lists: an expired one is shown and read anew, unless the server reports changes. */
  renew(kinds: readonly ListKind[]): void {
    const now = this.#context.runtime.now()
    const old = kinds.filter((kind) => {
      const isReported = this.#connection?.facts?.capabilities.changes.includes(kind) === true
      return !isReported && !this.#failures.has(kind) && Math.round(this.#states[kind].expiresAt - now) <= 0
    })
    if (this.#connection !== undefined && old.length > 0) void this.#refresh(this.#connection, old)
  }

  /** Reads those that could not be read once more, now. */
  async readMissing(): Promise<void> {
    if (this.#connection === undefined || this.hasNames) return
    const failed = [...this.#failures.keys()]
    for (const kind of failed) this.#renewed(this.#states[kind])
    await this.#refresh(this.#connection, failed)
  }

  /** A process says that these have changed. */
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

  /** Notifications of changes may have been lost, so the lists are read again. */
  missed(connection: ServerConnection): void {
    const changes = connection.facts?.capabilities.changes ?? []
    if (connection === this.#connection && changes.length > 0) void this.#refresh(connection, changes)
  }

  /** The server wants a login during its session: after a login its lists are read again. */
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

  /** Nothing more is read; with a connection, only where the lists are those of its process. */
  close(connection: ServerConnection | undefined = this.#connection): void {
    if (connection !== this.#connection) return
    this.#connection = undefined
    for (const kind of listKinds) this.#renewed(this.#states[kind])
    this.#endLogin()
  }

  /** Each list is shown as soon as it has been read: tools need not wait for resources. */
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
      // The process may have been replaced meanwhile.
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
   * One read at a time for each list: a change that is announced during a read makes it read once more.
   *
   * Calls wait for what this gives. A server that announces one change after the other does not keep them waiting: the
   * further reads are a reading of their own.
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
      // It may be the session that is not found: a request that every server answers finds out, and begins another one.
      if (isNotFound(error) && !connection.isStateless) void connection.ask('ping', '{}').catch(() => {})
    }
    const hasChanged = state.items !== before
    // In the turn in which the list is known: a call that waits for the list finds its items. And not after another
    // read: clients must be able to call what they are shown.
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
    const kept = this.items(kind).length === 0 ? '' : '; what was known of it stays'
    // A server that is being stopped cannot list: that is no warning.
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

/** The facts of an earlier start as clients may see them before one uses the server. */
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
