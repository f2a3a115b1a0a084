// The requests of one client that stay open, and what they follow.

import PQueue from 'p-queue'
import type { NotificationFrame } from '../../jsonrpc/frame.js'
import { numericId } from '../../jsonrpc/request-id.js'
import { quote } from '../../jsonrpc/text.js'
import { Call, isResult, type Outcome, type ClientPort } from '../../calls/call.js'
import { CallDeadline } from '../../calls/call-deadline.js'
import { noCapabilities } from '../../mcp/capabilities.js'
import {
  type Followable,
  followableResources,
  followableTasks,
  type ListKind,
  type RequestRow,
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
import type { ClientRoutes } from '../routing/client-routes.js'
import type { Target } from '../routing/catalog.js'
import { ListChanges } from '../routing/list-changes.js'
import type { ClientContext } from './client-directory.js'

/** The acknowledgement waits so long for servers; a server that has not answered in that time is left out. */
const ANSWER_WAIT_MS = 1000

/** Subscriptions in flight: other clients use the same servers. */
const ASKED_MAX = 32

interface Topic {
  readonly of: Followable
  readonly name: string
}

/** A topic that open requests want, so many of them; `granted` says whether a server has granted the subscription. */
interface Followed {
  wanted: number
  granted: Promise<boolean>
}

/**
 * Sends each open request of one client the notifications that its filter names, and follows each topic while one of these
 * requests wants it.
 *
 * A server gets one subscription for each topic. The proxy subscribes as a client with a session does, so that restarts,
 * reloads and servers that are asked in turn are handled as they are for such clients.
 */
export class Listens {
  readonly #client: ClientPort
  readonly #routes: ClientRoutes
  readonly #context: Pick<ClientContext, 'limits' | 'runtime'>
  readonly #listens = new Map<Call, { readonly listen: Listen; readonly topics: readonly Topic[] }>()
  /** By the params of the requests about them. */
  readonly #followed = new Map<string, Followed>()
  readonly #asking = new PQueue({ concurrency: ASKED_MAX })

  constructor(client: ClientPort, routes: ClientRoutes, context: Pick<ClientContext, 'limits' | 'runtime'>) {
    this.#client = client
    this.#routes = routes
    this.#context = context
  }

  get size(): number {
    return this.#listens.size
  }

  begin(call: Call, wanted: SubscriptionFilter): void {
    const { runtime, limits } = this.#context
    const topics = this.#fitting([
      ...wanted.uris.map((name) => ({ of: followableResources, name })),
      ...wanted.tasks.map((name) => ({ of: followableTasks, name })),
    ])
    const soon = (tell: () => void): unknown => runtime.setTimer(limits.session.changeDelayMs, tell)
    const listen = new Listen(call, (kind) => this.#routes.shown(kind), soon)
    call.keep()
    this.#listens.set(call, { listen, topics })
    const granted = new Set<Topic>()
    const names = (of: Followable): string[] =>
      topics.flatMap((topic) => (topic.of === of && granted.has(topic) ? [topic.name] : []))
    const acknowledge = (): void => {
      const lists = wanted.lists.filter((kind) => this.#routes.offers(kind))
      listen.acknowledge({ lists, uris: names(followableResources), tasks: names(followableTasks) })
    }
    if (topics.length === 0) return acknowledge()
    const answers = topics.map(async (topic) => {
      if (await this.#follow(topic)) granted.add(topic)
    })
    void within(Promise.all(answers), ANSWER_WAIT_MS, runtime).then(acknowledge)
  }

  end(call: Call): void {
    const { topics = [] } = this.#listens.get(call) ?? {}
    this.#listens.delete(call)
    for (const topic of topics) this.#leave(topic)
  }

  changed(kinds: readonly ListKind[]): void {
    for (const { listen } of this.#listens.values()) listen.changes.changed(kinds)
  }

  updated(frame: NotificationFrame): void {
    for (const { listen } of this.#listens.values()) listen.updated(frame)
  }

  /** As many of these as the client may follow; those that it follows already take no room. */
  #fitting(topics: readonly Topic[]): Topic[] {
    let room = this.#context.limits.stateless.urisMax - this.#followed.size
    return topics.filter((topic) => this.#followed.has(paramsOf(topic)) || room-- > 0)
  }

  #follow(topic: Topic): Promise<boolean> {
    const params = paramsOf(topic)
    const known = this.#followed.get(params)
    const followed = known ?? { wanted: 0, granted: Promise.resolve(false) }
    followed.wanted++
    if (known !== undefined) return known.granted
    this.#followed.set(params, followed)
    followed.granted = this.#ask(topic.of.begins, params, () => this.#followed.get(params) === followed)
    return followed.granted
  }

  #leave(topic: Topic): void {
    const params = paramsOf(topic)
    const followed = this.#followed.get(params)
    if (followed === undefined || --followed.wanted > 0) return
    this.#followed.delete(params)
    void followed.granted.then((isGranted) => {
      if (isGranted) void this.#ask(topic.of.ends, params, () => !this.#followed.has(params))
    })
  }

  /** Sends a request of the proxy's own for the client; false without a result, and where it is not wanted any more. */
  #ask(row: RequestRow, params: string, isWanted: () => boolean): Promise<boolean> {
    const frame = requestFrame(numericId(1), row.method, params)
    const profile = { revision: latestSession, capabilities: noCapabilities }
    const answer = (): Promise<boolean> =>
      new Promise((resolve) => {
        const owner = { settled: (_call: Call, outcome: Outcome) => resolve(isResult(outcome)) }
        const deadline = new CallDeadline(this.#context.runtime.now())
        this.#routes.router.route(new Call(frame, row, this.#client, deadline, owner, profile))
      })
    return this.#asking.add(async () => isWanted() && (await answer()))
  }
}

/** The params of the requests about a topic, as raw JSON: they tell it from all others. */
function paramsOf({ of, name }: Topic): string {
  return `{${quote(of.member)}:${quote(name)}}`
}

/** One `subscriptions/listen` request: it sends notifications on the connection of that request. */
class Listen {
  readonly #call: Call
  readonly changes: ListChanges
  #heard: SubscriptionFilter = { lists: [], uris: [], tasks: [] }
  /** Whether the acknowledgement was sent, which comes before every other notification. */
  isReady = false

  constructor(call: Call, shown: (kind: ListKind) => readonly Target[], soon: (tell: () => void) => unknown) {
    this.#call = call
    this.changes = new ListChanges(this, shown, soon)
  }

  /** Sends the acknowledgement with what was granted; a request without anything to wait for ends here. */
  acknowledge(heard: SubscriptionFilter): void {
    const { settled, frame } = this.#call
    if (settled) return
    this.#heard = heard
    this.#call.notify('notifications/subscriptions/acknowledged', acknowledgement(frame.id, heard))
    this.isReady = true
    for (const kind of heard.lists) this.changes.markShown(kind)
    if (heard.lists.length + heard.uris.length + heard.tasks.length === 0)
      this.#call.settle({ kind: 'result', result: subscribed(frame.id) })
  }

  tellChanges(methods: ReadonlySet<string>): void {
    const { settled, frame } = this.#call
    if (!settled) for (const method of methods) this.#call.notify(method, subscribed(frame.id))
  }

  updated(frame: NotificationFrame): void {
    const { members } = frame.params
    const { uris, tasks } = this.#heard
    const uri = members.string(followableResources.member)
    const isHeard =
      uri === undefined
        ? tasks.includes(members.string(followableTasks.member) ?? '')
        : uris.some((followed) => isFollowedBy(uri, followed))
    if (isHeard) this.#call.tell(frame, subscriptionEdits(frame, this.#call.frame.id))
  }
}
