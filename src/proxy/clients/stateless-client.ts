// A client whose requests say by themselves what it is: those of one principal with the same name and version, the same view,
// and the same that it can be asked.
//
// It has lanes and names as a session has, and outlives the connections on which its requests come. Notifications
// during a call go to the connection of that call; all others are dropped.

import type { NotificationFrame } from '../../jsonrpc/frame.js'
import type { Edit } from '../../jsonrpc/splice.js'
import type { Call, Outcome } from '../../calls/call.js'
import type { StatelessContext } from '../../mcp/client-context.js'
import { tooManyCalls } from '../../mcp/error-codes.js'
import { serverNotifications, severity, type ListKind } from '../../mcp/methods.js'
import type { SubscriptionFilter } from '../../mcp/subscription-edits.js'
import { Listens } from './client-subscriptions.js'
import type { PendingInput } from '../input/pending-input.js'
import type { ClientRoutes } from '../routing/client-routes.js'
import type { RoutedClient } from '../routing/router.js'
import type { TaskTable } from '../routing/client-tasks.js'
import type { SessionStatus } from '../routing/session-status.js'
import type { ClientDirectory } from './client-directory.js'
import { ClientReports } from './client-reports.js'
import type { CatalogView } from '../routing/views.js'

export interface DirectoryLimits {
  readonly statelessMax: number
  /** Of one principal, which can be asked something. */
  readonly statelessOfOneMax: number
  /** Requests that stay open, of all of them together. */
  readonly listensMax: number
  /** Of one principal. */
  readonly listensOfOneMax: number
  /** Resources and tasks that one of them follows. */
  readonly urisMax: number
  /** How long one stays that asks nothing. */
  readonly statelessIdleMs: number
}

export class StatelessClient implements RoutedClient {
  readonly serial: number
  /** What its requests say of it; of its capabilities those that matter to servers. */
  readonly profile: StatelessContext
  readonly questions: PendingInput
  readonly isReady = false
  readonly view: CatalogView
  readonly tasks: TaskTable
  readonly #directory: ClientDirectory
  readonly #reports: ClientReports
  readonly #routes: ClientRoutes
  readonly #attachedAtMs: number
  /** The client has made room for another one, or its principal has left: the next request makes a new client. */
  hasLeft = false
  #calls = 0
  #listens: Listens | undefined
  readonly #logged = new Set<Call>()
  #level: string | undefined
  usedAt: number

  constructor(profile: StatelessContext, view: CatalogView, tasks: TaskTable, directory: ClientDirectory) {
    const { context } = directory
    this.serial = directory.nextSerial()
    this.profile = profile
    this.view = view
    this.tasks = tasks
    this.questions = context.pending
    this.#directory = directory
    this.#attachedAtMs = context.runtime.wallNow()
    this.usedAt = context.runtime.now()
    this.#reports = new ClientReports(context, this.serial)
    this.#reports.attached(profile)
    this.#routes = context.openRoutes(this)
  }

  status(): SessionStatus {
    const { info, revision } = this.profile
    return {
      client: info,
      view: this.view.name || undefined,
      revision: revision.version,
      connectedAtMs: this.#attachedAtMs,
      processes: this.#routes.processes,
      unreadBytes: 0,
    }
  }

  get idle(): boolean {
    return this.#calls === 0 && !this.questions.isAsking(this)
  }

  get listens(): boolean {
    return !this.idle
  }

  /** Resolves when what it reaches has answered first; undefined when nothing has to be waited for. */
  get settled(): Promise<unknown> | undefined {
    return this.#routes.settled
  }

  route(call: Call): void {
    this.#calls++
    if (call.context.logLevel !== undefined) this.#wantsLogs(call, call.context.logLevel)
    this.questions.route(call, this.#routes.router)
  }

  listen(call: Call, filter: SubscriptionFilter): void {
    this.#calls++
    if (!this.#directory.mayListen(this.profile.principal)) return call.fail(tooManyCalls())
    this.#listens ??= new Listens(this, this.#routes, this.#directory.context)
    this.#listens.begin(call, filter)
  }

  get listening(): number {
    return this.#listens?.size ?? 0
  }

  ended(call: Call, outcome: Outcome): void {
    this.#calls--
    this.#logged.delete(call)
    this.#listens?.end(call)
    if (this.#calls === 0) this.usedAt = this.#directory.context.runtime.now()
    this.#reports.settled(call, outcome)
  }

  leave(): Promise<unknown> | undefined {
    this.hasLeft = true
    this.questions.giveUp(this)
    this.#reports.gone()
    return this.#routes.leave()
  }

  listsChanged(kinds: readonly ListKind[]): void {
    this.#routes.changed(kinds)
    this.#listens?.changed(kinds)
  }

  tell(frame: NotificationFrame, edits: readonly Edit[], during: Call | undefined): void {
    if (during !== undefined) return during.tell(frame, edits)
    const does = serverNotifications.get(frame.method)?.does
    if (does === 'updated' || does === 'task') this.#listens?.updated(frame)
  }

  /** A call gets log messages only when its request asks for them (MCP 2026-07-28, Utilities: logging). */
  log(frame: NotificationFrame, during: Call | undefined): void {
    const call = during?.root ?? this.#onlyLogged
    const wanted = call?.context.logLevel
    if (wanted === undefined) return
    const level = severity(frame.params.members.string('level'))
    if (level < 0 || level >= severity(wanted)) this.tell(frame, [], call)
  }

  tellChanges(): void {}

  /** A log message that names no call belongs to the only call that asks for log messages. */
  get #onlyLogged(): Call | undefined {
    const [only, other] = new Set([...this.#logged].map((call) => this.questions.callOf(call)))
    return other === undefined ? only : undefined
  }

  /** A server sends messages of its level and more severe ones, so it gets the most verbose level. */
  #wantsLogs(call: Call, level: string): void {
    this.#logged.add(call)
    if (this.#level !== undefined && severity(this.#level) <= severity(level)) return
    this.#level = level
    this.#routes.level(level)
  }
}
