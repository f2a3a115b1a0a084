// What the clients of one lane see of its server.

import type { ServerFacts } from '../../mcp/eras/leg.js'
import type { ListItem } from '../../mcp/lists.js'
import type { ListKind } from '../../mcp/methods.js'
import type { Before, ServerView, UpstreamState } from '../contracts/upstream.js'
import type { ServerContext } from './context.js'
import type { GuardedLists } from './guarded-lists.js'
import type { KeptView } from './kept-view.js'
import type { LaneStart } from './lane-start.js'
import type { ListReader } from './list-reader.js'
import type { Workers } from './workers.js'

/** The server as its clients see it: by the processes of this lane, or as it was kept. */
export class LaneView implements ServerView {
  readonly #context: ServerContext
  readonly #reader: ListReader
  readonly #guarded: GuardedLists
  readonly #keptView: KeptView
  readonly #workers: Workers
  readonly #start: LaneStart

  constructor(
    context: ServerContext,
    reader: ListReader,
    guarded: GuardedLists,
    keptView: KeptView,
    workers: Workers,
    start: LaneStart,
  ) {
    this.#context = context
    this.#reader = reader
    this.#guarded = guarded
    this.#keptView = keptView
    this.#workers = workers
    this.#start = start
  }

  get state(): UpstreamState {
    if (this.#guarded.blocked !== undefined) return 'error'
    const { state } = this.#start
    // A server is connected once its tools and prompts have been listed.
    if (state !== 'connected' || this.#reader.lists.hasNames) return state
    return this.#reader.failure === undefined ? 'starting' : 'error'
  }

  get failure(): ServerView['failure'] {
    const why = this.#guarded.blocked
    if (why !== undefined) return { message: why, body: this.#guarded.error(why), reason: 'changed' }
    return this.#workers.failure ?? this.#reader.failure
  }

  get facts(): ServerFacts | undefined {
    return this.#guarded.facts
  }

  items(kind: ListKind): readonly ListItem[] {
    return this.#guarded.items(kind)
  }

  get before(): Before {
    return this.#keptView.before
  }

  get startedAt(): number | undefined {
    return this.#start.startedAt
  }

  get isStarting(): boolean {
    return this.#start.settled !== undefined
  }

  get isPending(): boolean {
    return this.#start.listed !== undefined
  }

  isComing(kind: ListKind): boolean {
    return this.#start.isComing(kind)
  }

  isShown(kind: ListKind): boolean {
    return this.#reader.lists.known.has(kind) || this.#keptView.has(kind)
  }

  listedAt(kind: ListKind): number | undefined {
    return this.#reader.listedAt.get(kind)
  }

  get wasKept(): boolean {
    return this.#keptView.wasKept
  }

  want(kinds: readonly ListKind[], how: 'list' | 'call'): void {
    this.#reader.renew(kinds)
    if (!kinds.every((kind) => this.#keptView.has(kind))) this.#start.begin()
    const { known } = this.#reader.lists
    if (kinds.some((kind) => (how === 'list' ? !this.isShown(kind) : !known.has(kind))))
      this.#start.startNow()
  }

  giveUp(): Promise<void> | undefined {
    return this.#context.keptLists.givenUp() ? this.#context.kept.flush() : undefined
  }
}
