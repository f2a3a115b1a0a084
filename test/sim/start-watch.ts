// Checks that a server is not started too often, and that not too many of its processes run.

import type { Ledger } from './ledger.js'
import type { ClientPlan, ServerPlan } from './plan.js'

const MINUTE_MS = 60_000

/** Five crashes open the breaker, which then allows one try in 24 seconds. */
const CRASHES_A_MINUTE_MAX = 8

/** A call that waits for its client blocks its process for other clients without a session. */
const GUEST_PROCESSES_MAX = 8

export class StartWatch {
  readonly #plan: ServerPlan
  readonly #ledger: Ledger
  #crashes: number[] = []

  constructor(plan: ServerPlan, ledger: Ledger) {
    this.#plan = plan
    this.#ledger = ledger
  }

  /** A process ended without being asked to, or could not be started. */
  crashed(): void {
    const { now, come } = this.#ledger
    this.#crashes = [...this.#crashes.filter((at) => now - at < MINUTE_MS), now]
    const most = CRASHES_A_MINUTE_MAX * membersOf(this.#plan, come, come) * this.#generations
    const what = `${this.#plan.name} has crashed ${this.#crashes.length} times in a minute, not ${most}`
    if (this.#crashes.length > most) this.#ledger.fail('start-storm', what)
  }

  /** Checks the number of running processes. Of these, `unread` have not read all their input. */
  running(count: number, unread: number): void {
    const { come, present } = this.#ledger
    // One process starts before its first client comes.
    const most = (membersOf(this.#plan, [...present], come) + 1) * this.#generations
    if (count <= most || count <= most + this.#succeeded(unread)) return
    this.#ledger.fail('needless-process', `${count} of ${this.#plan.name} run, not ${most}`)
  }

  /**
   * Processes that take no more calls, because they may still ask about a cancelled call, and the proxy could not
   * assign the question. Each ends with its last call, and its successor takes new calls meanwhile. A process that
   * does not read may have calls that the ledger does not know, and does not notice the end of its input.
   */
  #succeeded(unread: number): number {
    const { isolation, name, processes } = this.#plan
    const calls = this.#ledger.all.filter(
      ({ service, executed }) => service === name && (executed > 0 || unread > 0),
    )
    // The proxy gives calls up too. The server may learn that before a client that does not read.
    const isAnyGivenUp = calls.some(
      ({ givenUpAt, cancelledAt, excused, job }) =>
        givenUpAt !== undefined || cancelledAt !== undefined || excused || job?.cancelled === true,
    )
    const isInDoubt = isolation === 'shared' && isAnyGivenUp
    const begun = calls.filter(({ answers, executed }) => answers.length === 0 && executed > 0)
    return isInDoubt ? Math.min(processes, begun.length + unread) : 0
  }

  /** Each reload may start new processes beside the running ones. */
  get #generations(): number {
    return 1 + (this.#ledger.reloads.get(this.#plan.name) ?? 0)
  }
}

/**
 * The most processes for these clients. `come` are all clients of the run: processes for requests without a session
 * stay for some time after their client has left.
 */
function membersOf(plan: ServerPlan, clients: readonly ClientPlan[], come: readonly ClientPlan[]): number {
  const { processes, protocol } = plan
  // All clients share a server without sessions, once the proxy knows its era.
  const isolation = plan.isStateless === true && protocol !== 'auto' ? 'shared' : plan.isolation
  const own = {
    shared: 0,
    session: clients.length,
    auto: clients.filter(({ capabilities }) => capabilities.length > 0).length,
  }[isolation]
  const stateless = isolation === 'shared' ? [] : come.flatMap(({ sets = [] }) => sets)
  const asked = stateless.filter((can) => can.length > 0).length
  // Clients without capabilities share one process.
  const unasked = isolation === 'session' ? clients.filter(({ sets }) => sets !== undefined).length : 0
  // Clients that came before the era was known share another process.
  const shared = plan.isStateless === true && isolation === 'shared' && protocol === 'auto' ? 2 : 1
  return processes * (own + shared + unasked) + Math.max(processes, GUEST_PROCESSES_MAX) * asked
}
