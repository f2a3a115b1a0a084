// How long lists, and calls of one client, wait for servers that are starting.
//
// Most clients list once, directly after `initialize`, and never see an item that appears later. A client
// also gives up a server that does not answer in time. So a list waits for servers, but never longer than its
// client does. A call by name waits for the servers that may have the name, up to the limit of the call. Each
// news of a server, and one timer, make the proxy check the waiting calls. The calls continue in the order of
// their arrival. A reload exchanges the servers for which calls wait.

import type { ErrorBody } from '../../jsonrpc/build.js'
import type { Call, ClientPort } from '../../calls/call.js'
import { CallQueue } from '../../calls/call-queue.js'
import { patienceMs } from '../../mcp/client-patience.js'
import { tooManyCalls, upstreamFailed } from '../../mcp/error-codes.js'
import { listKinds } from '../../mcp/list-items.js'
import type { ListKind } from '../../mcp/methods.js'
import type { Timer } from '../../runtime/runtime.js'
import type { CallTarget } from '../../upstream/contracts/upstream.js'
import type { Router, RoutingContext } from './router.js'

/** If some lists are kept, a list waits this long for servers of which nothing is kept, from their start on. */
const KEPT_WAIT_MS = 1500

/** If nothing is kept, servers that list within this time of each other appear in one list. */
const QUIET_MS = 3000

interface ListTimes {
  /** Without a configured time, a list is answered earlier if it can show something. */
  readonly isConfigured: boolean
  readonly ms: number
}

/**
 * `configuredMs` is `startupGraceMs`. `hasToken` says whether the request has a progress token. `waitedMs` is
 * the time that the client waited before any server could start.
 */
export function listTimes(
  client: string | undefined,
  hasToken: boolean,
  configuredMs: number | undefined,
  waitedMs: number = 0,
): ListTimes {
  if (configuredMs !== undefined) return { isConfigured: true, ms: configuredMs }
  return { isConfigured: false, ms: Math.max(0, patienceMs(client, hasToken) - waitedMs) }
}

function missingOf(lanes: readonly CallTarget[], kind: ListKind): readonly CallTarget[] {
  const isSomeShown = lanes.some(({ view }) => view.isShown(kind))
  // A server that was silent at its last start delays nothing. But an empty list looks as if nothing existed.
  return lanes.filter(
    ({ view }) =>
      !view.isShown(kind) && view.isComing(kind) && (!isSomeShown || view.before.kind !== 'silent'),
  )
}

/** The time from which a list is answered with the available items, in monotonic milliseconds. */
export function answerAt(lanes: readonly CallTarget[], kind: ListKind, times: ListTimes): number {
  const missing = missingOf(lanes, kind)
  if (missing.length === 0) return -Infinity
  // A list of tools must not be empty. Many servers lack prompts and resources, which follow the tools.
  const isFilled = ({ view }: CallTarget): boolean =>
    view.isShown(kind) && (kind !== 'tools' || view.items(kind).length > 0)
  const isSomeKept = lanes.some((lane) => lane.view.wasKept && isFilled(lane))
  if (isSomeKept && !times.isConfigured) return lastStartOf(missing) + Math.min(KEPT_WAIT_MS, times.ms)
  return quietAt(lanes.filter(isFilled), missing, kind === 'tools' ? ['tools'] : listKinds, times)
}

/** When the wait for `missing` ends: no other server has listed lately, or the time is over. */
function quietAt(
  lanes: readonly CallTarget[],
  missing: readonly CallTarget[],
  kinds: readonly ListKind[],
  { isConfigured, ms }: ListTimes,
): number {
  const startedAt = lastStartOf(missing)
  const times = lanes.flatMap(({ view }) => kinds.map((kind) => view.listedAt(kind) ?? -Infinity))
  const listedAt = Math.max(-Infinity, ...times)
  if (isConfigured || listedAt === -Infinity) return startedAt + ms
  return Math.min(startedAt + ms, Math.max(startedAt, listedAt) + QUIET_MS)
}

function lastStartOf(lanes: readonly CallTarget[]): number {
  return Math.max(...lanes.map(({ view }) => view.startedAt ?? -Infinity))
}

/** The name that a call uses, and the servers that may have it. */
export interface Wanted {
  readonly kind: 'tools' | 'prompts'
  readonly name: string
  /** Whether a server that has listed has the name. */
  isListed(): boolean
  /** The servers that may have the name. If the name has the prefix of one of them, no other server is waited for. */
  readonly candidates: () => { readonly lanes: readonly CallTarget[]; readonly isClaimed: boolean }
}

interface Wait {
  /** The time when the wait ends, as far as is known now. */
  readonly dueAt: () => number
  readonly run: () => void
}

export class ListWaits {
  readonly #servers: Pick<Router, 'lanes'>
  readonly #client: Pick<ClientPort, 'profile'>
  readonly #context: RoutingContext
  readonly #waiting: CallQueue<Wait>
  readonly #watches = new Set<Wait>()
  #timer: Timer | undefined
  #isLooking = false

  constructor(servers: Pick<Router, 'lanes'>, client: Pick<ClientPort, 'profile'>, context: RoutingContext) {
    this.#servers = servers
    this.#client = client
    this.#context = context
    this.#waiting = new CallQueue(context.runtime, context.limits.session.waitingBytesMax)
  }

  /** Calls `run` once every server has listed this kind or failed, or when the time for the list is over. */
  whenListable(call: Call, kind: ListKind, run: () => void): void {
    for (const { view } of this.#lanes) view.want([kind], 'list')
    const times = this.#timesOf(call)
    const dueAt = (): number => answerAt(this.#lanes, kind, times)
    // Write first: the client may kill the proxy as soon as it has the answer.
    const answer = (): void => {
      this.#context.keepLists()
      run()
    }
    this.#hold(call, { dueAt, run: answer })
  }

  /** Like `whenListable`, for a call that must not rely on lists kept from an earlier start. */
  whenListed(
    call: Call,
    kinds: readonly ListKind[],
    run: () => void,
    concerned: () => readonly CallTarget[] = () => this.#lanes,
  ): void {
    for (const { view } of concerned()) view.want(kinds, 'call')
    const times = this.#timesOf()
    const isMissing = ({ view, listed }: CallTarget): boolean =>
      view.before.kind !== 'silent' && kinds.some((kind) => !listed.has(kind) && view.isComing(kind))
    const dueAt = (): number => lastStartOf(concerned().filter(isMissing)) + times.ms
    this.#hold(call, { dueAt, run })
  }

  /** Calls `run` once a server has listed the name, or all candidates have listed; fails the call after its time. */
  whenNamed(call: Call, wanted: Wanted, run: () => void): void {
    const started = new Set<CallTarget>()
    const pending = (): CallTarget[] => this.#pending(call, wanted, started)
    const awaited = pending()
    if (awaited.length === 0) {
      // Any server may have the name, until a reload adds the server whose prefix the name has.
      const concerned = (): readonly CallTarget[] =>
        wanted.isListed() || wanted.candidates().isClaimed ? [] : this.#lanes
      return this.whenListed(call, [wanted.kind], run, concerned)
    }
    const patienceMs = Math.max(...awaited.map((lane) => lane.config.timeoutMs))
    const { times } = call.deadline
    call.deadline.times = { timeoutMs: patienceMs, totalTimeoutMs: patienceMs }
    const goOn = (): void => {
      call.deadline.times = times
      run()
    }
    const dueAt = (): number => (wanted.isListed() || pending().length === 0 ? -Infinity : Infinity)
    const expired = (): void => call.abandon(stillStarting(awaited, wanted.name, patienceMs))
    this.#hold(call, { dueAt, run: goOn }, expired)
  }

  /** Resolves when the lists on their way have arrived, or are given up; undefined if nothing is pending. */
  quiet(): Promise<void> | undefined {
    const times = this.#timesOf()
    return this.#until(() => {
      const lanes = this.#lanes
      const missing = lanes.filter(({ view }) => view.isPending && view.before.kind !== 'silent')
      return missing.length === 0 ? -Infinity : quietAt(lanes, missing, listKinds, times)
    })
  }

  /** Resolves when the first start of each server has ended, or has taken `ms`; undefined if no wait is needed. */
  opened(ms: number): Promise<void> | undefined {
    const waitMs = Math.min(ms, this.#timesOf().ms)
    return this.#until(() => lastStartOf(this.#lanes.filter(({ view }) => view.isStarting)) + waitMs)
  }

  /** Resolves when these servers have listed all of their items or failed; undefined if no wait is needed. */
  allListed(lanes: readonly CallTarget[]): Promise<void> | undefined {
    return this.#until(() => (lanes.some(({ view }) => view.isPending) ? Infinity : -Infinity))
  }

  /**
   * Runs the waits that are due, after news of a server, a reload, or the timer.
   *
   * All are chosen before the first runs, so that a call which waits again does not fall behind the next one.
   */
  runDue(): void {
    // A call that continues calls `look` again.
    if (this.#isLooking || (this.#waiting.size === 0 && this.#watches.size === 0)) return
    this.#isLooking = true
    const now = this.#now
    const due = [...this.#waiting].filter(([, { dueAt }]) => dueAt() <= now)
    const watches = [...this.#watches].filter(({ dueAt }) => dueAt() <= now)
    for (const [call] of due) this.#waiting.take(call)?.run()
    for (const watch of watches) if (this.#watches.delete(watch)) watch.run()
    this.#isLooking = false
    this.#schedule()
  }

  close(): void {
    const watches = [...this.#watches]
    this.#watches.clear()
    for (const { run } of watches) run()
    this.#timer?.cancel()
    this.#timer = undefined
  }

  get #now(): number {
    return this.#context.runtime.now()
  }

  get #lanes(): readonly CallTarget[] {
    return this.#servers.lanes
  }

  #timesOf(list?: Call): ListTimes {
    const hasToken = list?.frame.params.meta.span('progressToken') !== undefined
    const name = (list?.client ?? this.#client).profile.info?.name
    return listTimes(name, hasToken, this.#context.startupGraceMs(), list?.context.origin?.waitedMs)
  }

  #schedule(): void {
    this.#timer?.cancel()
    this.#timer = undefined
    const waits = [...Array.from(this.#waiting, ([, wait]) => wait), ...this.#watches]
    const next = Math.min(...waits.map(({ dueAt }) => dueAt()))
    if (Number.isFinite(next))
      this.#timer = this.#context.runtime.setTimer(Math.max(0, next - this.#now), () => this.runDue())
  }

  #until(dueAt: () => number): Promise<void> | undefined {
    if (dueAt() <= this.#now) return undefined
    return new Promise((run) => {
      this.#watches.add({ dueAt, run })
      this.#schedule()
    })
  }

  #hold(call: Call, wait: Wait, expired?: () => void): void {
    if (wait.dueAt() <= this.#now) return wait.run()
    if (this.#waiting.hasRoom(call.bytes)) this.#waiting.add(call, wait, expired)
    else call.fail(tooManyCalls())
    this.#schedule()
  }

  /** The servers that may have a name, have not listed it, and are now starting or listing. */
  #pending(call: Call, { kind, candidates }: Wanted, started: Set<CallTarget>): CallTarget[] {
    const { lanes } = candidates()
    for (const lane of lanes) {
      if (lane.listed.has(kind) || started.has(lane)) continue
      started.add(lane)
      lane.wantFor(call)
    }
    return lanes.filter(({ view, listed }) => view.isPending && (!listed.has(kind) || view.isComing(kind)))
  }
}

/** The error if a name is not known in time: no process slot is free for its server, or the server is slow. */
function stillStarting([lane]: readonly CallTarget[], name: string, ms: number): ErrorBody {
  const service = lane?.config.name ?? ''
  const { reason, body } = lane?.view.failure ?? {}
  if (reason === 'overloaded' && body !== undefined) return body
  const message = `'${service}': it is still starting, and '${name}' had to be there within ${ms} ms (timeout)`
  return upstreamFailed(service, 'timeout', message, { name, budget: 'timeout', ms })
}
