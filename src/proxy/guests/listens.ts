// The requests of one client that stay open.

import type { NotificationFrame } from '../../jsonrpc/frame.js'
import type { Call } from '../../mcp/call.js'
import type { ListKind } from '../../mcp/methods/method-row.js'
import type { SubscriptionFilter } from '../../mcp/subscriptions.js'
import type { ClientRoutes } from '../routing/client-routes.js'
import type { Runtime } from '../../runtime/runtime.js'
import { within } from '../../runtime/within.js'
import { FollowedResources } from './followed.js'
import { Listen } from './listen.js'

/** How long a client waits to be told what it hears of: a server that has not answered is left out. */
const ANSWER_WAIT_MS = 1000

export interface ListensParts {
  readonly routes: ClientRoutes
  readonly followed: FollowedResources
  readonly runtime: Pick<Runtime, 'now' | 'setTimer'>
  readonly changeDelayMs: number
}

/** Tells each of what it wants to hear of. */
export class Listens {
  readonly #parts: ListensParts
  readonly #listens = new Map<Call, Listen>()
  /** What each has begun to follow. */
  readonly #uris = new Map<Call, readonly string[]>()

  constructor(parts: ListensParts) {
    this.#parts = parts
  }

  get size(): number {
    return this.#listens.size
  }

  begin(call: Call, { lists, uris: wanted }: SubscriptionFilter): void {
    const { routes, followed, runtime, changeDelayMs } = this.#parts
    const soon = (tell: () => void): unknown => runtime.setTimer(changeDelayMs, tell)
    const uris = wanted.slice(0, followed.room)
    const listen = new Listen(call, (kind) => routes.shown(kind), soon)
    call.keep()
    this.#listens.set(call, listen)
    this.#uris.set(call, uris)
    const offered = lists.filter((kind) => routes.offers(kind))
    if (uris.length === 0) return listen.acknowledge({ lists: offered, uris })
    const granted = new Set<string>()
    const answers = uris.map(async (uri) => {
      if (await followed.follow(uri)) granted.add(uri)
    })
    void within(Promise.all(answers), ANSWER_WAIT_MS, runtime).then(() =>
      listen.acknowledge({ lists: offered, uris: uris.filter((uri) => granted.has(uri)) }),
    )
  }

  /** It is settled: nothing is followed for it any more. */
  end(call: Call): void {
    this.#listens.delete(call)
    for (const uri of this.#uris.get(call) ?? []) this.#parts.followed.leave(uri)
    this.#uris.delete(call)
  }

  changed(kinds: readonly ListKind[]): void {
    for (const listen of this.#listens.values()) listen.changed(kinds)
  }

  updated(frame: NotificationFrame): void {
    const uri = frame.params.members.string('uri')
    if (uri !== undefined) for (const listen of this.#listens.values()) listen.updated(frame, uri)
  }
}
