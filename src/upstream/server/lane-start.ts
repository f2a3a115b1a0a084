// The start of a lane: its first process, and the first reading of its lists. Lists and calls wait for the promises of this.

import { patienceMs } from '../../mcp/client-patience.js'
import type { ListKind } from '../../mcp/methods.js'
import { within } from '../../runtime/deadline.js'
import { LazyPromise } from '../../runtime/lazy.js'
import { isAboutCredentials } from '../contracts/errors.js'
import type { UpstreamState } from '../contracts/upstream.js'
import type { Inbox } from './inbox.js'
import type { ServerContext } from './context.js'
import type { Workers } from './workers.js'

type StartState =
  /** Nothing has been started yet. */
  | { readonly kind: 'asleep' }
  /** The first attempt is under way, or waits until the first answers have gone. */
  | { readonly kind: 'starting'; readonly settled: Promise<void> }
  /** The first attempt has ended, either way. */
  | { readonly kind: 'settled' }

/** How often a server that ends before it has listed is started anew for a call that waits for what it has. */
const RESTARTS_MAX = 3

/** One start and the reading of the lists that follows it. */
interface Round {
  readonly listed: Promise<void>
  /** Whether a call waits for what `listed` follows. */
  isAwaited: boolean
}

/** Begins the start of one lane, and says when it is over. */
export class LaneStart {
  readonly #context: ServerContext
  readonly #inbox: Inbox
  readonly #workers: Workers
  readonly #onSettled: () => void
  readonly #onNews: () => void
  #state: StartState = { kind: 'asleep' }
  #round: Round | undefined
  /** Comes when nothing is to be answered before the start. */
  readonly #hurried = new LazyPromise<void>()
  /** The first connection was refused. */
  #isUnreachable = false
  /** When the first start began. */
  startedAt: number | undefined

  /**
   * `onSettled` is called when the first attempt to start a process has ended, either way, `onNews` when something that
   * calls wait for has.
   */
  constructor(
    context: ServerContext,
    inbox: Inbox,
    workers: Workers,
    onSettled: () => void,
    onNews: () => void,
  ) {
    this.#context = context
    this.#inbox = inbox
    this.#workers = workers
    this.#onSettled = onSettled
    this.#onNews = onNews
  }

  get state(): UpstreamState {
    return this.#state.kind === 'asleep' ? 'disconnected' : this.#workers.state
  }

  /** Resolves when the first attempt has ended; undefined when it has, or has not begun. */
  get settled(): Promise<void> | undefined {
    return this.#state.kind === 'starting' ? this.#state.settled : undefined
  }

  /** Resolves when the lists have been read, or could not be; undefined when nothing is under way. */
  get listed(): Promise<void> | undefined {
    return this.#round?.listed
  }

  /** Whether this list is about to be read. */
  isComing(kind: ListKind): boolean {
    if (this.#state.kind === 'starting') return !this.#isUnreachable
    return this.#inbox.reader.reading(kind) !== undefined
  }

  /** The first connection is refused, and tried again: no list waits for that. */
  unreachable(): void {
    this.#isUnreachable = true
    this.#onNews()
  }

  /** Starts the first process, unless that was done; with `isLater` after the first answers to clients. */
  begin(isLater = false): void {
    if (this.#state.kind !== 'asleep') return
    this.startedAt = this.#context.runtime.now()
    const delay = isLater ? this.#delay() : undefined
    const started = delay === undefined ? this.#launch() : delay.then(() => this.#launch())
    const settled = this.#attempt(started).then(() => {
      this.#state = { kind: 'settled' }
      this.#onSettled()
      this.#onNews()
    })
    this.#state = { kind: 'starting', settled }
  }

  /** A start that is put off begins now. */
  startNow(): void {
    this.#hurried.come()
  }

  /** A call waits for what the server has: it starts, or is asked again. */
  hurry(isRefused: boolean): void {
    this.#hurried.come()
    this.begin()
    if (this.#round === undefined) {
      // The process is ready, and its lists are being read or could not be.
      if (this.#workers.firstConnection !== undefined) this.#follow(this.#inbox.reader.opening)
      else if (!isRefused) void this.#attempt(this.#startFirst())
    }
    if (this.#round !== undefined) this.#round.isAwaited = true
  }

  /** A start that is put off is begun, and fails with the workers. */
  close(): void {
    this.#hurried.come()
  }

  /** A call does not wait for this. */
  async #delay(): Promise<void> {
    const { turn, leave } = this.#context.starts.putOff()
    await Promise.race([turn, this.#hurried.promise])
    leave()
  }

  /** The first attempt. The server is opened again when the person has logged in, or could not. */
  async #launch(): Promise<void> {
    await this.#startFirst()
    const { runtime } = this.#context
    const client = this.#inbox.clients.only?.profile.info?.name
    const endsAt = (this.startedAt ?? 0) + patienceMs(client, false)
    for (let login = this.#login; login !== undefined; login = this.#login) {
      const leftMs = endsAt - runtime.now()
      if (leftMs <= 0 || this.#inbox.isClosed) return
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
      await this.#workers.first.supervisor.ready()
    } catch {
      // The supervisor has logged it, and calls will say it.
    }
  }

  #attempt(started: Promise<void>): Promise<void> {
    this.#follow(started.then(() => this.#inbox.reader.opening))
    return started
  }

  /** A server that cannot list is asked again as long as a call waits for what it has. */
  #follow(read: Promise<void>): void {
    const round: Round = {
      isAwaited: false,
      listed: read
        .then(() => this.#insist(round))
        .then(() => {
          this.#round = undefined
          this.#onNews()
        }),
    }
    this.#round = round
  }

  /**
   * One that ended while it was asked has a successor, which has not said what it has; one that does not come up has
   * none.
   */
  async #insist(round: Round): Promise<void> {
    for (let restarts = 0; round.isAwaited; restarts++) {
      await this.#inbox.reader.hurry()
      const isOver =
        this.#inbox.reader.lists.hasNames || this.#workers.firstConnection !== undefined || !this.#wasUp
      if (isOver || restarts === RESTARTS_MAX) return
      await this.#startFirst()
      await this.#inbox.reader.opening
    }
  }

  /** Whether the last process has been there, and may be there again with the same credentials. */
  get #wasUp(): boolean {
    return this.#inbox.server?.facts !== undefined && !isAboutCredentials(this.#workers.failure?.reason)
  }
}
