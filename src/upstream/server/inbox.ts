// Handles the messages of a lane's servers that are not answers.
//
// Everything that a server says without naming a client is decided here. What
// cannot be tied to one client is refused or logged, never broadcast.
//
// On stdio a request of a server does not name its call, so one askable call runs at a time in a process that several
// clients share. `Worker` replaces a process that may still ask for a call of a client that has cancelled it.

import type { NotificationFrame, RequestFrame } from '../../jsonrpc/frame.js'
import type { Call } from '../../calls/call.js'
import type { OpenedServer, ServerFacts } from '../../mcp/eras/server-opener.js'
import {
  type ClientCapabilities,
  type ServerCapabilities,
  type TaskCapabilities,
  TASKS,
} from '../../mcp/capabilities.js'
import { questionOf, requiredCapabilities } from '../../mcp/input-requests.js'
import { methodNotFound } from '../../mcp/error-codes.js'
import { cutNamed } from '../../mcp/member-edits.js'
import { SUBSCRIPTION_ID } from '../../mcp/meta-keys.js'
import type { ServerNotificationRow, ServerRequestRow } from '../../mcp/methods.js'
import { LaneClients } from './lane-clients.js'
import type { ServerLists } from './server-lists.js'
import type { ServerContext } from './context.js'
import type { LaneScope } from './sharing.js'
import type { ServerConnection } from './server-connection.js'
import { ServerSubscription } from './listen.js'

export class Inbox {
  readonly clients: LaneClients
  readonly #context: ServerContext
  readonly #scope: LaneScope
  readonly lists: ServerLists
  readonly #connections = new Set<ServerConnection>()
  isClosed = false
  /** The calls that began to wait for the lists of the server, while these are on their way. */
  callers: readonly Call[] = []

  constructor(context: ServerContext, scope: LaneScope, lists: ServerLists) {
    this.#context = context
    this.#scope = scope
    this.lists = lists
    this.clients = new LaneClients(context)
  }

  /** The first process alone gets the subscriptions: each further one would report the same update again. */
  opened(connection: ServerConnection, server: OpenedServer, isFirst: boolean): void {
    const { facts } = server
    if (this.#connections.size === 0) this.clients.renew()
    this.#connections.add(connection)
    connection.tasks.capabilities = askableOfTasks(facts.capabilities)
    if (facts.capabilities.logging) this.clients.sendLevel(connection)
    if (isFirst) {
      if (connection.isStateless) this.#listen(connection, facts)
      this.clients.resubscribe(connection)
    }
    this.lists.opened(connection, server, isFirst)
    this.#context.reports.opened(server)
  }

  /** A server without sessions sends notifications only on the stream of `subscriptions/listen`. */
  #listen(connection: ServerConnection, { capabilities }: ServerFacts): void {
    const missed = (isFirst: boolean): void => {
      // On stdio the first reads of lists are sent behind this request, so they miss no change; over HTTP they may overtake it.
      if (!isFirst || this.#context.questionsNameTheirCall || !this.lists.busy) this.lists.missed(connection)
    }
    connection.listening = new ServerSubscription(
      this.#context,
      connection,
      capabilities,
      this.clients,
      missed,
    )
    // It may have ended while it said what it is.
    if (connection.isOpen) connection.listening.renew()
    else connection.listening.close()
  }

  /** Also on connections that others have replaced: their last answers must not wait for ever. */
  read(on: boolean): void {
    for (const connection of this.#connections) connection.read(on)
  }

  /**
   * A remote server may cost money while a connection to it is open, so the connection ends when no client needs it.
   */
  get isNeeded(): boolean {
    const { clients } = this
    if (this.#scope.startsOnCall) return this.isAtWork || [...clients].some(({ listens }) => listens)
    const isAttended = this.#context.staysForClients && clients.size > 0
    return clients.areFollowing || isAttended || this.isAtWork
  }

  get isCalled(): boolean {
    return this.callers.some(({ settled }) => !settled)
  }

  /** Lists are being read, a server waits for the answer of a client, or a task runs. */
  get isAtWork(): boolean {
    const hasTasks = [...this.#connections].some((connection) => connection.tasks.areWanted)
    return this.lists.busy || this.#isOwed || hasTasks
  }

  get #isOwed(): boolean {
    const clients = [...this.clients]
    return [...this.#connections].some((connection) =>
      clients.some((client) => client.questions.owes(connection)),
    )
  }

  onRequest(
    frame: RequestFrame,
    row: ServerRequestRow,
    connection: ServerConnection,
    during: Call | undefined,
  ): void {
    const { sharing } = this.#scope
    const { about, tasks } = connection
    const running = sharing === 'plain' ? undefined : (tasks.waitingFor(frame) ?? about.askable)
    const call = during ?? running ?? connection.waitingCall
    // A client with a lane for itself can be asked at any time.
    const client = sharing === 'own' ? this.clients.only : call?.client
    const isDeclared = this.#isDeclared(row, (call?.context ?? client?.profile)?.capabilities)
    const caller = call ?? about.oneAskable
    if (!isDeclared && caller !== undefined && !this.#isDeclared(row, caller.context.capabilities))
      caller.noteMissing(requiredCapabilities(questionOf(frame)))
    // A server that several clients share does not know the capabilities of each of them.
    const isTold = sharing === 'own' || this.#isDeclared(row, this.#scope.declared)
    const mayCome = sharing === 'stateless' && isTold && client === undefined
    if (mayCome && connection.firstQuestions?.hold(frame) === true) return
    if (!isDeclared || !isTold || client === undefined) return this.#refuse(frame, connection)
    const over = connection.pause(client, call)
    // No server knows that a client could answer with a task.
    const edits = cutNamed(frame.params.members, ['task'], 'task')
    if (client.questions.ask({ frame, asker: connection, during: call, over, edits })) return
    over()
    this.#refuse(frame, connection)
  }

  #isDeclared({ capability }: ServerRequestRow, capabilities: ClientCapabilities | undefined): boolean {
    return capability !== undefined && capabilities?.names.has(capability) === true
  }

  #refuse({ id, method }: RequestFrame, connection: ServerConnection): void {
    connection.refused(id, methodNotFound(method))
    this.#context.tell('debug', `${method} was refused: no client to ask`)
  }

  onNotification(
    frame: NotificationFrame,
    row: ServerNotificationRow | undefined,
    connection: ServerConnection,
    during: Call | undefined,
  ): void {
    switch (row?.does) {
      case 'list-changed':
        return this.lists.changed(connection, row.lists)
      case 'updated':
        return this.#updated(frame, connection)
      case 'cancel':
        for (const client of this.clients) client.questions.withdraw(frame, connection)
        return
      case 'task':
        if (connection.isStateless) return this.#taskChanged(frame, connection)
        // With one client and one server, the task need not have been begun by a call of this session.
        if (connection.tasks.onStatus(frame)) return
        if (this.#scope.opening !== undefined) return this.#toOnlyClient(frame, row, during)
        return this.#context.tell('debug', `${frame.method} is about a task that no client has here`)
      case 'log':
        return this.#toOnlyClient(frame, row, during ?? this.#logging(connection))
      case 'progress':
      case 'owner':
      case undefined:
        return this.#toOnlyClient(frame, row, during)
    }
  }

  /**
   * The call of a log message that names none, where only one call can be meant.
   *
   * MCP 2025-06-18, Transports: what is said on the response to a request should relate to it, and what is said on the
   * standalone stream should not. A server over HTTP has chosen by itself.
   */
  #logging({ about, isStateless }: ServerConnection): Call | undefined {
    if (isStateless) return about.logging
    const call = this.#context.questionsNameTheirCall ? undefined : about.only
    return call?.client === this.clients.only ? call : undefined
  }

  #updated(frame: NotificationFrame, connection: ServerConnection): void {
    const uri = frame.params.members.string('uri')
    if (uri === undefined) return
    // The subscription is a request of the proxy, so clients do not get its id.
    const edits = connection.isStateless ? cutNamed(frame.params.meta, [SUBSCRIPTION_ID], 'subscription') : []
    for (const client of this.clients.resources.of(uri)) client.tell(frame, edits, undefined)
  }

  #taskChanged(frame: NotificationFrame, connection: ServerConnection): void {
    connection.tasks.onStatus(frame)
    const id = frame.params.members.string('taskId') ?? ''
    for (const client of this.clients.tasks.at(id).keys()) client.tell(frame, [], undefined)
  }

  #toOnlyClient(
    frame: NotificationFrame,
    row: ServerNotificationRow | undefined,
    during: Call | undefined,
  ): void {
    const client = during?.client ?? this.clients.only
    if (client === undefined) this.#context.tell('debug', `${frame.method} belongs to no one client`)
    else if (row?.does === 'log') client.log(frame, during)
    else client.tell(frame, [], during)
  }

  onClosed(connection: ServerConnection): void {
    for (const client of this.clients) client.questions.forget(connection)
    this.#connections.delete(connection)
    this.lists.close(connection)
  }
}

/** The extension has no list, and a task of it can always be cancelled. */
function askableOfTasks({ extensions, tasks }: ServerCapabilities): TaskCapabilities | undefined {
  return tasks ?? (extensions.has(TASKS) ? { list: false, cancel: true } : undefined)
}
