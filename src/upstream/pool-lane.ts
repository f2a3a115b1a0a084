// A lane: the processes of one server that one set of clients uses.
//
// Everything that a server says without naming a client is decided here. What
// cannot be tied to one client is refused or logged, never broadcast.

import type { NotificationFrame, RequestFrame } from '../jsonrpc/frame.js'
import type { Edit } from '../jsonrpc/splice.js'
import type { Call, ClientPort } from '../mcp/call.js'
import type { ClientCapabilities } from '../mcp/capabilities.js'
import type { ServerFacts } from '../mcp/eras/leg.js'
import { methodNotFound } from '../mcp/error-codes.js'
import type { ListItem } from '../mcp/lists.js'
import type { ListKind, ServerNotificationRow, ServerRequestRow } from '../mcp/method-row.js'
import { Audience } from './audience.js'
import { asUpstreamError } from './errors.js'
import type { LogSink } from './host.js'
import type { Link, LinkOwner } from './link.js'
import type { Listing } from './listing.js'
import type { Member } from './member.js'
import { Notices } from './notices.js'
import type { ServerConfig } from './server-config.js'
import { Standing } from './standing.js'
import type { Lane, UpstreamState } from './upstream.js'

/** Who shares the processes of a lane. */
export type Sharing =
  /** Clients that can be asked nothing. */
  | 'plain'
  /** One client. */
  | 'own'
  /** Everybody; what a server asks belongs to the one askable call that runs. */
  | 'shared'

/** How a lane gets its processes, and what it tells when it ends. */
export interface LaneParts {
  readonly config: ServerConfig
  readonly sharing: Sharing
  /** What its servers are told that clients can do. */
  readonly declared: ClientCapabilities
  readonly listing: Listing
  readonly log: LogSink
  readonly membersMax: number
  /** A process whose links report to `owner`; `opened` is awaited before calls start. */
  member(owner: LinkOwner, opened: (link: Link, facts: ServerFacts) => void): Member
  /** Nobody uses the lane any more. */
  abandoned(lane: PoolLane): void
}

/** The processes of one server for one set of clients. */
export class PoolLane implements Lane, LinkOwner {
  readonly config: ServerConfig
  readonly settled: Promise<void>
  readonly #parts: LaneParts
  readonly #members: Member[] = []
  readonly #audience = new Audience()
  readonly #notices: Notices
  readonly #standing: Standing
  readonly #byLink = new Map<Link, Member>()
  #facts: ServerFacts | undefined
  #listed: Promise<unknown> = Promise.resolve()

  constructor(parts: LaneParts) {
    this.config = parts.config
    this.#parts = parts
    this.#standing = new Standing(this.#audience, (message) => this.#log('debug', message))
    this.#notices = new Notices({
      audience: this.#audience,
      refresh: (link, lists) => this.#refresh(link, lists),
      kept: (message) => this.#log('debug', message),
    })
    this.settled = this.#first()
  }

  get state(): UpstreamState {
    const states = this.#members.map((member) => member.supervisor.state)
    if (states.includes('ready')) return 'connected'
    if (states.includes('starting')) return 'starting'
    // A process at rest comes back for the next call.
    if (states.includes('stopped')) return this.#facts === undefined ? 'starting' : 'connected'
    return states.includes('closed') ? 'disconnected' : 'error'
  }

  get failure(): string | undefined {
    return this.#members.find((member) => member.supervisor.failure)?.supervisor.failure?.message
  }

  get capabilities(): ServerFacts['capabilities'] | undefined {
    return this.#facts?.capabilities
  }

  get instructions(): string | undefined {
    return this.#facts?.instructions
  }

  get sharing(): Sharing {
    return this.#parts.sharing
  }

  get clients(): number {
    return this.#audience.size
  }

  get pids(): number[] {
    return this.#members.flatMap((member) => member.supervisor.link?.dialed.pid ?? [])
  }

  join(client: ClientPort): this {
    this.#audience.add(client)
    return this
  }

  items(kind: ListKind): readonly ListItem[] {
    return this.#parts.listing.items(kind)
  }

  call(call: Call, edits: readonly Edit[]): void {
    if (call.row.subscribes !== undefined && this.#isSettledHere(call, call.row.subscribes)) return
    this.#memberFor(call).call(call, edits)
  }

  level(client: ClientPort, level: string): void {
    this.#audience.setLevel(client, level)
    if (this.#facts?.capabilities.logging !== true) return
    for (const link of this.#links()) this.#standing.sendLevel(link)
  }

  rootsChanged(_client: ClientPort, frame: NotificationFrame): void {
    if (this.#parts.sharing !== 'own' || !this.#parts.declared.names.has('roots')) return
    for (const link of this.#links()) link.pass(frame, [])
  }

  read(client: ClientPort, on: boolean): void {
    if (this.#audience.only !== client) return
    for (const link of this.#links()) link.read(on)
  }

  async leave(client: ClientPort): Promise<void> {
    const unfollowed = this.#audience.remove(client)
    if (this.#parts.sharing === 'own') {
      this.#parts.abandoned(this)
      return this.close()
    }
    for (const link of this.#links()) this.#standing.unsubscribe(link, unfollowed)
  }

  async close(): Promise<void> {
    await Promise.all(this.#members.map((member) => member.close()))
  }

  // LinkOwner: what the server says that is not an answer.

  get carriesOneClient(): boolean {
    return this.#audience.size === 1
  }

  asked(frame: RequestFrame, row: ServerRequestRow, link: Link): void {
    const client = this.#addressee(link)
    const isDeclared = row.capability !== undefined && client?.profile.capabilities.names.has(row.capability)
    if (isDeclared !== true || client?.ask(frame, link) !== true) {
      link.refused(frame.id, methodNotFound(frame.method))
      this.#log('debug', `${frame.method} was refused: no client to ask`)
    }
  }

  told(frame: NotificationFrame, row: ServerNotificationRow | undefined, link: Link): void {
    this.#notices.told(frame, row, link)
  }

  ended(call: Call, link: Link): void {
    this.#byLink.get(link)?.ended(call)
  }

  timedOut(link: Link): void {
    if (this.config.kind !== 'stdio' || this.config.onTimeout !== 'restart') return
    void this.#byLink.get(link)?.supervisor.again('a call timed out')
  }

  drained(): void {
    for (const client of this.#audience) client.faster()
  }

  closed(link: Link): void {
    for (const client of this.#audience) client.forget(link)
    this.#byLink.get(link)?.supervisor.lost(link)
    this.#byLink.delete(link)
  }

  #addressee(link: Link): ClientPort | undefined {
    switch (this.#parts.sharing) {
      case 'plain':
        return undefined
      case 'own':
        return this.#audience.only
      case 'shared':
        for (const call of link.calls()) if (call.row.askable) return call.client
        return undefined
    }
  }

  async #first(): Promise<void> {
    // The pool puts the lane into place before its first process starts.
    await Promise.resolve()
    try {
      await this.#addMember().supervisor.ready()
      await this.#listed
    } catch (error) {
      // The supervisor has logged it, and calls will say it.
      asUpstreamError(this.config.name, error)
    }
  }

  #addMember(): Member {
    const member = this.#parts.member(this, (link, facts) => this.#opened(member, link, facts))
    this.#members.push(member)
    return member
  }

  #opened(member: Member, link: Link, facts: ServerFacts): void {
    const isReturn = this.#facts !== undefined
    this.#facts = facts
    this.#byLink.set(link, member)
    if (facts.capabilities.logging) this.#standing.sendLevel(link)
    this.#standing.resubscribe(link)
    if (member !== this.#members[0]) return
    this.#listed = this.#parts.listing.refresh(link, facts.capabilities).then((changed) => {
      if (isReturn || changed.length > 0) this.#announce(changed)
    })
  }

  #refresh(link: Link, kinds: readonly ListKind[]): void {
    if (this.#facts === undefined) return
    void this.#parts.listing
      .refresh(link, this.#facts.capabilities, kinds)
      .then((changed) => this.#announce(changed))
  }

  #announce(changed: readonly ListKind[]): void {
    if (changed.length === 0) return
    for (const client of this.#audience) client.listsChanged(changed)
  }

  /** What can be asked about may run anywhere; the rest has to find what it left behind. */
  #memberFor(call: Call): Member {
    const [first] = this.#members
    if (first === undefined) return this.#addMember()
    if (!call.row.askable || this.#parts.membersMax < 2) return first
    const free = this.#members.find((member) => member.available)
    if (free !== undefined) return free
    if (this.#members.length < this.#parts.membersMax) return this.#addMember()
    return this.#members.reduce((least, member) => (member.load < least.load ? member : least))
  }

  /** Keeps who follows what; true when others still follow, so that the server must not be told. */
  #isSettledHere(call: Call, subscribes: boolean): boolean {
    const uri = call.frame.params.members.string('uri')
    if (uri === undefined) return false
    if (subscribes) {
      this.#audience.follow(call.client, uri)
      return false
    }
    if (this.#audience.unfollow(call.client, uri)) return false
    if (this.#audience.followersOf(uri).size === 0) return false
    return call.settle({ kind: 'result', result: '{}' })
  }

  #links(): Link[] {
    return this.#members.flatMap((member) => member.supervisor.link ?? [])
  }

  #log(level: 'debug', message: string): void {
    this.#parts.log({ level, service: this.config.name, message })
  }
}
