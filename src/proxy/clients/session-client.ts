// A client with one connection for life: a session, or calls without `initialize`.

import type { NotificationFrame } from '../../jsonrpc/frame.js'
import type { Edit } from '../../jsonrpc/splice.js'
import type { Call, CallContext } from '../../mcp/call.js'
import type { ClientLeg } from '../../mcp/eras/leg.js'
import { listShapes } from '../../mcp/lists.js'
import { type ListKind, severity } from '../../mcp/methods.js'
import type { CatalogView } from '../routing/catalog-view.js'
import type { ClientRoutes, RoutedClient } from '../routing/client-routes.js'
import type { SessionStatus } from '../routing/session-status.js'
import type { ClientContext } from './client-directory.js'
import type { ClientReports } from './client-reports.js'
import type { Outbox } from './outbox.js'
import type { SessionQuestions } from './session-questions.js'

/** A client that has one connection. */
export class SessionClient implements RoutedClient {
  readonly serial: number
  readonly view: CatalogView
  readonly reports: ClientReports
  readonly questions: SessionQuestions
  /** The servers that it reaches; undefined until a request needs them. */
  routes: ClientRoutes | undefined
  opening: Call | undefined
  readonly #leg: ClientLeg
  readonly #outbox: Outbox
  readonly #context: ClientContext
  readonly #connectedAtMs: number
  #leastSeverity = 0

  constructor(
    serial: number,
    leg: ClientLeg,
    view: CatalogView,
    questions: SessionQuestions,
    outbox: Outbox,
    context: ClientContext,
  ) {
    this.serial = serial
    this.view = view
    this.reports = context.newReports(serial)
    this.questions = questions
    this.#leg = leg
    this.#outbox = outbox
    this.#context = context
    this.#connectedAtMs = context.runtime.wallNow()
  }

  get profile(): CallContext {
    return this.#leg.profile
  }

  get isReady(): boolean {
    return this.questions.isReady
  }

  get listens(): boolean {
    return this.#outbox.flow.connection.busy ?? false
  }

  status(): SessionStatus {
    const { info: client, revision } = this.profile
    const processes = this.routes?.processes ?? []
    const { backlogBytes: unreadBytes } = this.#outbox.flow
    return {
      client,
      view: this.view.name || undefined,
      tools: this.routes?.shown('tools').length,
      revision: revision.version,
      connectedAtMs: this.#connectedAtMs,
      processes,
      unreadBytes,
    }
  }

  reach(): ClientRoutes {
    if (this.routes === undefined) {
      this.reports.attached(this.profile)
      this.routes = this.#context.reach(this)
    }
    return this.routes
  }

  /** The client has sent `initialized`: it gets questions and notifications of changes. */
  ready(): void {
    this.questions.ready()
    this.routes?.clientIsReady()
  }

  /** The least severe log messages that the client wants. */
  setLevel(level: string): void {
    this.#leastSeverity = severity(level)
    this.reach().level(level)
  }

  listsChanged(kinds: readonly ListKind[]): void {
    this.routes?.changed(kinds)
  }

  tellChanges(kinds: readonly ListKind[]): void {
    // Two lists have one notification.
    for (const method of new Set(kinds.map((kind) => listShapes[kind].changed))) this.#outbox.notify(method)
  }

  tell(frame: NotificationFrame, edits: readonly Edit[], during: Call | undefined): void {
    this.#outbox.tell(frame, edits, during)
  }

  log(frame: NotificationFrame, during: Call | undefined): void {
    const level = severity(frame.params.members.string('level'))
    if (level < 0 || level >= this.#leastSeverity) this.tell(frame, [], during)
  }
}
