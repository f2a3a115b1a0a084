// Whether the processes of one server are started too often, or too many of them.

import type { Entry, Ledger } from './ledger.js'
import type { ClientPlan, ServerPlan } from './plan.js'

const MINUTE_MS = 60_000

/** Five crashes open the breaker, and then there is one try in 24 seconds. */
const CRASHES_A_MINUTE_MAX = 8

/** A call that waits for its client keeps its process from others without a session. */
const GUEST_PROCESSES_MAX = 8

export class StartWatch {
  readonly #plan: ServerPlan
  readonly #ledger: Ledger
  #crashes: number[] = []

  constructor(plan: ServerPlan, ledger: Ledger) {
    this.#plan = plan
    this.#ledger = ledger
  }

  /** A process has ended by itself, or could not be started. */
  crashed(): void {
    const { now, come } = this.#ledger
    this.#crashes = [...this.#crashes.filter((at) => now - at < MINUTE_MS), now]
    const most = CRASHES_A_MINUTE_MAX * membersOf(this.#plan, come, come) * this.#generations
    const what = `${this.#plan.name} has crashed ${this.#crashes.length} times in a minute, not ${most}`
    if (this.#crashes.length > most) this.#ledger.fail('start-storm', what)
  }

  /** So many processes run that nobody has asked to end, of which some have not read all that they were sent. */
  running(count: number, unread: number): void {
    const { come, present } = this.#ledger
    // One is started before its first client comes.
    const most = (membersOf(this.#plan, [...present], come) + 1) * this.#generations
    if (count <= most || count <= most + this.#succeeded(unread)) return
    this.#ledger.fail('needless-process', `${count} of ${this.#plan.name} run, not ${most}`)
  }

  /**
   * Processes that take no more calls, since they may still ask about a call that was given up, and nobody would know
   * whom: each ends with its last call, and its successor does not keep the others waiting until then. One that reads
   * nothing has calls of which the ledger does not know yet, and does not see the end of its input.
   */
  #succeeded(unread: number): number {
    const { isolation, name, processes } = this.#plan
    const calls = this.#ledger.all.filter(
      ({ service, executed }) => service === name && (executed > 0 || unread > 0),
    )
    const isInDoubt = isolation === 'shared' && calls.some(isGivenUp)
    const begun = calls.filter(({ answers, executed }) => answers.length === 0 && executed > 0)
    return isInDoubt ? Math.min(processes, begun.length + unread) : 0
  }

  /** A changed configuration has them started anew beside those that there are. */
  get #generations(): number {
    return 1 + (this.#ledger.reloads.get(this.#plan.name) ?? 0)
  }
}

/** Also by the proxy, of which the server hears before a client that reads nothing. */
function isGivenUp({ givenUpAt, cancelledAt, excused, job }: Entry): boolean {
  return givenUpAt !== undefined || cancelledAt !== undefined || excused || job?.cancelled === true
}

/**
 * Processes that there may be for these clients, of all who have ever come: those of requests without a session stay for
 * a while when their client has left.
 */
function membersOf(plan: ServerPlan, clients: readonly ClientPlan[], come: readonly ClientPlan[]): number {
  const { processes, protocol } = plan
  // Without sessions everybody shares them, once that is known.
  const isolation = plan.isStateless === true && protocol !== 'auto' ? 'shared' : plan.isolation
  const own = {
    shared: 0,
    session: clients.length,
    auto: clients.filter(({ capabilities }) => capabilities.length > 0).length,
  }[isolation]
  const stateless = isolation === 'shared' ? [] : come.flatMap(({ sets = [] }) => sets)
  const asked = stateless.filter((can) => can.length > 0).length
  // Whoever can be asked nothing keeps no process from anybody.
  const unasked = isolation === 'session' ? clients.filter(({ sets }) => sets !== undefined).length : 0
  // Those who came before it was known that it has no sessions share another one.
  const shared = plan.isStateless === true && isolation === 'shared' && protocol === 'auto' ? 2 : 1
  return processes * (own + shared + unasked) + Math.max(processes, GUEST_PROCESSES_MAX) * asked
}
