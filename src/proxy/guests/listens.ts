// The requests of one client that stay open.

import type { NotificationFrame } from '../../jsonrpc/frame.js'
import type { Call } from '../../mcp/call.js'
import type { ListKind } from '../../mcp/methods/method-row.js'
import type { SubscriptionFilter } from '../../mcp/subscriptions.js'
import type { ClientRoutes } from '../routing/client-routes.js'
import type { Runtime } from '../../runtime/runtime.js'
import { within } from '../../runtime/within.js'
import type { FollowedThings } from './followed.js'
import { Listen } from './listen.js'

/** How long a client waits to be told what it hears of: a server that has not answered is left out. */
const ANSWER_WAIT_MS = 1000

export interface ListensParts {
  readonly routes: ClientRoutes
  readonly resources: FollowedThings
  readonly tasks: FollowedThings
  readonly runtime: Pick<Runtime, 'now' | 'setTimer'>
  readonly changeDelayMs: number
}

/** Tells each of what it wants to hear of. */
export class Listens {
  readonly #parts: ListensParts
  readonly #listens = new Map<Call, { readonly listen: Listen; readonly filter: SubscriptionFilter }>()

  constructor(parts: ListensParts) {
    this.#parts = parts
  }

  get size(): number {
    return this.#listens.size
  }

  begin(call: Call, wanted: SubscriptionFilter): void {
    const { routes, resources, tasks: allTasks, runtime, changeDelayMs } = this.#parts
    const soon = (tell: () => void): unknown => runtime.setTimer(changeDelayMs, tell)
    const uris = wanted.uris.slice(0, resources.room)
    const tasks = wanted.tasks.slice(0, allTasks.room)
    const listen = new Listen(call, (kind) => routes.shown(kind), soon)
    call.keep()
    this.#listens.set(call, { listen, filter: { ...wanted, uris, tasks } })
    const lists = wanted.lists.filter((kind) => routes.offers(kind))
    if (uris.length === 0 && tasks.length === 0) return listen.acknowledge({ lists, uris, tasks })
    const [followed, asked] = [begun(resources, uris), begun(allTasks, tasks)]
    void within(Promise.all([...followed.answers, ...asked.answers]), ANSWER_WAIT_MS, runtime).then(() =>
      listen.acknowledge({ lists, uris: followed.granted(), tasks: asked.granted() }),
    )
  }

  /** It is settled: nothing is followed for it any more. */
  end(call: Call): void {
    const { filter } = this.#listens.get(call) ?? {}
    this.#listens.delete(call)
    for (const uri of filter?.uris ?? []) this.#parts.resources.leave(uri)
    for (const id of filter?.tasks ?? []) this.#parts.tasks.leave(id)
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

/** What is asked to be followed, and what of it is granted so far. */
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
