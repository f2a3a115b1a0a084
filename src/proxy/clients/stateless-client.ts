// A client without a session: each request describes the client. Requests with the same principal, client
// name, version, view and askable capabilities belong to one client.
//
// The client has lanes and names like a session, and outlives the connections of its requests. A notification
// goes to the connection of its call, or to the open `subscriptions/listen` requests.

import PQueue from 'p-queue'
import type { NotificationFrame } from '../../jsonrpc/frame.js'
import { numericId } from '../../jsonrpc/request-id.js'
import type { Edit } from '../../jsonrpc/splice.js'
import { quote } from '../../jsonrpc/text.js'
import { Call, isResult, type Outcome } from '../../calls/call.js'
import { CallDeadline } from '../../calls/call-deadline.js'
import { noCapabilities } from '../../mcp/capabilities.js'
import type { StatelessContext } from '../../mcp/client-context.js'
import { tooManyCalls } from '../../mcp/error-codes.js'
import { listShapes } from '../../mcp/list-items.js'
import {
  followables,
  type ListKind,
  type RequestRow,
  serverNotifications,
  severity,
  type Topic,
} from '../../mcp/methods.js'
import { latestSession } from '../../mcp/revisions.js'
import {
  acknowledgement,
  isFollowedBy,
  subscribed,
  subscriptionEdits,
  type SubscriptionFilter,
} from '../../mcp/subscription-edits.js'
import { within } from '../../runtime/deadline.js'
import { requestFrame } from '../input/own-frames.js'
import type { PendingInput } from '../input/pending-input.js'
import type { RoutedClient, Router, RoutingContext } from '../routing/router.js'
import type { TaskTable } from '../routing/client-tasks.js'
import { ListChanges } from '../routing/list-changes.js'
import type { SessionStatus } from '../routing/session-status.js'
import type { ClientDirectory } from './client-directory.js'
import { ClientReports } from './client-reports.js'
import type { CatalogView } from '../routing/views.js'

/** The acknowledgement waits this long for servers, and leaves out a server that has not answered. */
const ANSWER_WAIT_MS = 1000

/** The limit of subscription requests in flight, because other clients use the same servers. */
const ASKED_MAX = 32

/** A topic that `wanted` open requests follow; `granted` says whether a server has granted the subscription. */
interface Followed {
  wanted: number
  granted: Promise<boolean>
}

export class StatelessClient implements RoutedClient {
  readonly serial: number
  /** The client's description in its requests; of the capabilities only those that matter to servers. */
  readonly profile: StatelessContext
  readonly questions: PendingInput
  readonly isReady = false
  readonly view: CatalogView
  readonly tasks: TaskTable
  readonly #directory: ClientDirectory
  readonly #reports: ClientReports
  readonly #router: Router
  readonly #attachedAtMs: number
  /** Whether the client made room for another one, or its principal left. The next request creates a new client. */
  hasLeft = false
  #calls = 0
  readonly #listens = new Map<Call, Listen>()
  /** Keyed by the params of the requests about a topic. A topic stays while an open request wants it. */
  readonly #followed = new Map<string, Followed>()
  readonly #asking = new PQueue({ concurrency: ASKED_MAX })
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
    this.#router = context.openRouter(this)
  }

  status(): SessionStatus {
    const { info, revision } = this.profile
    return {
      client: info,
      view: this.view.name || undefined,
      revision: revision.version,
      connectedAtMs: this.#attachedAtMs,
      processes: this.#router.processes,
      unreadBytes: 0,
    }
  }

  get isIdle(): boolean {
    return this.#calls === 0 && !this.questions.isAsking(this)
  }

  get listens(): boolean {
    return !this.isIdle
  }

  /** Resolves when the client's servers can be described; undefined if that needs no wait. */
  get settled(): Promise<unknown> | undefined {
    return this.#router.settled
  }

  route(call: Call): void {
    this.#calls++
    if (call.context.logLevel !== undefined) this.#wantsLogs(call.context.logLevel)
    this.questions.route(call, this.#router)
  }

  listen(call: Call, filter: SubscriptionFilter): void {
    this.#calls++
    if (!this.#directory.canListen(this.profile.principal)) return call.fail(tooManyCalls())
    const { context } = this.#directory
    const topics = this.#fitting(filter.topics)
    const listen = new Listen(call, topics, this.#router, context)
    // The client may have read the lists just before, so it also gets changes during the wait for servers.
    for (const kind of filter.lists) listen.changes.markShown(kind)
    call.keep()
    this.#listens.set(call, listen)
    const granted = new Set<Topic>()
    const acknowledge = (): void => {
      const lists = filter.lists.filter((kind) => this.#router.offers(kind))
      listen.acknowledge({ lists, topics: topics.filter((topic) => granted.has(topic)) })
    }
    if (topics.length === 0) return acknowledge()
    const answers = topics.map(async (topic) => {
      if (await this.#follow(topic)) granted.add(topic)
    })
    void within(Promise.all(answers), ANSWER_WAIT_MS, context.runtime).then(acknowledge)
  }

  get listenCount(): number {
    return this.#listens.size
  }

  ended(call: Call, outcome: Outcome): void {
    this.#calls--
    for (const topic of this.#listens.get(call)?.topics ?? []) this.#leave(topic)
    this.#listens.delete(call)
    if (this.#calls === 0) this.usedAt = this.#directory.context.runtime.now()
    this.#reports.settled(call, outcome)
  }

  leave(): Promise<unknown> | undefined {
    this.hasLeft = true
    this.questions.giveUp(this)
    this.#reports.gone()
    return this.#router.leave()
  }

  listsChanged(kinds: readonly ListKind[]): void {
    this.#router.onListsChanged(kinds)
    for (const listen of this.#listens.values()) listen.changes.changed(kinds)
  }

  tell(frame: NotificationFrame, edits: readonly Edit[], during: Call | undefined): void {
    if (during !== undefined) return during.tell(frame, edits)
    const does = serverNotifications.get(frame.method)?.does
    if (does !== 'updated' && does !== 'task') return
    for (const listen of this.#listens.values()) listen.updated(frame)
  }

  /** A call gets log messages only if its request asks for them (MCP 2026-07-28, Utilities: logging). */
  log(frame: NotificationFrame, during: Call | undefined): void {
    const wanted = during?.root.context.logLevel
    if (wanted === undefined) return
    const level = severity(frame.params.members.string('level'))
    if (level < 0 || level >= severity(wanted)) this.tell(frame, [], during)
  }

  notifyChanges(): void {}

  /** Servers get the most verbose level of all calls, and `log` filters the messages for each call. */
  #wantsLogs(level: string): void {
    const { logLevel } = this.#router
    if (logLevel === undefined || severity(level) < severity(logLevel)) this.#router.setLogLevel(level)
  }

  /** Returns as many topics as the client may follow. Topics that it follows already do not count. */
  #fitting(topics: readonly Topic[]): Topic[] {
    let room = this.#directory.context.limits.stateless.urisMax - this.#followed.size
    return topics.filter((topic) => this.#followed.has(paramsOf(topic)) || room-- > 0)
  }

  /**
   * Subscribes each topic once at the servers. The proxy subscribes like a client with a session, so
   * restarts, reloads and servers that are asked in turn work as they do for such clients.
   */
  #follow(topic: Topic): Promise<boolean> {
    const params = paramsOf(topic)
    const known = this.#followed.get(params)
    const followed = known ?? { wanted: 0, granted: Promise.resolve(false) }
    followed.wanted++
    if (known !== undefined) return known.granted
    this.#followed.set(params, followed)
    followed.granted = this.#ask(
      followables[topic.kind].begins,
      params,
      () => this.#followed.get(params) === followed,
    )
    return followed.granted
  }

  #leave(topic: Topic): void {
    const params = paramsOf(topic)
    const followed = this.#followed.get(params)
    if (followed === undefined || --followed.wanted > 0) return
    this.#followed.delete(params)
    void followed.granted.then((isGranted) => {
      if (isGranted) void this.#ask(followables[topic.kind].ends, params, () => !this.#followed.has(params))
    })
  }

  /** Sends a request of the proxy for the client; false if the request fails, or is not wanted any more. */
  #ask(row: RequestRow, params: string, isWanted: () => boolean): Promise<boolean> {
    const frame = requestFrame(numericId(1), row.method, params)
    const profile = { revision: latestSession, capabilities: noCapabilities }
    const answer = (): Promise<boolean> =>
      new Promise((resolve) => {
        const owner = { onSettled: (_call: Call, outcome: Outcome) => resolve(isResult(outcome)) }
        const deadline = new CallDeadline(this.#directory.context.runtime.now())
        this.#router.route(new Call(frame, row, this, deadline, owner, profile))
      })
    return this.#asking.add(async () => isWanted() && (await answer()))
  }
}

/** The params of the requests about a topic, as raw JSON; they identify the topic. */
function paramsOf({ kind, name }: Topic): string {
  return `{${quote(followables[kind].member)}:${quote(name)}}`
}

/** One `subscriptions/listen` request. Its notifications go to the connection of that request. */
class Listen {
  readonly topics: readonly Topic[]
  readonly changes: ListChanges
  readonly #call: Call
  #granted: SubscriptionFilter = { lists: [], topics: [] }
  /** Whether the acknowledgement was sent, which must precede every other notification. */
  isReady = false

  constructor(call: Call, topics: readonly Topic[], router: Router, context: RoutingContext) {
    this.#call = call
    this.topics = topics
    this.changes = new ListChanges(this, router, context)
  }

  /** Acknowledges what was granted. A request that was granted nothing ends here. */
  acknowledge(granted: SubscriptionFilter): void {
    const { isSettled, frame } = this.#call
    if (isSettled) return
    this.#granted = granted
    this.#call.notify('notifications/subscriptions/acknowledged', acknowledgement(frame.id, granted))
    this.isReady = true
    if (granted.lists.length + granted.topics.length === 0)
      return this.#call.settle({ kind: 'result', result: subscribed(frame.id) })
    this.changes.notifySoon()
  }

  notifyChanges(methods: ReadonlySet<string>): void {
    const { isSettled, frame } = this.#call
    if (isSettled) return
    const changed = new Set(this.#granted.lists.map((kind) => listShapes[kind].changed))
    for (const method of methods) if (changed.has(method)) this.#call.notify(method, subscribed(frame.id))
  }

  updated(frame: NotificationFrame): void {
    const { members } = frame.params
    const isFollowed = this.#granted.topics.some(({ kind, name }) => {
      const said = members.string(followables[kind].member) ?? ''
      return kind === 'taskIds' ? said === name : isFollowedBy(said, name)
    })
    if (isFollowed) this.#call.tell(frame, subscriptionEdits(frame, this.#call.frame.id))
  }
}
