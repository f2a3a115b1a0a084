// One request of a client that stays open, so that the client hears of changes.

import type { NotificationFrame } from '../../jsonrpc/frame.js'
import type { Call } from '../../mcp/call.js'
import { listShapes } from '../../mcp/lists.js'
import type { ListKind } from '../../mcp/methods/method-row.js'
import { isFollowedBy } from '../../mcp/resource-uris.js'
import {
  type SubscriptionFilter,
  acknowledgement,
  subscribed,
  subscriptionEdits,
} from '../../mcp/subscriptions.js'
import { ListChanges, type ShownList } from '../routing/list-changes.js'

/** Says what has changed to the connection of its request. */
export class Listen {
  readonly #call: Call
  readonly #changes: ListChanges
  #heard: SubscriptionFilter = { lists: [], uris: [], tasks: [] }
  /** Whether it has said what it tells of, which comes before anything else. */
  isReady = false

  /** `shown` gives a list as it is now, and `soon` calls what it is given a little later. */
  constructor(call: Call, shown: (kind: ListKind) => ShownList, soon: (tell: () => void) => unknown) {
    this.#call = call
    this.#changes = new ListChanges(this, shown, soon)
  }

  /** Says what the client hears of from now on; where that is nothing, there is nothing to wait for. */
  acknowledge(heard: SubscriptionFilter): void {
    if (this.#call.settled) return
    this.#heard = heard
    this.#say('notifications/subscriptions/acknowledged', acknowledgement(this.#call.frame.id, heard))
    this.isReady = true
    for (const kind of heard.lists) this.#changes.gave(kind)
    if (heard.lists.length + heard.uris.length + heard.tasks.length === 0) this.end()
  }

  /** What servers list may have changed. */
  changed(kinds: readonly ListKind[]): void {
    this.#changes.changed(kinds.filter((kind) => this.#heard.lists.includes(kind)))
  }

  tellChanges(kinds: readonly ListKind[]): void {
    if (this.#call.settled) return
    // Two lists have one notification.
    for (const method of new Set(kinds.map((kind) => listShapes[kind].changed)))
      this.#say(method, subscribed(this.#call.frame.id))
  }

  /** A resource has changed. */
  updated(frame: NotificationFrame, uri: string): void {
    if (this.#heard.uris.some((followed) => isFollowedBy(uri, followed))) this.#pass(frame)
  }

  /** A task is in another state. */
  taskChanged(frame: NotificationFrame, id: string): void {
    if (this.#heard.tasks.includes(id)) this.#pass(frame)
  }

  /** Nothing more will be said. */
  end(): void {
    this.#call.settle({ kind: 'result', result: subscribed(this.#call.frame.id) })
  }

  #pass(frame: NotificationFrame): void {
    const edits = subscriptionEdits(frame, this.#call.frame.id)
    this.#call.context.hearer?.tell(frame, edits, this.#call)
  }

  #say(method: string, params: string): void {
    this.#call.context.hearer?.notify(this.#call, method, params)
  }
}
