// What the processes of a lane say that is no answer, and what becomes of it.
//
// Everything that a server says without naming a client is decided here. What
// cannot be tied to one client is refused or logged, never broadcast.

import type { NotificationFrame, RequestFrame } from '../../jsonrpc/frame.js'
import type { Edit } from '../../jsonrpc/splice.js'
import type { Call } from '../../mcp/call.js'
import type { ServerFacts } from '../../mcp/eras/leg.js'
import type { ServerNotificationRow, ServerRequestRow } from '../../mcp/methods/method-row.js'
import { Asking } from './asking.js'
import type { LaneClients } from './lane-clients.js'
import type { LaneLists } from './lane-lists.js'
import type { LaneParts } from './lane-parts.js'
import type { Link } from './link.js'
import type { LinkOwner } from './link-parts.js'
import type { ServerInstance } from './server-instance.js'
import { Notices } from './notices.js'
import { Resubscriptions } from './resubscriptions.js'

export interface LaneLinksParts extends Pick<
  LaneParts,
  'config' | 'log' | 'onTimeout' | 'sharing' | 'staysForClients' | 'subscriptionsMax' | 'yields'
> {
  readonly audience: LaneClients
  readonly lists: LaneLists
}

/** The owner of a lane's links. */
export class LaneLinks implements LinkOwner {
  readonly standing: Resubscriptions
  readonly #parts: LaneLinksParts
  readonly #notices: Notices
  readonly #asking: Asking
  readonly #members = new Map<Link, ServerInstance>()
  #facts: ServerFacts | undefined
  #reading: Promise<void> = Promise.resolve()

  constructor(parts: LaneLinksParts) {
    this.#parts = parts
    const { audience, lists } = parts
    const service = parts.config().name
    const log = (level: 'debug' | 'warn', message: string): void => parts.log({ level, service, message })
    const debug = (message: string): void => log('debug', message)
    this.standing = new Resubscriptions({ ...parts, service, failed: debug })
    this.#notices = new Notices({
      audience,
      refresh: (link, kinds) => lists.changed(link, kinds),
      kept: debug,
    })
    this.#asking = new Asking({ ...parts, log, replace: (link, why) => this.#replace(link, why) })
  }

  /** What the server said of itself last; undefined before it has. */
  get facts(): ServerFacts | undefined {
    return this.#facts
  }

  /** Resolves when the lists have been read that are being read now. */
  get reading(): Promise<void> {
    return this.#reading
  }

  /** A process has shaken hands; calls start after this. */
  opened(member: ServerInstance, isFirst: boolean, link: Link, facts: ServerFacts): void {
    if (this.#members.size === 0) this.#parts.audience.renew()
    this.#facts = facts
    this.#members.set(link, member)
    member.opened()
    if (facts.capabilities.logging) this.standing.sendLevel(link)
    if (!isFirst) return
    // One process tells of each resource, or every update would be heard from all of them.
    this.standing.resubscribe(link)
    this.#reading = this.#parts.lists.opened(link, facts.capabilities)
  }

  /** Also those whose place another has taken: what they still carry must not wait for ever. */
  read(on: boolean): void {
    for (const link of this.#members.keys()) link.read(on)
  }

  get carriesOneClient(): boolean {
    return this.#parts.audience.only !== undefined
  }

  /** A remote server may run, and be paid for, only while it is listened to: it rests once nobody is there. */
  get isNeeded(): boolean {
    const { audience, staysForClients, yields } = this.#parts
    if (yields) return this.isAtWork || [...audience].some(({ listens }) => listens)
    const isAttended = staysForClients && audience.size > 0
    return audience.isFollowed || isAttended || this.isAtWork
  }

  /** What a process has begun besides calls is not over. */
  get isAtWork(): boolean {
    return this.#parts.lists.busy || this.#isOwed
  }

  /** A client is about to answer what a process has asked. */
  get #isOwed(): boolean {
    const clients = [...this.#parts.audience]
    return [...this.#members.keys()].some((link) => clients.some((client) => client.owes(link)))
  }

  asked(frame: RequestFrame, row: ServerRequestRow, link: Link, during: Call | undefined): void {
    this.#asking.asked(frame, row, link, during)
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
    this.#members.get(link)?.ended(call)
    this.#asking.ended(call, link)
  }

  again(call: Call, edits: readonly Edit[], link: Link): boolean {
    const member = this.#members.get(link)
    member?.again(call, edits, link)
    return member !== undefined
  }

  timedOut(link: Link): void {
    if (this.#parts.onTimeout === 'restart') this.#replace(link, 'a call timed out')
  }

  missed(link: Link): void {
    this.#parts.lists.missed(link)
  }

  drained(): void {
    for (const client of this.#parts.audience) client.faster()
  }

  closed(link: Link): void {
    for (const client of this.#parts.audience) client.forget(link)
    this.#members.get(link)?.supervisor.lost(link)
    this.#members.delete(link)
    this.#parts.lists.closed(link)
    this.#asking.closed(link)
  }

  #replace(link: Link, why: string): void {
    void this.#members.get(link)?.supervisor.again(link, why)
  }
}
