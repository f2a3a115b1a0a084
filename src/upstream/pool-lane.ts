// A lane: the processes of one server that one set of clients uses.
//
// Everything that a server says without naming a client is decided here. What
// cannot be tied to one client is refused or logged, never broadcast.

import type { ErrorBody } from '../jsonrpc/build.js'
import type { NotificationFrame, RequestFrame } from '../jsonrpc/frame.js'
import type { Edit } from '../jsonrpc/splice.js'
import type { Call, ClientPort } from '../mcp/call.js'
import type { ServerFacts } from '../mcp/eras/leg.js'
import { methodNotFound } from '../mcp/error-codes.js'
import type { ListItem } from '../mcp/lists.js'
import type { ListKind, ServerNotificationRow, ServerRequestRow } from '../mcp/method-row.js'
import { Audience } from './audience.js'
import type { LaneParts } from './lane-parts.js'
import type { Link } from './link.js'
import type { LinkOwner } from './link-parts.js'
import type { Member } from './member.js'
import { Members } from './members.js'
import { Notices } from './notices.js'
import type { ServerConfig } from './server-config.js'
import { Standing } from './standing.js'
import type { Lane, UpstreamState } from './upstream.js'

/** The processes of one server for one set of clients. */
export class PoolLane implements Lane, LinkOwner {
  readonly settled: Promise<void>
  readonly listed: Promise<void>
  readonly #parts: LaneParts
  readonly #members: Members
  readonly #audience = new Audience()
  readonly #notices: Notices
  readonly #standing: Standing
  readonly #byLink = new Map<Link, Member>()
  #facts: ServerFacts | undefined
  #reading: Promise<void> = Promise.resolve()
  #known = false
  #retired = false

  constructor(parts: LaneParts) {
    this.#parts = parts
    this.#standing = new Standing(this.#audience, (message) => this.#log('debug', message))
    this.#notices = new Notices({
      audience: this.#audience,
      refresh: (link, lists) => this.#refresh(link, lists),
      kept: (message) => this.#log('debug', message),
    })
    this.#members = new Members(() => this.#newMember(), parts.membersMax)
    this.settled = this.#members.start()
    this.listed = this.settled.then(() => this.#reading)
  }

  get config(): ServerConfig {
    return this.#parts.config()
  }

  get state(): UpstreamState {
    return this.#members.state(this.#facts !== undefined)
  }

  get known(): boolean {
    return this.#known
  }

  get retired(): boolean {
    return this.#retired
  }

  /** Whether no call runs or waits here. */
  get idle(): boolean {
    return this.#members.idle
  }

  get failure(): string | undefined {
    return this.#members.failure?.message
  }

  get refusal(): ErrorBody | undefined {
    return this.#members.failure?.body
  }

  get capabilities(): ServerFacts['capabilities'] | undefined {
    return this.#facts?.capabilities
  }

  get instructions(): string | undefined {
    return this.#facts?.instructions
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
    if (call.row.subscribes !== undefined && this.#standing.settles(call, call.row.subscribes)) return
    this.#members.pick(call).call(call, edits)
  }

  level(client: ClientPort, level: string): void {
    this.#audience.setLevel(client, level)
    if (this.#facts?.capabilities.logging !== true) return
    for (const link of this.#members.links) this.#standing.sendLevel(link)
  }

  rootsChanged(_client: ClientPort, frame: NotificationFrame): void {
    if (this.#parts.sharing !== 'own' || !this.#parts.declared.names.has('roots')) return
    for (const link of this.#members.links) link.pass(frame, [])
  }

  read(client: ClientPort, on: boolean): void {
    if (on) this.#readOn()
    else if (this.#audience.only === client) for (const link of this.#members.links) link.read(false)
  }

  follow(client: ClientPort, uri: string): void {
    this.#standing.follow(client, uri, this.#members.links)
  }

  surrender(client: ClientPort): string[] {
    return this.#audience.surrender(client)
  }

  retire(): void {
    this.#retired = true
  }

  async leave(client: ClientPort): Promise<void> {
    const unfollowed = this.#audience.remove(client)
    this.#readOn()
    if (this.#parts.sharing === 'own') {
      this.#parts.abandoned()
      return this.close()
    }
    for (const link of this.#members.links) this.#standing.unsubscribe(link, unfollowed)
  }

  async close(): Promise<void> {
    await this.#members.close()
  }

  // LinkOwner: what the server says that is not an answer.

  get carriesOneClient(): boolean {
    return this.#audience.only !== undefined
  }

  get isFollowed(): boolean {
    return this.#audience.isFollowed
  }

  asked(frame: RequestFrame, row: ServerRequestRow, link: Link, during: Call | undefined): void {
    const call = during ?? (this.#parts.sharing === 'plain' ? undefined : link.askable)
    // On a lane of its own a client can be asked at any time.
    const client = this.#parts.sharing === 'own' ? this.#audience.only : call?.client
    const isDeclared = row.capability !== undefined && client?.profile.capabilities.names.has(row.capability)
    if (isDeclared !== true || client?.ask(frame, link, call) !== true) {
      link.refused(frame.id, methodNotFound(frame.method))
      this.#log('debug', `${frame.method} was refused: no client to ask`)
    }
  }

  told(
    frame: NotificationFrame,
    row: ServerNotificationRow | undefined,
    link: Link,
    during: Call | undefined,
  ): void {
    this.#notices.told(frame, row, link, during)
  }

  ended(call: Call, link: Link): void {
    this.#byLink.get(link)?.ended(call)
  }

  again(call: Call, edits: readonly Edit[], link: Link): boolean {
    const member = this.#byLink.get(link)
    member?.again(call, edits, link)
    return member !== undefined
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

  /** Nobody is held back any more for the sake of one client. */
  #readOn(): void {
    for (const link of this.#members.links) link.read(true)
  }

  #newMember(): Member {
    const member: Member = this.#parts.member(this, (link, facts) => this.#opened(member, link, facts))
    return member
  }

  #opened(member: Member, link: Link, facts: ServerFacts): void {
    const isReturn = this.#facts !== undefined
    if (this.#members.links.length === 0) this.#audience.renew()
    this.#facts = facts
    this.#byLink.set(link, member)
    member.opened()
    if (facts.capabilities.logging) this.#standing.sendLevel(link)
    this.#standing.resubscribe(link)
    if (member !== this.#members.first) return
    this.#reading = this.#parts.listing.refresh(link, facts.capabilities).then((changed) => {
      this.#known = true
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
    if (changed.length === 0 || this.#retired) return
    for (const client of this.#audience) client.listsChanged(changed)
  }

  #log(level: 'debug', message: string): void {
    this.#parts.log({ level, service: this.config.name, message })
  }
}
