// A server as the clients of one lane see it: the start of its first process, and what is known of its lists.

import { patienceMs } from '../../mcp/client-patience.js'
import type { ServerFacts } from '../../mcp/eras/server-era.js'
import type { ListItem } from '../../mcp/list-items.js'
import type { ListKind } from '../../mcp/methods.js'
import { within } from '../../runtime/deadline.js'
import { Deferred } from '../../runtime/deferred.js'
import { isAboutCredentials } from '../contracts/upstream-error.js'
import type { Before, ServerView, UpstreamState } from '../contracts/upstream.js'
import type { ServerContext } from './context.js'
import type { GuardedLists } from './guarded-lists.js'
import type { Inbox } from './inbox.js'
import type { ServerLists } from './server-lists.js'
import type { Workers } from './workers.js'

/** How often a server that ends before it has listed is started anew for a call that waits for what it has. */
const RESTARTS_MAX = 3

/** The parts of a lane. */
interface LaneParts {
  readonly inbox: Inbox
  readonly lists: ServerLists
  readonly guarded: GuardedLists
  readonly workers: Workers
  /** The first attempt to start a process has ended, either way. */
  readonly onSettled: () => void
  /** Something that calls wait for has ended. */
  readonly onNews: () => void
}

/** Begins the start of one lane, and shows what is known of its server. */
export class LaneView implements ServerView {
  readonly #context: ServerContext
  readonly #parts: LaneParts
  readonly #lists: ServerLists
  readonly #workers: Workers
  /** Comes when nothing is to be answered before the start. */
  /** A call waits, or has waited, for what the server has. */
  #isCalled = false
  readonly #hurried = new Deferred<void>()
  /** The first connection was refused. */
  #isUnreachable = false
  /** A call waits for what `isPending` is about. */
  #isAwaited = false
  isPending: boolean = false
  startedAt: number | undefined
  /** Resolves when the first attempt to start a process has ended; undefined when it has, or has not begun. */
  settled: Promise<void> | undefined

  constructor(context: ServerContext, parts: LaneParts) {
    this.#context = context
    this.#parts = parts
    this.#lists = parts.lists
    this.#workers = parts.workers
  }

  get state(): UpstreamState {
    if (this.#parts.guarded.blocked !== undefined) return 'error'
    const state = this.startedAt === undefined ? 'disconnected' : this.#workers.state
    // A server is connected once its tools and prompts have been listed.
    if (state !== 'connected' || this.#lists.hasNames) return state
    return this.#lists.failure === undefined ? 'starting' : 'error'
  }

  get failure(): ServerView['failure'] {
    const { guarded } = this.#parts
    const why = guarded.blocked
    if (why !== undefined) return { message: why, body: guarded.error(why), reason: 'changed' }
    return this.#workers.failure ?? this.#lists.failure
  }

  get facts(): ServerFacts | undefined {
    return this.#parts.guarded.facts
  }

  get before(): Before {
    return this.#lists.before
  }

  get wasKept(): boolean {
    return this.#lists.wasKept
  }

  get isStarting(): boolean {
    return this.settled !== undefined
  }

  items(kind: ListKind): readonly ListItem[] {
    return this.#parts.guarded.items(kind)
  }

  isComing(kind: ListKind): boolean {
    return this.isStarting ? !this.#isUnreachable : this.#lists.reading(kind) !== undefined
  }

  isShown(kind: ListKind): boolean {
    return this.#lists.known.has(kind) || this.#lists.isKept(kind)
  }

  listedAt(kind: ListKind): number | undefined {
    return this.#lists.listedAt(kind)
  }

  want(kinds: readonly ListKind[], how: 'list' | 'call'): void {
    this.#lists.renew(kinds)
    if (!kinds.every((kind) => this.#lists.isKept(kind))) this.begin()
    const isThere = (kind: ListKind): boolean =>
      how === 'list' ? this.isShown(kind) : this.#lists.known.has(kind)
    if (!kinds.every(isThere)) this.startNow()
  }

  giveUp(): void {
    this.#context.keptLists.givenUp()
  }

  /** The first connection is refused, and tried again: no list waits for that. */
  unreachable(): void {
    this.#isUnreachable = true
    this.#parts.onNews()
  }

  /** Starts the first process, unless that was done; with `isLater` after the first answers to clients. */
  begin(isLater: boolean = false): void {
    if (this.startedAt !== undefined) return
    this.startedAt = this.#context.runtime.now()
    const started = isLater ? this.#turn().then(() => this.#launch()) : this.#launch()
    this.#follow(started.then(() => this.#lists.opening))
    this.settled = started.then(() => {
      this.settled = undefined
      this.#parts.onSettled()
      this.#parts.onNews()
    })
  }

  /** A start that is put off begins now. At the end of the lane it fails with the workers. */
  startNow(): void {
    this.#hurried.resolve()
  }

  /** A call waits for what the server has: it starts, or is asked again. */
  hurry(isRefused: boolean): void {
    this.#isCalled = true
    this.startNow()
    this.begin()
    if (!this.isPending) {
      // The process is ready, and its lists are being read or could not be.
      if (this.#workers.firstConnection !== undefined) this.#follow(this.#lists.opening)
      else if (!isRefused) this.#follow(this.#startFirst().then(() => this.#lists.opening))
    }
    this.#isAwaited = this.isPending
  }

  /** A call does not wait for this. */
  async #turn(): Promise<void> {
    const { turn, leave } = this.#context.gate.putOff()
    await Promise.race([turn, this.#hurried.promise])
    leave()
  }

  /** The first attempt. The server is opened again when the person has logged in, or could not. */
  async #launch(): Promise<void> {
    await this.#startFirst()
    const { runtime } = this.#context
    const { inbox } = this.#parts
    const client = inbox.clients.only?.profile.info?.name
    const endsAt = (this.startedAt ?? 0) + patienceMs(client, false)
    for (let login = this.#login; login !== undefined; login = this.#login) {
      const leftMs = endsAt - runtime.now()
      if (leftMs <= 0 || inbox.isClosed) return
      const ended = login.then(() => true)
      if ((await within(ended, leftMs, runtime)) === true) await this.#startFirst()
    }
  }

  /** The login that is under way, without which the server cannot be opened. */
  get #login(): Promise<void> | undefined {
    return this.#workers.failure?.reason === 'login-required' ? this.#context.logins?.underWay : undefined
  }

  /** Resolves when that has succeeded or failed. */
  async #startFirst(): Promise<void> {
    // The server puts the lane into place before its first process starts.
    await Promise.resolve()
    try {
      await this.#workers.first.ready(this.#isCalled)
    } catch {
      // The worker has logged it, and calls will say it.
    }
  }

  /** A server that cannot list is asked again as long as a call waits for what it has. */
  #follow(read: Promise<void>): void {
    this.isPending = true
    this.#isAwaited = false
    void read
      .then(() => this.#insist())
      .then(() => {
        this.isPending = false
        this.#parts.onNews()
      })
  }

  /**
   * One that ended while it was asked has a successor, which has not said what it has; one that does not come up has
   * none.
   */
  async #insist(): Promise<void> {
    let restarts = 0
    while (this.#isAwaited) {
      await this.#lists.hurry()
      const isOver = this.#lists.hasNames || this.#workers.firstConnection !== undefined || !this.#wasUp
      if (isOver || restarts++ === RESTARTS_MAX) return
      await this.#startFirst()
      await this.#lists.opening
    }
  }

  /** Whether the last process has been there, and may be there again with the same credentials. */
  get #wasUp(): boolean {
    return this.#parts.inbox.server?.facts !== undefined && !isAboutCredentials(this.#workers.failure?.reason)
  }
}
