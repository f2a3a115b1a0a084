// A lane: the processes of one server that one set of clients uses.

import type { NotificationFrame } from '../../jsonrpc/frame.js'
import type { Edit } from '../../jsonrpc/splice.js'
import type { Call, ClientPort } from '../../mcp/call.js'
import type { OpenedServer, ServerFacts } from '../../mcp/eras/leg.js'
import { type CacheHint, lastingHint, staleHint } from '../../mcp/cache-hints.js'
import { type ListItem, listKinds } from '../../mcp/lists.js'
import type { ListKind } from '../../mcp/methods/method-row.js'
import { shuttingDown } from '../../mcp/error-codes.js'
import { type Described, Recollection } from './recollection.js'
import type { LaneParts } from './lane-parts.js'
import { LaneLinks } from './lane-links.js'
import { LaneLists } from './lane-lists.js'
import { ServerInstances } from './server-instances.js'
import { isOfOne, keepsTasks } from './sharing.js'
import type { ServerConfig } from '../contracts/server-config.js'
import type { Lane, ServerView, UpstreamState } from '../contracts/upstream.js'

/** The processes of one server for one set of clients. */
export class PoolLane implements Lane, ServerView {
  /** As it is now: what is shown of a server may change while it runs. */
  config: ServerConfig
  /** Its server has left the configuration. */
  retired = false
  readonly #parts: LaneParts
  readonly #left: () => void
  readonly known: ReadonlySet<ListKind>
  readonly #lists: LaneLists
  readonly #links: LaneLinks
  readonly #members: ServerInstances
  readonly #recollection: Recollection
  /** Nothing has been wanted yet of this lane's own process. */
  #isUnused = true
  /** What clients see of the server until then. */
  #standIn: PoolLane | undefined
  /** The lanes that this one stands in for. */
  readonly #deferred = new Set<PoolLane>()

  /** `left` hears that the one client of the lane has left. */
  constructor(parts: LaneParts, config: ServerConfig, left: () => void) {
    this.#parts = parts
    this.config = config
    this.#left = left
    const announce = (kinds: readonly ListKind[]): void => this.#announce(kinds)
    this.#lists = new LaneLists(parts, announce, () => this.#keep())
    this.known = this.#lists.known
    this.#links = new LaneLinks(parts, this.#lists)
    // What clients with processes of their own are listed is not what the others are; those see the common lane.
    const isKept = !parts.yields || parts.isolation === 'session'
    this.#recollection = new Recollection(parts.recollections, this.#lists, isKept)
    const settled = (): void => this.#settle()
    this.#members = new ServerInstances(parts, this.#links, this.#lists, this.#recollection, settled)
    // What can be answered at once is answered before a process is started.
    const isLater = !parts.pool.hasAdopted && this.#recollection.facts !== undefined
    if (!parts.yields && !config.lazy) this.#members.begin(isLater)
  }

  get view(): ServerView {
    return this.#standIn ?? this
  }

  /**
   * Shows another lane until a call comes: many clients only list.
   *
   * That lane is of clients that can be asked nothing.
   */
  defer(standIn: PoolLane): void {
    this.#standIn = standIn
    standIn.#deferred.add(this)
  }

  /** From now on the client sees what its own process says, and until that has started what it saw before. */
  #endDeferral(): void {
    const standIn = this.#standIn
    if (standIn === undefined) return
    this.#standIn = undefined
    standIn.#deferred.delete(this)
    if (standIn.described !== undefined) this.#recollection.borrow(standIn.described)
  }

  /** Its own process is wanted. */
  #use(): void {
    this.#isUnused = false
    this.#endDeferral()
    this.#members.begin()
  }

  wake(kinds: readonly ListKind[]): boolean {
    this.#lists.renew(kinds)
    return !kinds.every((kind) => this.#recollection.has(kind)) && this.#members.begin()
  }

  giveUp(): void {
    this.#parts.recollections.givenUp()
  }

  startNow(): void {
    this.#members.startNow()
  }

  /** Lists do not wait for its server any longer. */
  unreachable(): void {
    this.#members.unreachable()
  }

  hurry(): void {
    this.#endDeferral()
    if (this.#lists.hasNames) return
    // Trying again without other credentials gets nowhere, and may lock them out.
    const isRefused = this.#members.failure?.reason === 'unauthorized' && this.state !== 'starting'
    this.#members.hurry(isRefused)
  }

  get settled(): Promise<void> | undefined {
    return this.#members.settled
  }

  get listed(): Promise<void> | undefined {
    return this.#members.listed
  }

  pending(kind: ListKind): Promise<void> | undefined {
    const { isSilent } = this.#recollection
    const isThere = this.known.has(kind) || this.#recollection.has(kind) || isSilent
    return isThere ? undefined : this.#members.reading(kind)
  }

  reading(kind: ListKind): Promise<void> | undefined {
    return this.#members.reading(kind)
  }

  get graceMs(): number {
    return this.#members.graceMs
  }

  get lastFailure(): string | undefined {
    return this.#recollection.before?.failure
  }

  get remembered(): boolean {
    return this.#recollection.facts !== undefined || this.#recollection.isSilent
  }

  get expected(): boolean {
    return !this.#recollection.isSilent
  }

  /** What the server said of itself, now or in an earlier start. */
  get described(): Described | undefined {
    const { facts } = this
    if (facts === undefined) return undefined
    const isCurrent = this.#links.facts !== undefined || this.#recollection.isCurrent
    return { isCurrent, facts, lists: this.#describedLists }
  }

  get shared(): boolean {
    return !isOfOne(this.#parts.sharing)
  }

  get keepsTasks(): boolean {
    return keepsTasks(this.#parts.sharing)
  }

  get state(): UpstreamState {
    const { state } = this.#members
    // Nobody is to take a server for well that has not said yet what it has, or cannot.
    if (state !== 'connected' || this.#lists.hasNames) return state
    return this.#lists.failure === undefined ? 'starting' : 'error'
  }

  /** Whether no call runs or waits here. */
  get idle(): boolean {
    return this.#members.idle
  }

  get failure(): ServerView['failure'] {
    const { failure } = this.#lists
    return this.#members.failure ?? (failure && { ...failure, body: undefined })
  }

  /** What a process of its own said last; undefined before one has. */
  get server(): OpenedServer | undefined {
    return this.#links.server
  }

  get facts(): ServerFacts | undefined {
    return this.#links.facts ?? this.#recollection.facts
  }

  get pids(): number[] {
    return this.#members.links.flatMap((link) => link.dialed.pid ?? [])
  }

  join(client: ClientPort): this {
    this.#links.audience.add(client)
    if (this.#links.audience.size > 1) this.#links.read(true)
    return this
  }

  items(kind: ListKind): readonly ListItem[] {
    return this.#lists.items(kind)
  }

  /** What is only known from before, or of a server that is down, may be another with the next look. */
  hint(kind: ListKind): CacheHint {
    if (!this.known.has(kind) || this.state === 'error') return staleHint
    const { listTtlMs } = this.config
    const isThere = this.#links.facts?.capabilities[kind === 'templates' ? 'resources' : kind] !== false
    return isThere ? (this.#lists.hint(kind) ?? { ttlMs: listTtlMs, isPublic: false }) : lastingHint
  }

  call(call: Call, edits: readonly Edit[]): void {
    if (this.#isUnused) this.#use()
    const { subscribes } = call.row
    const sent =
      subscribes === undefined
        ? call
        : this.#links.standing.passing(call, subscribes, () => this.#members.firstLink)
    if (sent === undefined) return
    const member = this.#members.only ?? this.#members.pick(sent)
    member.call(sent, edits)
  }

  level(client: ClientPort, level: string): void {
    this.#links.audience.setLevel(client, level)
    this.#sendLevel()
  }

  told(_client: ClientPort, frame: NotificationFrame): void {
    const { declared, sharing } = this.#parts
    if (sharing !== 'own') return
    const isTask = frame.method === 'notifications/tasks/status'
    const id = frame.params.members.string('taskId')
    for (const link of this.#members.links)
      if (isTask ? link.inflight.asked.has(id) : declared.names.has('roots')) link.pass(frame, [])
  }

  read(client: ClientPort, on: boolean): void {
    // Nobody is held back for the sake of one client among several.
    if (on || this.#links.audience.only === client) this.#links.read(on)
  }

  follow(client: ClientPort, uri: string): void {
    this.#use()
    this.#links.standing.follow(client, uri, this.#members.firstLink)
  }

  surrender(client: ClientPort): string[] {
    return this.#links.audience.surrender(client)
  }

  release(client: ClientPort): Call[] {
    return this.#members.release(client).map(({ call }) => call)
  }

  /** Gives another lane of the same server the client's calls that have not begun here. */
  moveTo(lane: Lane, client: ClientPort): void {
    for (const { call, edits } of this.#members.release(client)) lane.call(call, edits)
  }

  leave(client: ClientPort): Promise<void> | undefined {
    const { level } = this.#links.audience
    const unfollowed = this.#links.audience.remove(client)
    this.#links.read(true)
    for (const link of this.#members.links) link.inflight.tasks.left(client)
    if (isOfOne(this.#parts.sharing)) {
      this.#left()
      return this.close()
    }
    this.#links.standing.unsubscribe(this.#members.firstLink, unfollowed)
    if (this.#links.audience.level !== level) this.#sendLevel()
    return undefined
  }

  async close(): Promise<void> {
    this.#links.isClosed = true
    if (this.#standIn !== undefined) this.#standIn.#deferred.delete(this)
    this.#recollection.over()
    this.#lists.close()
    await this.#members.close()
  }

  /** The first attempt to start a process has ended. */
  #settle(): void {
    // It has its answer, unless the server could not be reached.
    this.#parts.opening?.fail(this.#members.failure?.body ?? shuttingDown())
    // One for which there was no room is well, as far as anybody knows.
    const { failure } = this.#members
    const isUnknown = this.#links.isClosed || failure?.reason === 'overloaded'
    if (this.#links.facts !== undefined || isUnknown) return
    this.#recollection.failed(failure?.message ?? 'it did not start')
    this.#announce(this.#recollection.forget())
  }

  /** What the server has said of itself is kept for the next start. */
  #keep(): void {
    const { facts } = this.#links
    if (facts !== undefined && !this.retired)
      this.#recollection.confirmed({ facts, lists: this.#describedLists })
  }

  /** The lists of which something is known; one that could not be read may stand as it was before. */
  get #describedLists(): Described['lists'] {
    const lists = listKinds.map((kind) => [kind, this.items(kind)] as const)
    return new Map(
      lists.filter(
        ([kind, items]) => this.known.has(kind) || this.#recollection.has(kind) || items.length > 0,
      ),
    )
  }

  #sendLevel(): void {
    if (this.#links.facts?.capabilities.logging !== true) return
    for (const link of this.#members.links) this.#links.standing.sendLevel(link)
  }

  #announce(changed: readonly ListKind[]): void {
    if (changed.length === 0) return
    this.#parts.reports.lists(this.#lists, this.#parts.client, changed)
    if (this.retired) return
    for (const lane of [...this.#deferred, this])
      for (const client of lane.#links.audience) client.listsChanged(changed)
  }
}
