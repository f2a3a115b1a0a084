// The requests of one client that stay open, and what they follow.

import PQueue from 'p-queue'
import type { NotificationFrame } from '../../jsonrpc/frame.js'
import { numericId } from '../../jsonrpc/request-id.js'
import { quote } from '../../jsonrpc/text.js'
import { Call, type CallOwner, isResult, type Outcome, type ClientPort } from '../../calls/call.js'
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

export interface Topic {
  readonly of: Followable
  readonly name: string
}

/** Sends each open request the notifications that its filter names. */
export class Listens {
  readonly #routes: ClientRoutes
  readonly #context: Pick<ClientContext, 'limits' | 'runtime'>
  readonly #followed: FollowedTopics
  readonly #listens = new Map<Call, { readonly listen: Listen; readonly topics: readonly Topic[] }>()

  constructor(client: ClientPort, routes: ClientRoutes, context: Pick<ClientContext, 'limits' | 'runtime'>) {
    const { limits, runtime } = context
    this.#routes = routes
    this.#context = context
    this.#followed = new FollowedTopics(limits.stateless.urisMax, (row, params, owner) => {
      const frame = requestFrame(numericId(1), row.method, params)
      const profile = { revision: latestSession, capabilities: noCapabilities }
      routes.router.route(new Call(frame, row, client, new CallDeadline(runtime.now()), owner, profile))
    })
  }

  get size(): number {
    return this.#listens.size
  }

  begin(call: Call, wanted: SubscriptionFilter): void {
    const { runtime, limits } = this.#context
    const topics = this.#followed.fitting([
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
      if (await this.#followed.follow(topic)) granted.add(topic)
    })
    void within(Promise.all(answers), ANSWER_WAIT_MS, runtime).then(acknowledge)
  }

  end(call: Call): void {
    const { topics = [] } = this.#listens.get(call) ?? {}
    this.#listens.delete(call)
    for (const topic of topics) this.#followed.leave(topic)
  }

  changed(kinds: readonly ListKind[]): void {
    for (const { listen } of this.#listens.values()) listen.changed(kinds)
  }

  updated(frame: NotificationFrame): void {
    for (const { listen } of this.#listens.values()) listen.updated(frame)
  }
}

/** One `subscriptions/listen` request: it sends notifications on the connection of that request. */
class Listen {
  readonly #call: Call
  readonly #changes: ListChanges
  #heard: SubscriptionFilter = { lists: [], uris: [], tasks: [] }
  /** Whether the acknowledgement was sent, which comes before every other notification. */
  isReady = false

  constructor(call: Call, shown: (kind: ListKind) => readonly Target[], soon: (tell: () => void) => unknown) {
    this.#call = call
    this.#changes = new ListChanges(this, shown, soon)
  }

  /** Sends the acknowledgement with what was granted; a request without anything to wait for ends here. */
  acknowledge(heard: SubscriptionFilter): void {
    const { settled, frame } = this.#call
    if (settled) return
    this.#heard = heard
    this.#call.notify('notifications/subscriptions/acknowledged', acknowledgement(frame.id, heard))
    this.isReady = true
    for (const kind of heard.lists) this.#changes.markShown(kind)
    if (heard.lists.length + heard.uris.length + heard.tasks.length === 0)
      this.#call.settle({ kind: 'result', result: subscribed(frame.id) })
  }

  changed(kinds: readonly ListKind[]): void {
    this.#changes.changed(kinds)
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

interface Followed {
  wanted: number
  granted: Promise<boolean>
}

/** Sends a request of the proxy's own for a client; `params` is raw JSON. */
type Ask = (row: RequestRow, params: string, owner: CallOwner) => void

/** Subscriptions in flight: other clients use the same servers. */
const ASKED_MAX = 32

/**
 * Follows each topic of one client while one of its requests wants it.
 *
 * A server gets one subscription for each. The proxy subscribes as a client with a session does, so that restarts, reloads
 * and servers that are asked in turn are handled as they are for such clients.
 */
export class FollowedTopics {
  readonly #topicsMax: number
  readonly #send: Ask
  readonly #followed = new Map<string, Followed>()
  readonly #asking = new PQueue({ concurrency: ASKED_MAX })

  constructor(topicsMax: number, send: Ask) {
    this.#topicsMax = topicsMax
    this.#send = send
  }

  /** As many of these as it may follow; those that it follows already take no room. */
  fitting(topics: readonly Topic[]): Topic[] {
    let room = this.#topicsMax - this.#followed.size
    return topics.filter((topic) => this.#followed.has(paramsOf(topic)) || room-- > 0)
  }

  /** Resolves with whether a server has granted the subscription; each call needs one `leave`. */
  follow(topic: Topic): Promise<boolean> {
    const known = this.#followed.get(paramsOf(topic)) ?? this.#begin(topic)
    known.wanted++
    return known.granted
  }

  leave(topic: Topic): void {
    const params = paramsOf(topic)
    const known = this.#followed.get(params)
    if (known === undefined || --known.wanted > 0) return
    this.#followed.delete(params)
    void known.granted.then((isGranted) => {
      if (isGranted) void this.#ask(topic.of.ends, params, () => !this.#followed.has(params))
    })
  }

  #begin(topic: Topic): Followed {
    const params = paramsOf(topic)
    const followed: Followed = { wanted: 0, granted: Promise.resolve(false) }
    this.#followed.set(params, followed)
    followed.granted = this.#ask(topic.of.begins, params, () => this.#followed.get(params) === followed)
    return followed
  }

  #ask(row: RequestRow, params: string, isWanted: () => boolean): Promise<boolean> {
    const answer = (): Promise<boolean> =>
      new Promise((resolve) => {
        this.#send(row, params, {
          settled: (_call: Call, outcome: Outcome) => resolve(isResult(outcome)),
        })
      })
    return this.#asking.add(async () => isWanted() && (await answer()))
  }
}

/** The params of the requests about a topic, as raw JSON: they tell it from all others. */
function paramsOf({ of, name }: Topic): string {
  return `{${quote(of.member)}:${quote(name)}}`
}
