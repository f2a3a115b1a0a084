// A lane: the processes of one server that one set of clients uses.

import type { NotificationFrame } from '../../jsonrpc/frame.js'
import type { Edit } from '../../jsonrpc/splice.js'
import type { Call, ClientPort } from '../../mcp/call.js'
import type { ServerFacts } from '../../mcp/eras/leg.js'
import { type ListItem, listKinds } from '../../mcp/lists.js'
import type { ListKind } from '../../mcp/methods/method-row.js'
import { shuttingDown } from '../../mcp/error-codes.js'
import { LaneClients } from './lane-clients.js'
import type { Described } from './recollection.js'
import type { LaneParts } from './lane-parts.js'
import { LaneLinks } from './lane-links.js'
import { LaneLists } from './lane-lists.js'
import { LaneStart } from './lane-start.js'
import type { ServerInstance } from './server-instance.js'
import { ServerInstances } from './server-instances.js'
import type { ServerConfig } from '../contracts/server-config.js'
import type { Lane, ServerView, UpstreamState } from '../contracts/upstream.js'

/** The processes of one server for one set of clients. */
export class PoolLane implements Lane, ServerView {
  readonly #parts: LaneParts
  readonly #members: ServerInstances
  readonly #audience = new LaneClients()
  readonly #lists: LaneLists
  readonly #links: LaneLinks
  /** What clients see of the server until something is wanted of this lane's own process. */
  #standIn: PoolLane | undefined
  /** The lanes that this one stands in for. */
  readonly #deferred = new Set<PoolLane>()
  readonly #start: LaneStart
  #retired = false
  #isClosed = false

  constructor(parts: LaneParts) {
    this.#parts = parts
    const announce = (kinds: readonly ListKind[]): void => this.#announce(kinds)
    this.#lists = new LaneLists(parts, announce, () => this.#read())
    this.#links = new LaneLinks(parts, this.#audience, this.#lists)
    this.#members = new ServerInstances(() => this.#newMember(), parts.membersMax)
    this.#start = new LaneStart(parts, this.#members, this.#links, this.#lists, () => this.#settle())
    parts.recollection.changed = announce
    // What can be answered at once is answered before a process is started.
    const isLater = !parts.isStarted && parts.recollection.facts !== undefined
    if (!parts.yields && !parts.config().lazy) this.#start.begin(isLater)
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
    if (standIn.described !== undefined) this.#parts.recollection.borrow(standIn.described)
  }

  wake(kinds: readonly ListKind[]): boolean {
    return !kinds.every((kind) => this.#parts.recollection.has(kind)) && this.#start.begin()
  }

  hurry(): void {
    this.#endDeferral()
    if (this.#lists.known) return
    // Trying again without other credentials gets nowhere, and may lock them out.
    const isRefused = this.#members.failure?.reason === 'unauthorized' && this.state !== 'starting'
    this.#start.hurry(isRefused)
  }

  get settled(): Promise<void> | undefined {
    return this.#start.settled
  }

  get listed(): Promise<void> | undefined {
    return this.#start.listed
  }

  pending(kind: ListKind): Promise<void> | undefined {
    const { recollection } = this.#parts
    const isThere = this.knows(kind) || recollection.has(kind) || recollection.isSilent
    return isThere ? undefined : this.#start.reading(kind)
  }

  reading(kind: ListKind): Promise<void> | undefined {
    return this.#start.reading(kind)
  }

  get remembered(): boolean {
    const { recollection } = this.#parts
    return recollection.facts !== undefined || recollection.isSilent
  }

  get expected(): boolean {
    return !this.#parts.recollection.isSilent
  }

  /** What the server said of itself, now or in an earlier start. */
  get described(): Described | undefined {
    const { facts } = this
    if (facts === undefined) return undefined
    const isCurrent = this.#links.facts !== undefined || this.#parts.recollection.isCurrent
    return { isCurrent, facts, lists: this.#known }
  }

  get config(): ServerConfig {
    return this.#parts.config()
  }

  get shared(): boolean {
    return this.#parts.sharing !== 'own'
  }

  get state(): UpstreamState {
    if (this.#start.isAsleep) return 'disconnected'
    const state = this.#members.state(this.#links.facts !== undefined)
    // Nobody is to take a server for well that has not said yet what it has, or cannot.
    if (state !== 'connected' || this.#lists.known) return state
    return this.#lists.failure === undefined ? 'starting' : 'error'
  }

  knows(kind: ListKind): boolean {
    return this.#lists.knows(kind)
  }

  get retired(): boolean {
    return this.#retired
  }

  /** Whether no call runs or waits here. */
  get idle(): boolean {
    return this.#members.idle
  }

  get failure(): ServerView['failure'] {
    const message = this.#lists.failure
    return this.#members.failure ?? (message === undefined ? undefined : { message, body: undefined })
  }

  get revision(): string | undefined {
    return this.#links.facts?.revision.version
  }

  get facts(): ServerFacts | undefined {
    return this.#links.facts ?? this.#parts.recollection.facts
  }

  get pids(): number[] {
    return this.#members.links.flatMap((link) => link.dialed.pid ?? [])
  }

  join(client: ClientPort): this {
    this.#audience.add(client)
    if (this.#audience.size > 1) this.#readOn()
    return this
  }

  items(kind: ListKind): readonly ListItem[] {
    return this.#parts.listing.items(kind)
  }

  call(call: Call, edits: readonly Edit[]): void {
    this.#endDeferral()
    this.#start.begin()
    const { subscribes } = call.row
    const sent =
      subscribes === undefined
        ? call
        : this.#links.standing.passing(call, subscribes, () => this.#members.firstLink)
    if (sent !== undefined) this.#members.pick(sent).call(sent, edits)
  }

  level(client: ClientPort, level: string): void {
    this.#audience.setLevel(client, level)
    this.#sendLevel()
  }

  rootsChanged(_client: ClientPort, frame: NotificationFrame): void {
    if (this.#parts.sharing !== 'own' || !this.#parts.declared.names.has('roots')) return
    for (const link of this.#members.links) link.pass(frame, [])
  }

  read(client: ClientPort, on: boolean): void {
    if (on) this.#readOn()
    else if (this.#audience.only === client) this.#links.read(false)
  }

  follow(client: ClientPort, uri: string): void {
    this.#endDeferral()
    this.#links.standing.follow(client, uri, this.#members.firstLink)
    this.#start.begin()
  }

  surrender(client: ClientPort): string[] {
    return this.#audience.surrender(client)
  }

  release(client: ClientPort): Call[] {
    return this.#members.release(client)
  }

  retire(): void {
    this.#retired = true
  }

  leave(client: ClientPort): Promise<void> | undefined {
    const { level } = this.#audience
    const unfollowed = this.#audience.remove(client)
    this.#readOn()
    if (this.#parts.sharing === 'own') {
      this.#parts.abandoned()
      return this.close()
    }
    this.#links.standing.unsubscribe(this.#members.firstLink, unfollowed)
    if (this.#audience.level !== level) this.#sendLevel()
    return undefined
  }

  async close(): Promise<void> {
    this.#isClosed = true
    if (this.#standIn !== undefined) this.#standIn.#deferred.delete(this)
    this.#parts.recollection.over()
    this.#start.close()
    this.#lists.close()
    await this.#members.close()
  }

  /** The first attempt to start a process has ended. */
  #settle(): void {
    // It has its answer, unless the server could not be reached.
    this.#parts.opening?.fail(this.#members.failure?.body ?? shuttingDown())
    // One for which there was no room is well, as far as anybody knows.
    const isUnknown = this.#isClosed || this.#members.failure?.reason === 'overloaded'
    if (this.#links.facts !== undefined || isUnknown) return
    this.#parts.recollection.late()
    this.#announce(this.#parts.recollection.forget())
  }

  /** What the server has said of itself is kept for the next start. */
  #read(): void {
    const { facts } = this.#links
    if (facts !== undefined && !this.#retired)
      this.#parts.recollection.confirmed({ facts, lists: this.#known })
  }

  /** The lists of which something is known; one that could not be read may stand as it was before. */
  get #known(): Described['lists'] {
    const { recollection } = this.#parts
    const lists = listKinds.map((kind) => [kind, this.items(kind)] as const)
    return new Map(
      lists.filter(([kind, items]) => this.knows(kind) || recollection.has(kind) || items.length > 0),
    )
  }

  /** Nobody is held back any more for the sake of one client. */
  #readOn(): void {
    this.#links.read(true)
  }

  #sendLevel(): void {
    if (this.#links.facts?.capabilities.logging !== true) return
    for (const link of this.#members.links) this.#links.standing.sendLevel(link)
  }

  #newMember(): ServerInstance {
    const member: ServerInstance = this.#parts.member(this.#links, (link, facts) => {
      this.#links.opened(member, member === this.#members.first, link, facts)
      void this.#links.reading.then(() => this.#parts.ready(link, facts))
    })
    return member
  }

  #announce(changed: readonly ListKind[]): void {
    if (changed.length === 0) return
    this.#parts.announced(changed)
    if (this.#retired) return
    for (const lane of [...this.#deferred, this])
      for (const client of lane.#audience) client.listsChanged(changed)
  }
}
