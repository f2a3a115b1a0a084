// The requests of one client that stay open.

import PQueue from 'p-queue'
import type { NotificationFrame, RequestFrame } from '../../jsonrpc/frame.js'
import { Call, type CallOwner, isResult, type Outcome, type ClientPort } from '../../calls/call.js'
import {
  acknowledgement,
  isFollowedBy,
  subscribed,
  subscriptionEdits,
  type SubscriptionFilter,
} from '../../mcp/subscription-edits.js'
import type { ClientRoutes } from '../routing/client-routes.js'
import type { Runtime } from '../../runtime/runtime.js'
import { within } from '../../runtime/deadline.js'
import { ListChanges, type ShownList } from '../routing/list-changes.js'
import { requestFrame } from '../input/own-frames.js'
import { numericId } from '../../jsonrpc/request-id.js'
import { quote } from '../../jsonrpc/text.js'
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

/** The acknowledgement waits so long for servers; a server that has not answered in that time is left out. */
const ANSWER_WAIT_MS = 1000

/** Sends each open request the notifications that its filter names. */
export class Listens {
  readonly #routes: ClientRoutes
  readonly #runtime: Pick<Runtime, 'now' | 'setTimer'>
  readonly #changeDelayMs: number
  readonly #resources: FollowedThings
  readonly #tasks: FollowedThings
  readonly #listens = new Map<Call, { readonly listen: Listen; readonly filter: SubscriptionFilter }>()

  /** `client` may follow `followedMax` things of each kind; changes of lists within `changeDelayMs` give one notification. */
  constructor(
    client: ClientPort,
    routes: ClientRoutes,
    runtime: Pick<Runtime, 'now' | 'setTimer'>,
    followedMax: number,
    changeDelayMs: number,
  ) {
    this.#routes = routes
    this.#runtime = runtime
    this.#changeDelayMs = changeDelayMs
    const ask = (row: RequestRow, frame: RequestFrame, owner: CallOwner): void => {
      const context = { revision: latestSession, capabilities: noCapabilities }
      routes.router.route(new Call(frame, row, client, new CallDeadline(runtime.now()), owner, context))
    }
    this.#resources = new FollowedThings(followableResources, ask, followedMax)
    this.#tasks = new FollowedThings(followableTasks, ask, followedMax)
  }

  get size(): number {
    return this.#listens.size
  }

  begin(call: Call, wanted: SubscriptionFilter): void {
    const soon = (tell: () => void): unknown => this.#runtime.setTimer(this.#changeDelayMs, tell)
    const uris = this.#resources.fitting(wanted.uris)
    const tasks = this.#tasks.fitting(wanted.tasks)
    const listen = new Listen(call, (kind) => this.#routes.shown(kind), soon)
    call.keep()
    this.#listens.set(call, { listen, filter: { ...wanted, uris, tasks } })
    const lists = wanted.lists.filter((kind) => this.#routes.offers(kind))
    if (uris.length === 0 && tasks.length === 0) return listen.acknowledge({ lists, uris, tasks })
    const [followed, asked] = [begun(this.#resources, uris), begun(this.#tasks, tasks)]
    void within(Promise.all([...followed.answers, ...asked.answers]), ANSWER_WAIT_MS, this.#runtime).then(
      () => listen.acknowledge({ lists, uris: followed.granted(), tasks: asked.granted() }),
    )
  }

  /** The request is settled: the client follows nothing for it any more. */
  end(call: Call): void {
    const { filter } = this.#listens.get(call) ?? {}
    this.#listens.delete(call)
    for (const uri of filter?.uris ?? []) this.#resources.leave(uri)
    for (const id of filter?.tasks ?? []) this.#tasks.leave(id)
  }

  changed(kinds: readonly ListKind[]): void {
    for (const { listen } of this.#listens.values()) listen.changed(kinds)
  }

  updated(frame: NotificationFrame): void {
    const uri = frame.params.members.string('uri')
    if (uri !== undefined) for (const { listen } of this.#listens.values()) listen.updated(frame, uri)
  }

  taskChanged(frame: NotificationFrame): void {
    const id = frame.params.members.string('taskId')
    if (id !== undefined) for (const { listen } of this.#listens.values()) listen.taskChanged(frame, id)
  }
}

/** Subscriptions that servers were asked for, and those that they have granted so far. */
interface Begun {
  readonly answers: readonly Promise<void>[]
  granted(): string[]
}

function begun(things: FollowedThings, names: readonly string[]): Begun {
  const granted = new Set<string>()
  const answers = names.map(async (name) => {
    if (await things.follow(name)) granted.add(name)
  })
  return { answers, granted: () => names.filter((name) => granted.has(name)) }
}

/** One `subscriptions/listen` request: it sends notifications on the connection of that request. */
export class Listen {
  readonly #call: Call
  readonly #changes: ListChanges
  #heard: SubscriptionFilter = { lists: [], uris: [], tasks: [] }
  /** Whether the acknowledgement was sent, which comes before every other notification. */
  isReady = false

  /** `shown` gives the current list, and `soon` calls its argument a little later. */
  constructor(call: Call, shown: (kind: ListKind) => ShownList, soon: (tell: () => void) => unknown) {
    this.#call = call
    this.#changes = new ListChanges(this, shown, soon)
  }

  /** Sends the acknowledgement with what was granted; a request without anything to wait for ends here. */
  acknowledge(heard: SubscriptionFilter): void {
    if (this.#call.settled) return
    this.#heard = heard
    this.#say('notifications/subscriptions/acknowledged', acknowledgement(this.#call.frame.id, heard))
    this.isReady = true
    for (const kind of heard.lists) this.#changes.markShown(kind)
    if (heard.lists.length + heard.uris.length + heard.tasks.length === 0) this.end()
  }

  /** Lists of servers may have changed. */
  changed(kinds: readonly ListKind[]): void {
    this.#changes.changed(kinds)
  }

  tellChanges(methods: ReadonlySet<string>): void {
    if (this.#call.settled) return
    for (const method of methods) this.#say(method, subscribed(this.#call.frame.id))
  }

  /** A resource has changed. */
  updated(frame: NotificationFrame, uri: string): void {
    if (this.#heard.uris.some((followed) => isFollowedBy(uri, followed))) this.#pass(frame)
  }

  /** A task is in another state. */
  taskChanged(frame: NotificationFrame, id: string): void {
    if (this.#heard.tasks.includes(id)) this.#pass(frame)
  }

  /** Answers the request: no notification follows. */
  end(): void {
    this.#call.settle({ kind: 'result', result: subscribed(this.#call.frame.id) })
  }

  #pass(frame: NotificationFrame): void {
    const edits = subscriptionEdits(frame, this.#call.frame.id)
    this.#call.tell(frame, edits)
  }

  #say(method: string, params: string): void {
    this.#call.notify(method, params)
  }
}

// The resources, or the tasks, that one client follows, for any number of its requests.
//
// A server gets one subscription for each. The proxy subscribes as a client with a session does, so that restarts, reloads
// and servers that are asked in turn are handled as they are for such clients.

/** One resource or task, with the number of requests that follow it. */
interface Followed {
  wanted: number
  granted: Promise<boolean>
}

/** Sends a request of the proxy's own for a client. */
type Ask = (row: RequestRow, frame: RequestFrame, owner: CallOwner) => void

/** Subscriptions in flight: other clients use the same servers. */
const ASKED_MAX = 32

/** Follows each resource or task while a request wants it. */
export class FollowedThings {
  readonly #what: Followable
  readonly #send: Ask
  readonly #followedMax: number
  readonly #followed = new Map<string, Followed>()
  readonly #asking = new PQueue({ concurrency: ASKED_MAX })
  #asked = 0

  constructor(what: Followable, send: Ask, followedMax: number) {
    this.#what = what
    this.#send = send
    this.#followedMax = followedMax
  }

  /** As many of these as it may follow; those that it follows already take no room. */
  fitting(names: readonly string[]): string[] {
    let room = this.#followedMax - this.#followed.size
    return names.filter((name) => this.#followed.has(name) || room-- > 0)
  }

  /** Resolves with whether a server has granted the subscription; each call needs one `leave`. */
  follow(name: string): Promise<boolean> {
    const known = this.#followed.get(name) ?? this.#begin(name)
    known.wanted++
    return known.granted
  }

  leave(name: string): void {
    const known = this.#followed.get(name)
    if (known === undefined || --known.wanted > 0) return
    this.#followed.delete(name)
    void known.granted.then((isGranted) => {
      // Another request may have followed it since.
      if (isGranted) void this.#ask(this.#what.ends, name, () => !this.#followed.has(name))
    })
  }

  #begin(name: string): Followed {
    const followed: Followed = { wanted: 0, granted: Promise.resolve(false) }
    this.#followed.set(name, followed)
    followed.granted = this.#ask(this.#what.begins, name, () => this.#followed.get(name) === followed)
    return followed
  }

  /** Asks a server in its turn, if that is still wanted then. */
  #ask(row: RequestRow, name: string, isWanted: () => boolean): Promise<boolean> {
    return this.#asking.add(async () => isWanted() && (await this.#answer(row, name)))
  }

  #answer(row: RequestRow, name: string): Promise<boolean> {
    const params = `{${quote(this.#what.member)}:${quote(name)}}`
    const frame = requestFrame(numericId(++this.#asked), row.method, params)
    return new Promise((resolve) => {
      this.#send(row, frame, { settled: (_call: Call, outcome: Outcome) => resolve(isResult(outcome)) })
    })
  }
}
