// The subscription to a server without sessions: one request, whose response ends it.
//
// MCP 2026-07-28, Subscriptions; the extension Tasks: task status notifications. A subscription cannot be
// changed: another request replaces it. The proxy cancels the old request only after the server has
// acknowledged the new one, so that no notification is lost. Over HTTP each request has a separate stream, on
// which messages may still be on their way, so both stay open for a short time.

import type { NotificationFrame } from '../../jsonrpc/frame.js'
import { membersAt } from '../../jsonrpc/members.js'
import type { PendingAnswer } from '../../jsonrpc/peer.js'
import { canonical, type RequestId } from '../../jsonrpc/request-id.js'
import { rawAt } from '../../jsonrpc/text.js'
import type { Call } from '../../calls/call.js'
import { type ServerCapabilities, TASKS } from '../../mcp/capabilities.js'
import { notFollowed, isMissing, numberOfError } from '../../mcp/error-codes.js'
import type { ServerNotificationRow, Topic } from '../../mcp/methods.js'
import { SUBSCRIPTION_ID } from '../../mcp/meta-keys.js'
import { filterJson, topicsIn } from '../../mcp/subscription-edits.js'
import type { ServerConnection } from './server-connection.js'
import type { ServerContext } from './context.js'
import type { ServerLane } from './lane.js'
import { topicOf } from './lane-clients.js'
import type { Timer } from '../../runtime/runtime.js'
import { within } from '../../runtime/deadline.js'
import { callTimeout } from '../../calls/call-deadline.js'

/** The time for the acknowledgement of a subscription, for which a server has nothing to find out. */
const ACK_MS = 10_000

/** The time for messages that are still on their way on the old stream. */
const OVERLAP_MS = 1000

interface Listening {
  readonly id: RequestId
  /** Set while the request waits for its acknowledgement, or overlaps with its successor. */
  timer: Timer | undefined
  readonly filter: string
  /** The keys of the topics, by `keyOf`. */
  readonly topics: ReadonlySet<string>
  /** The topics that the server has accepted; undefined until the acknowledgement. */
  honoured: ReadonlySet<string> | undefined
}

interface Waiting extends Topic {
  readonly answer: (isGranted: boolean) => void
}

export class ServerSubscription {
  readonly #context: ServerContext
  readonly #connection: ServerConnection
  readonly #capabilities: ServerCapabilities
  readonly #lane: Pick<ServerLane, 'clients' | 'lists'>
  readonly #requests = new Set<Listening>()
  #current: Listening | undefined
  #next: Listening | undefined
  #isFirst = true
  #isClosed = false
  #waiting: Waiting[] = []
  #retry: Timer | undefined
  #failures = 0

  constructor(
    context: ServerContext,
    connection: ServerConnection,
    capabilities: ServerCapabilities,
    lane: Pick<ServerLane, 'clients' | 'lists'>,
  ) {
    this.#context = context
    this.#connection = connection
    this.#capabilities = capabilities
    this.#lane = lane
  }

  renew(): void {
    // The acknowledgement of the next request calls this again.
    if (this.#isClosed || this.#retry !== undefined || this.#next !== undefined) return
    const topics = this.#lane.clients.topics.filter(({ kind }) => this.#tellsOf(kind))
    const filter = filterJson({ lists: this.#capabilities.changes, topics })
    if (filter === this.#current?.filter) return this.#settle(this.#current)
    if (filter === '{}') this.#giveUp()
    else this.#open(filter, topics)
  }

  #tellsOf(kind: Topic['kind']): boolean {
    const { extensions, subscribe } = this.#capabilities
    return kind === 'taskIds' ? extensions.has(TASKS) : subscribe
  }

  /** Carries out a call that begins or ends a subscription; the client is registered already. */
  async follows(call: Call): Promise<void> {
    const topic = topicOf(call)
    if (call.row.subscribes !== true) this.renew()
    else {
      const { runtime, service } = this.#context
      // The acknowledgement may take longer than the call may.
      const leftMs = call.deadline.endsAt - runtime.now()
      const isGranted = await within(this.#granted(topic), leftMs, runtime)
      if (isGranted === undefined) return call.fail(callTimeout(service, call, 'no answer'))
      if (!isGranted) return call.fail(notFollowed(service, topic.name))
    }
    call.settle({ kind: 'result', result: '{}' })
  }

  #granted(topic: Topic): Promise<boolean> {
    if (this.#isClosed || !this.#tellsOf(topic.kind)) return Promise.resolve(false)
    return new Promise((answer) => {
      this.#waiting.push({ ...topic, answer })
      this.renew()
    })
  }

  /** Whether a notification was about the subscription itself. */
  onNotification(frame: NotificationFrame, row: ServerNotificationRow | undefined): boolean {
    if (row?.does === 'cancel') this.#cancelled(frame)
    else if (frame.method === 'notifications/subscriptions/acknowledged') this.#acknowledged(frame)
    else return false
    return true
  }

  #acknowledged({ line, params }: NotificationFrame): void {
    const span = params.meta.span(SUBSCRIPTION_ID)
    const next = this.#next
    if (next === undefined || span === undefined || !isSame(rawAt(line, span), next.id)) return
    next.honoured = new Set(topicsIn(membersAt(line, params.members.span('notifications'))).map(keyOf))
    next.timer?.cancel()
    const before = this.#current
    this.#current = next
    this.#next = undefined
    if (before !== undefined) this.#replace(before)
    else this.#missed()
    this.#isFirst = false
    this.#failures = 0
    this.#settle(next)
    this.renew()
  }

  /**
   * Reads lists again whose changes the server may not have reported before the subscription. On stdio the
   * first reads follow the first request, so they miss no change; over HTTP they may overtake it.
   */
  #missed(): void {
    const { lists } = this.#lane
    if (!this.#isFirst || this.#context.questionsNameTheirCall || !lists.isBusy)
      lists.missed(this.#connection)
  }

  #replace(before: Listening): void {
    const { questionsNameTheirCall, runtime } = this.#context
    if (questionsNameTheirCall) before.timer = runtime.setTimer(OVERLAP_MS, () => this.#drop(before))
    else this.#drop(before)
  }

  #drop(one: Listening): void {
    one.timer?.cancel()
    if (this.#requests.delete(one)) this.#connection.giveUp(one.id)
  }

  #cancelled({ line, params }: NotificationFrame): void {
    const span = params.members.span('requestId')
    const id = span === undefined ? '' : rawAt(line, span)
    for (const one of this.#requests) if (isSame(id, one.id)) this.#onEnded(one)
  }

  close(): void {
    this.#isClosed = true
    for (const { timer } of this.#requests) timer?.cancel()
    this.#retry?.cancel()
    this.#answer(() => false)
  }

  #open(filter: string, topics: readonly Topic[]): void {
    const { runtime } = this.#context
    const isAboutTasks = topics.some(({ kind }) => kind === 'taskIds')
    const pending = this.#connection.listen(`{"notifications":${filter}}`, isAboutTasks)
    if (pending === undefined) return this.#scheduleRetry()
    const keys = new Set(topics.map(keyOf))
    const next: Listening = { id: pending.id, timer: undefined, filter, topics: keys, honoured: undefined }
    this.#next = next
    this.#requests.add(next)
    next.timer = runtime.setTimer(ACK_MS, () => {
      this.#connection.giveUp(next.id)
      this.#onEnded(next)
    })
    void this.#await(next, pending)
  }

  #giveUp(): void {
    for (const one of this.#requests) this.#drop(one)
    this.#current = undefined
    this.#settle({ topics: new Set(), honoured: undefined })
  }

  async #await(one: Listening, { answer }: PendingAnswer): Promise<void> {
    try {
      const frame = await answer
      if (frame.kind === 'error' && isMissing(numberOfError(frame))) {
        this.#context.tell('debug', 'it tells of no changes: it does not know subscriptions/listen')
        this.close()
      }
    } catch {
      // The connection or the stream of this request has ended.
    }
    this.#onEnded(one)
  }

  /** A result has the same meaning as a broken stream: no further notification comes. */
  #onEnded(one: Listening): void {
    one.timer?.cancel()
    if (!this.#requests.delete(one) || this.#isClosed) return
    if (one === this.#next) {
      this.#next = undefined
      this.#answer((topic) => (one.topics.has(keyOf(topic)) ? false : undefined))
    } else if (one === this.#current) this.#current = undefined
    else return
    this.#scheduleRetry()
  }

  #scheduleRetry(): void {
    const { limits, runtime } = this.#context
    const { retryMs, retryMsMax } = limits.lists
    const delayMs = Math.min(retryMs * 2 ** this.#failures++, retryMsMax)
    this.#retry ??= runtime.setTimer(delayMs, () => {
      this.#retry = undefined
      this.renew()
    })
  }

  /** Answers the calls that wait for these topics, or for topics that no client follows any more. */
  #settle({ topics, honoured }: Pick<Listening, 'topics' | 'honoured'>): void {
    this.#answer((topic) => {
      if (topics.has(keyOf(topic))) return honoured?.has(keyOf(topic)) === true
      return this.#lane.clients.followed(topic.kind).has(topic.name) ? undefined : false
    })
  }

  /** Answers waiting calls. A call stays in the list if `isGranted` returns undefined. */
  #answer(isGranted: (topic: Topic) => boolean | undefined): void {
    this.#waiting = this.#waiting.filter((waiting) => {
      const granted = isGranted(waiting)
      if (granted !== undefined) waiting.answer(granted)
      return granted === undefined
    })
  }
}

function keyOf({ kind, name }: Topic): string {
  return `${kind} ${name}`
}

function isSame(text: string, id: RequestId): boolean {
  return text === id || text === canonical(id)
}
