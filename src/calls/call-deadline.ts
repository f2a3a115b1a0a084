// When a call has taken too long.
//
// The time of a call runs from its arrival, wherever the call waits. Progress restarts it, and it stands
// still while the client is asked, because a person may take any time to answer. The total time never stands
// still, so that a client which never answers cannot hold a server for ever (MCP, Lifecycle: timeouts).

import type { ErrorBody } from '../jsonrpc/build.js'
import { type Clock, graceMs } from '../runtime/deadline.js'
import type { Timer } from '../runtime/runtime.js'
import type { Call } from './call.js'
import { upstreamFailed } from '../mcp/error-codes.js'

/** The limits of a call, in milliseconds. */
export interface CallTimes {
  /** Restarts with progress, and stands still while the client is asked. */
  readonly timeoutMs: number
  /** Neither progress nor a question extends it. */
  readonly totalTimeoutMs: number
  /** The place in the configuration that sets another time; present only if `timeoutMs` is the proxy's default. */
  readonly settableIn?: string | undefined
}

export type CallBudget = 'timeoutMs' | 'totalTimeoutMs'

const unlimited: CallTimes = { timeoutMs: Infinity, totalTimeoutMs: Infinity }

/** The deadline of one call, in monotonic milliseconds. */
export class CallDeadline {
  readonly arrivedAt: number
  /** When the call was last sent to a server. */
  sentAt: number | undefined
  /** The time from which `timeoutMs` counts. */
  #quietSince: number
  /** The limits in force. A queue may replace them while the call waits. */
  times: CallTimes = unlimited
  #notBefore = -Infinity
  #graceMs = 0
  #questions = 0
  #pausedAt = 0

  constructor(arrivedAt: number) {
    this.arrivedAt = arrivedAt
    this.#quietSince = arrivedAt
  }

  /** The time when the call expires, as far as is known now. */
  get endsAt(): number {
    return Math.max(this.#notBefore, Math.min(this.#quietEndsAt, this.arrivedAt + this.times.totalTimeoutMs))
  }

  get budget(): CallBudget {
    return this.#quietEndsAt < this.arrivedAt + this.times.totalTimeoutMs ? 'timeoutMs' : 'totalTimeoutMs'
  }

  /** Whether the call has expired. A call that became due while the process did not run gets `graceMs` more, once. */
  isOver(now: number, graceMs: number): boolean {
    if (this.endsAt > now || graceMs <= this.#graceMs) return this.endsAt <= now
    this.#graceMs = graceMs
    this.#notBefore = now + graceMs
    return false
  }

  /** Extends the deadline to `until`, while the proxy checks that the server is alive. */
  check(until: number): void {
    this.#quietSince = until - this.times.timeoutMs
  }

  /** Called when the server has shown that it works on the call. */
  extend(now: number): void {
    this.#quietSince = now
    this.#pausedAt = now
  }

  /** Called when the client is asked. */
  pause(now: number): void {
    if (this.#questions++ === 0) this.#pausedAt = now
  }

  /** Called when one question has ended. */
  resume(now: number): void {
    if (--this.#questions === 0) this.#quietSince += now - this.#pausedAt
  }

  /** Ends all questions, because the server that asked does not work on the call any more. */
  resumeAll(clock: Pick<Clock, 'now'>): void {
    if (this.#questions === 0) return
    this.#questions = 1
    this.resume(clock.now())
  }

  get #quietEndsAt(): number {
    return this.#questions > 0 ? Infinity : this.#quietSince + this.times.timeoutMs
  }
}

/**
 * The one timer for the deadlines of all calls of a connection or a queue.
 *
 * Nearly every call is answered in time, so calls have no separate timers. The timer is set for the earliest
 * known deadline, and then checks all calls again.
 */
export class Deadlines {
  readonly #clock: Clock
  readonly #calls: () => Iterable<Call>
  readonly #expire: (call: Call) => void
  #timer: Timer | undefined
  /** The time of the next check. Only a call with an earlier deadline sets the timer anew. */
  #looksAt = Infinity

  /** `expire` is called when the time of a call is over, and again if `expire` has moved the deadline. */
  constructor(clock: Clock, calls: () => Iterable<Call>, expire: (call: Call) => void) {
    this.#clock = clock
    this.#calls = calls
    this.#expire = expire
  }

  /** Call this for a new call, and when a deadline has changed. */
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

/** The error of a call whose time is over; `what` did not happen in that time. */
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
