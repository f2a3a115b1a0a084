// When a call has taken too long.
//
// Its time runs from its arrival, wherever it waits. Progress begins it anew, and
// it stands still while the client is being asked, because a person may take any time
// to answer. The total time never stands still, so that a client which does
// not answer at all cannot hold a server for ever (MCP, Lifecycle: timeouts).

import type { ErrorBody } from '../jsonrpc/build.js'
import { type Clock, graceMs } from '../runtime/deadline.js'
import type { Timer } from '../runtime/runtime.js'
import type { Call } from './call.js'
import { upstreamFailed } from '../mcp/error-codes.js'

/** How long a call may take, in milliseconds. */
export interface CallTimes {
  /** Begins anew with progress, and stands still while the client is being asked. */
  readonly timeoutMs: number
  /** Neither progress nor a question extends it. */
  readonly totalTimeoutMs: number
  /** The place in the configuration for another time; present only if `timeoutMs` is the proxy's default. */
  readonly settableIn?: string | undefined
}

export type CallBudget = 'timeoutMs' | 'totalTimeoutMs'

const unlimited: CallTimes = { timeoutMs: Infinity, totalTimeoutMs: Infinity }

/** The deadline of one call, in monotonic milliseconds. */
export class CallDeadline {
  readonly arrivedAt: number
  /** Whether `sentAt` is of interest. */
  isTimed = false
  /** When it was last sent to a server. */
  sentAt: number | undefined
  /** From here its `timeoutMs` runs. */
  #quietSince: number
  /** Those that hold now: what it waits for gives it others. */
  times: CallTimes = unlimited
  #notBefore = -Infinity
  #graceMs = 0
  #questions = 0
  #pausedAt = 0

  constructor(arrivedAt: number) {
    this.arrivedAt = arrivedAt
    this.#quietSince = arrivedAt
  }

  /** When the call has taken too long, as far as is known now. */
  get endsAt(): number {
    return Math.max(this.#notBefore, Math.min(this.#quietEndsAt, this.arrivedAt + this.times.totalTimeoutMs))
  }

  get budget(): CallBudget {
    return this.#quietEndsAt < this.arrivedAt + this.times.totalTimeoutMs ? 'timeoutMs' : 'totalTimeoutMs'
  }

  /** Whether the call has taken too long; one that was due while the process did not run is put off once by this time. */
  isOver(now: number, graceMs: number): boolean {
    if (this.endsAt > now || graceMs <= this.#graceMs) return this.endsAt <= now
    this.#graceMs = graceMs
    this.#notBefore = now + graceMs
    return false
  }

  /** The server is being asked whether it is alive, until then. */
  check(until: number): void {
    this.#quietSince = until - this.times.timeoutMs
  }

  /** Its server is at work. */
  extend(now: number): void {
    this.#quietSince = now
    this.#pausedAt = now
  }

  /** The client is being asked. */
  pause(now: number): void {
    if (this.#questions++ === 0) this.#pausedAt = now
  }

  /** One question is over. */
  resume(now: number): void {
    if (--this.#questions === 0) this.#quietSince += now - this.#pausedAt
  }

  /** The server that has asked is not at work on it any more. */
  goOn(clock: Pick<Clock, 'now'>): void {
    if (this.#questions === 0) return
    this.#questions = 1
    this.resume(clock.now())
  }

  get #quietEndsAt(): number {
    return this.#questions > 0 ? Infinity : this.#quietSince + this.times.timeoutMs
  }
}

/**
 * The one timer for the deadlines of all calls that a connection or a queue holds.
 *
 * Nearly every call is answered in time, so no call has a separate timer: one is set for the earliest deadline that was known
 * when it was set, and looks again.
 */
export class Deadlines {
  readonly #clock: Clock
  readonly #calls: () => Iterable<Call>
  readonly #expire: (call: Call) => void
  #timer: Timer | undefined
  /** The time of the next look. Only a call with an earlier deadline sets the timer anew; the look finds the others. */
  #looksAt = Infinity

  /** `expire` is called when the time of one of `calls` is over, and again where that has moved the deadline. */
  constructor(clock: Clock, calls: () => Iterable<Call>, expire: (call: Call) => void) {
    this.#clock = clock
    this.#calls = calls
    this.#expire = expire
  }

  /** A call has come, or its deadline is another one. */
  watch({ deadline: { endsAt } }: Call): void {
    if (endsAt < this.#looksAt) this.#lookAt(endsAt)
  }

  stop(): void {
    this.#timer?.cancel()
    this.#looksAt = Infinity
  }

  #lookAt(endsAt: number): void {
    this.#timer?.cancel()
    const now = this.#clock.now()
    this.#looksAt = Math.max(now, endsAt)
    this.#timer = this.#clock.setTimer(this.#looksAt - now, () => this.#look())
  }

  #look(): void {
    const now = this.#clock.now()
    const lateMs = graceMs(now - this.#looksAt)
    this.#looksAt = Infinity
    for (const call of this.#calls()) if (call.deadline.isOver(now, lateMs)) this.#expire(call)
    for (const call of this.#calls()) this.watch(call)
  }
}

const budgets = { timeoutMs: 'timeout', totalTimeoutMs: 'totalTimeout' } as const

/** The error of a call whose time is over; `what` did not happen in it. */
export function callTimeout(service: string, call: Call, what: string): ErrorBody {
  const { method } = call.frame
  const { budget: of, times } = call.deadline
  const budget = budgets[of]
  const ms = times[of]
  const named = call.row.route.to === 'name' ? call.frame.params.members.string('name') : undefined
  const kind = method === 'tools/call' ? 'tool' : 'prompt'
  const whose = named === undefined ? method : `${kind} '${named}'`
  const details = { ...(named !== undefined && { [kind]: named }), budget, ms }
  const message = `'${service}': ${what} for ${whose} within ${ms} ms (${budget})`
  return upstreamFailed(service, 'timeout', `${message}${remedy(budget, times)}`, details)
}

/** Names the place of the limit in the configuration, if the configuration has no such limit. */
function remedy(budget: string, { settableIn }: CallTimes): string {
  if (settableIn === undefined) return ''
  return settableIn.startsWith('--') ? `; ${settableIn} sets it` : `; "${budget}" of ${settableIn} sets it`
}
