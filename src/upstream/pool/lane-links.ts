// Handles the messages of a lane's servers that are not answers.
//
// Everything that a server says without naming a client is decided here. What
// cannot be tied to one client is refused or logged, never broadcast.
//
// On stdio a request of a server does not name its call, so one askable call runs at a time in a process that several
// clients share. `ServerInstance` replaces a process that may still ask for a call of a client that has cancelled it.

import type { NotificationFrame, RequestFrame } from '../../jsonrpc/frame.js'
import type { Call } from '../../mcp/call.js'
import type { OpenedServer, ServerFacts } from '../../mcp/eras/leg.js'
import type { ClientCapabilities, ServerCapabilities, TaskCapabilities } from '../../mcp/capabilities.js'
import { questionOf, requiredCapabilities } from '../../mcp/input-requests.js'
import { methodNotFound } from '../../mcp/error-codes.js'
import { TASKS } from '../../mcp/extensions.js'
import { cutNamed } from '../../mcp/member-edits.js'
import { SUBSCRIPTION_ID } from '../../mcp/meta-keys.js'
import type { ServerNotificationRow, ServerRequestRow } from '../../mcp/methods/method-row.js'
import { LaneClients } from './lane-clients.js'
import type { LaneLists } from './lane-lists.js'
import type { LaneParts } from './lane-parts.js'
import type { Link } from './link.js'
import type { InstanceOwner } from './server-instance.js'
import { Resubscriptions } from './resubscriptions.js'
import { ServerListen } from './server-listen.js'

/** The links of a lane. */
export class LaneLinks implements InstanceOwner {
  readonly audience: LaneClients = new LaneClients()
  readonly standing: Resubscriptions
  readonly #parts: LaneParts
  readonly #lists: LaneLists
  readonly #links = new Set<Link>()
  /** What the server said of itself last, and how it was found out what it speaks; undefined before it has. */
  server: OpenedServer | undefined
  /** Resolves when the lists have been read that are being read now. */
  reading: Promise<void> = Promise.resolve()
  isClosed = false

  constructor(parts: LaneParts, lists: LaneLists) {
    this.#parts = parts
    this.#lists = lists
    this.standing = new Resubscriptions(parts, this.audience)
  }

  /** One process tells of each resource, or every update would be heard from all of them. */
  get facts(): ServerFacts | undefined {
    return this.server?.facts
  }

  opened(link: Link, server: OpenedServer, isFirst: boolean): void {
    const { facts } = server
    if (this.#links.size === 0) this.audience.renew()
    this.server = server
    this.#links.add(link)
    link.inflight.tasks.capabilities = askableOfTasks(facts.capabilities)
    link.inflight.asked.isWhole = this.#parts.opening !== undefined
    if (facts.capabilities.logging) this.standing.sendLevel(link)
    if (isFirst) {
      if (link.isTyped) this.#listen(link, facts)
      this.standing.resubscribe(link)
      this.reading = this.#lists.opened(link, facts.capabilities)
    }
    const { reports } = this.#parts
    reports.opened(server)
    void this.reading.then(() => reports.ready(link.dialed, server, this.#lists.items('tools').length))
  }

  /** A server without sessions says nothing unasked to who does not listen. */
  #listen(link: Link, { capabilities }: ServerFacts): void {
    link.listening = new ServerListen(this.#parts, {
      capabilities,
      followed: (kind) => (kind === 'taskIds' ? this.audience.tasks.names : this.audience.followed),
      listen: (params, isAboutTasks) => link.listen(params, isAboutTasks),
      cancel: (id) => link.own.giveUp(id),
      heard: (isFirst) => {
        // Lists that are being read for the first time were asked for behind it; over HTTP they may have come before it.
        if (!isFirst || this.#parts.namesCalls || !this.#lists.busy) this.#lists.missed(link)
      },
    })
    // It may have ended while it said what it is.
    if (link.own.isOpen) link.listening.renew()
    else link.listening.close()
  }

  /** Also those whose place another has taken: what they still carry must not wait for ever. */
  read(on: boolean): void {
    for (const link of this.#links) link.read(on)
  }

  /** A remote server may run, and be paid for, only while it is listened to: it rests once nobody is there. */
  get isNeeded(): boolean {
    const { audience } = this
    if (this.#parts.yields) return this.isAtWork || [...audience].some(({ listens }) => listens)
    const isAttended = this.#parts.staysForClients && audience.size > 0
    return this.isFollowed || isAttended || this.isAtWork
  }

  get isFollowed(): boolean {
    return this.audience.followedCount > 0 || this.audience.tasks.size > 0
  }

  /** What a process has begun besides calls is not over. */
  get isAtWork(): boolean {
    const hasTasks = [...this.#links].some((link) => link.inflight.tasks.areWanted)
    return this.#lists.busy || this.#isOwed || hasTasks
  }

  /** A client is about to answer what a process has asked. */
  get #isOwed(): boolean {
    const clients = [...this.audience]
    return [...this.#links].some((link) => clients.some((client) => client.owes(link)))
  }

  asked(frame: RequestFrame, row: ServerRequestRow, link: Link, during: Call | undefined): void {
    const { sharing } = this.#parts
    const { inflight } = link
    const fault = row.capability === 'tasks' && !this.#asksTasks ? methodNotFound(frame.method) : undefined
    const error = fault ?? (this.#asksTasks ? inflight.asked.asked(frame) : undefined)
    if (error !== undefined) return link.refused(frame.id, error)
    const running = sharing === 'plain' ? undefined : (inflight.tasks.waitingFor(frame) ?? inflight.askable)
    const call = during ?? running ?? link.waitingCall
    // On a lane of its own a client can be asked at any time.
    const client = sharing === 'own' ? this.audience.only : call?.client
    const isDeclared = this.#isDeclared(row, (call?.context ?? client?.profile)?.capabilities)
    const caller = call ?? inflight.oneAskable
    if (!isDeclared && caller !== undefined && !this.#isDeclared(row, caller.context.capabilities))
      caller.lacks(requiredCapabilities(questionOf(frame)))
    // A server that several clients share is not told of all that each of them can do.
    const isTold = sharing === 'own' || this.#isDeclared(row, this.#parts.declared)
    if (sharing === 'guest' && isTold && client === undefined && link.hold(frame)) return
    if (!isDeclared || !isTold || client === undefined) return this.#refuse(frame, link)
    // A server that asks again and again how a task is waits for its client all the same.
    const over = inflight.pause(client, call, row.capability === 'tasks')
    const edits = this.#asksTasks ? [] : cutNamed(frame.params.members, ['task'], 'task')
    if (client.ask({ frame, asker: link, during: call, over, edits })) return
    over()
    this.#refuse(frame, link)
  }

  #isDeclared({ capability }: ServerRequestRow, capabilities: ClientCapabilities | undefined): boolean {
    return capability !== undefined && capabilities?.names.has(capability) === true
  }

  /** Whether a server may have what it asks answered later: it knows whom it asks, and that the client can do so. */
  get #asksTasks(): boolean {
    return this.#parts.sharing === 'own' && this.#parts.declared.names.has('tasks')
  }

  #refuse({ id, method }: RequestFrame, link: Link): void {
    link.refused(id, methodNotFound(method))
    this.#log('debug', `${method} was refused: no client to ask`)
  }

  told(
    frame: NotificationFrame,
    row: ServerNotificationRow | undefined,
    link: Link,
    during: Call | undefined,
  ): void {
    switch (row?.does) {
      case 'list-changed':
        return this.#lists.changed(link, row.lists)
      case 'updated':
        return this.#updated(frame, link)
      case 'cancel':
        link.withdrawn(frame)
        for (const client of this.audience) client.withdraw(frame, link)
        return
      case 'task':
        if (link.isTyped) return this.#taskChanged(frame, link)
        // What passes to the one client of the one server need not have been begun by a call of this session.
        if (link.inflight.tasks.told(frame)) return
        if (this.#parts.opening !== undefined) return this.#toOnlyClient(frame, row, during)
        return this.#log('debug', `${frame.method} is about a task that no client has here`)
      case 'log':
        return this.#toOnlyClient(frame, row, during ?? this.#logging(link))
      case 'progress':
      case 'owner':
      case undefined:
        return this.#toOnlyClient(frame, row, during)
    }
  }

  /**
   * The call that a log message is about which names none, where only one can be meant.
   *
   * MCP 2025-06-18, Transports: what is said on the response to a request should relate to it, and what is said on the
   * standalone stream should not. A server over HTTP has chosen by itself.
   */
  #logging({ inflight, isTyped }: Link): Call | undefined {
    if (isTyped) return inflight.logging
    const call = this.#parts.namesCalls ? undefined : inflight.only
    return call?.client === this.audience.only ? call : undefined
  }

  #updated(frame: NotificationFrame, link: Link): void {
    const uri = frame.params.members.string('uri')
    if (uri === undefined) return
    // Which request of ours it belongs to is nothing to anybody else.
    const edits = link.isTyped ? cutNamed(frame.params.meta, [SUBSCRIPTION_ID], 'subscription') : []
    for (const client of this.audience.followersOf(uri)) client.tell(frame, edits, undefined)
  }

  /** Those who follow it have a request of their own open, which says to which one it belongs. */
  #taskChanged(frame: NotificationFrame, link: Link): void {
    link.inflight.tasks.told(frame)
    const id = frame.params.members.string('taskId') ?? ''
    for (const client of this.audience.tasks.at(id)) client.tell(frame, [], undefined)
  }

  #toOnlyClient(
    frame: NotificationFrame,
    row: ServerNotificationRow | undefined,
    during: Call | undefined,
  ): void {
    const client = during?.client ?? this.audience.only
    if (client === undefined) this.#log('debug', `${frame.method} belongs to no one client`)
    else if (row?.does === 'log') client.log(frame, during)
    else client.tell(frame, [], during)
  }

  missed(link: Link): void {
    this.#lists.missed(link)
  }

  async relist(link: Link): Promise<void> {
    this.#lists.changed(link, ['tools'])
    await this.#lists.reading('tools')
  }

  closed(link: Link): void {
    for (const client of this.audience) client.forget(link)
    this.#links.delete(link)
    this.#lists.closed(link)
  }

  #log(level: 'debug' | 'warn', message: string): void {
    this.#parts.log({ level, service: this.#parts.service, message })
  }
}

/** The extension has no list, and a task of it can always be cancelled. */
function askableOfTasks({ extensions, tasks }: ServerCapabilities): TaskCapabilities | undefined {
  return tasks ?? (extensions.has(TASKS) ? { list: false, cancel: true } : undefined)
}
