// One cell of the fault matrix: a world in which a phase is reached, and a fault
// that strikes then.

import type { Fault, Phase, PhaseName } from './matrix.js'
import type { Milestone } from './script.js'
import { closeAll, judge } from './judge.js'
import type { SimClient } from './client.js'
import type { Entry } from './ledger.js'
import { call } from './perform.js'
import type { SimServer } from './server.js'
import { type Outcome, outcomeOf } from './simulate.js'
import type { Work, ClientPlan, Plan, ServerPlan } from './plan.js'
import { World } from './world.js'
import { roomyLimits } from './plain-plan.js'
import { Random } from './random.js'

/** How long a fault that lasts does. */
const LASTS_MS = 4000

/** What the way to a phase is made of. */
class Cell {
  readonly world: World
  readonly target: SimServer
  readonly #seen = new Set<Milestone>()
  readonly #fault: Fault
  #struck = false
  #strikeAt: Milestone | undefined
  #client: SimClient | undefined
  readonly #phase: Phase
  /** The calls of the server in question, in the order in which they were made. */
  readonly calls: Entry[] = []
  /** The proxy has been asked to stop. */
  isClosing = false

  constructor(world: World, target: SimServer, fault: Fault, phase: Phase) {
    this.world = world
    this.target = target
    this.#fault = fault
    this.#phase = phase
    target.onMilestone = (milestone) => {
      this.#seen.add(milestone)
      if (milestone === this.#strikeAt) this.strike()
    }
  }

  get struck(): boolean {
    return this.#struck
  }

  /** The client whose calls lead to the phase. */
  get client(): SimClient {
    this.#client ??= this.attach(0)
    return this.#client
  }

  attach(at: number): SimClient {
    const plan = this.world.plan.clients[at]
    if (plan === undefined) throw new Error('a cell has two clients')
    const client = this.world.attach(plan)
    this.world.seats.push(client)
    return client
  }

  /** Whether something has happened, and was not forgotten since. */
  has(milestone: Milestone): boolean {
    return this.#seen.has(milestone)
  }

  /** Calls the server in question. */
  call(work: Work): Entry {
    const entry = call(this.world, this.client, this.target.facts.plan, work)
    this.calls.push(entry)
    return entry
  }

  /** Lets time pass until something is so, which it has to be soon. */
  until(isSo: () => boolean): void {
    if (!this.world.until(isSo, 10_000))
      this.world.host.ledger.fail('not-reached', 'the phase was not reached')
  }

  reach(milestone: Milestone): void {
    this.until(() => this.#seen.has(milestone))
  }

  /** Forgets what happened, so that it can be waited for again. */
  again(milestone: Milestone): void {
    this.#seen.delete(milestone)
  }

  /** The fault strikes in the very moment. */
  strikeAt(milestone: Milestone): void {
    this.#strikeAt = milestone
  }

  strike(): void {
    if (this.#struck) return
    this.#struck = true
    const { host } = this.world
    host.trace.note('op', `${this.#fault.name} strikes`)
    if (!phaseChecks[this.#phase.name](this))
      host.ledger.fail('not-reached', `the fault strikes, but not when ${this.#phase.when}`)
    if (this.#fault.name === 'enospc') host.diskFull = true
    this.target.facts.holdsInitialize = false
    this.target.strike(this.#fault.name, host.dice('strike'))
  }
}

/** Runs one cell, with chances drawn from a seed. */
export function simulateCell(fault: Fault, phase: Phase, seed: number): Outcome {
  const world = new World(cellPlan(fault, phase, seed))
  world.run(() => {
    const [target] = world.host.servers
    if (target === undefined) return
    const cell = new Cell(world, target, fault, phase)
    phaseDrivers[phase.name](cell)
    cell.until(() => cell.struck)
    aftermath(cell)
    if (phase.name === 'draining') closeAll(world)
    else judge(world)
  })
  return outcomeOf(world)
}

/** Two clients go on as if nothing were. */
function aftermath(cell: Cell): void {
  const { world } = cell
  const other = cell.attach(1)
  for (let round = 0; round < 3; round++) {
    for (const client of [cell.client, other]) {
      if (!client.speaks) continue
      for (const plan of world.plan.servers) call(world, client, plan, { kind: 'progress', ms: 20, n: 2 })
    }
    world.pass(LASTS_MS / 2)
  }
  world.host.diskFull = false
  cell.target.mend()
}

// Whether a fault struck when it was meant to: what the world looks like in each phase.

/** Each looks at the moment in which the fault strikes. */
const phaseChecks: Readonly<Record<PhaseName, (cell: Cell) => boolean>> = {
  'before-ready': (cell) => !cell.has('initialize-read'),
  'during-initialize': (cell) => cell.has('initialize-read') && !cell.has('initialize-answered'),
  'before-initialized': (cell) => cell.has('initialize-answered') && !cell.has('initialized-read'),
  idle: (cell) => cell.has('initialized-read') && cell.calls.every(isAnswered),
  queued: (cell) => cell.calls.some(isRunning) && cell.calls.some(isWaiting),
  'half-written': (cell) => cell.target.unread > 0 && cell.calls.some(isWaiting),
  written: (cell) => cell.calls.some((call) => isRunning(call) && call.progress < 1),
  'progress-seen': (cell) => cell.calls.some((call) => isRunning(call) && call.progress >= 1),
  'half-received': (cell) =>
    cell.target.unheard > 0 && cell.calls.some((call) => call.job?.done === true && !isAnswered(call)),
  cancelled: (cell) =>
    cell.calls.some(
      ({ job, cancelledAt }) => cancelledAt !== undefined && job?.cancelled === true && !job.done,
    ),
  'timed-out': (cell) => cell.calls.some((call) => isAnswered(call) && call.job?.done === false),
  draining: (cell) => cell.isClosing && cell.calls.some(isRunning),
  reloading: (cell) => cell.world.host.ledger.reloadsCount > 0 && cell.calls.some(isRunning),
  'half-open': (cell) => cell.world.host.breakers > 0 && cell.has('initialize-read'),
}

function isAnswered({ answers }: Entry): boolean {
  return answers.length > 0
}

/** The server is at it. */
function isRunning(call: Entry): boolean {
  return call.executed > 0 && call.job?.done === false && !isAnswered(call)
}

/** It was sent, and the server has not seen the whole of it. */
function isWaiting(call: Entry): boolean {
  return call.executed === 0 && !isAnswered(call)
}

// The way to every phase of the table, for a server of either kind.

/** Longer than every call may take. */
const FOREVER = { kind: 'hang', ms: 0, n: 0 } as const

const SLOW = { kind: 'echo', ms: 1000, n: 0 } as const

/** Each brings its cell to the phase and makes the fault strike in it. */
const phaseDrivers: Readonly<Record<PhaseName, (cell: Cell) => void>> = {
  'before-ready': (cell) => {
    // A process is started with the proxy; a connection is made for the first client.
    if (cell.target.facts.plan.kind === 'stdio') return cell.strike()
    cell.strikeAt('started')
    cell.attach(0)
  },
  'during-initialize': (cell) => {
    cell.target.facts.holdsInitialize = true
    cell.call(SLOW)
    cell.reach('initialize-read')
    cell.strike()
  },
  'before-initialized': (cell) => {
    cell.strikeAt('initialize-answered')
    cell.call(SLOW)
    cell.until(() => cell.struck)
  },
  idle: (cell) => {
    ready(cell)
    cell.strike()
  },
  queued: (cell) => {
    ready(cell)
    const isHttp = cell.target.facts.plan.kind === 'http'
    for (let count = isHttp ? CONCURRENCY_OVER_HTTP : 1; count >= 0; count--) cell.call(SLOW)
    cell.reach('call-read')
    cell.world.pass(100)
    cell.strike()
  },
  'half-written': (cell) => {
    ready(cell)
    cell.call({ kind: 'echo', ms: 10, n: 0, padding: 'p'.repeat(30_000) })
    cell.until(() => cell.target.unread > 20_000)
    cell.until(() => cell.target.unread < 15_000)
    cell.strike()
  },
  written: (cell) => {
    ready(cell)
    cell.call(FOREVER)
    cell.reach('call-read')
    cell.strike()
  },
  'progress-seen': (cell) => {
    ready(cell)
    const entry = cell.call({ kind: 'progress', ms: 800, n: 4 })
    cell.until(() => entry.progress >= 1)
    cell.strike()
  },
  'half-received': (cell) => {
    ready(cell)
    cell.call({ kind: 'big', ms: 1, n: 30 })
    cell.until(() => cell.target.unheard > 20_000)
    cell.until(() => cell.target.unheard < 15_000)
    cell.strike()
  },
  cancelled: (cell) => {
    ready(cell)
    const entry = cell.call(FOREVER)
    cell.reach('call-read')
    cell.client.cancel(entry)
    cell.reach('cancel-read')
    cell.strike()
  },
  'timed-out': (cell) => {
    ready(cell)
    const entry = cell.call(FOREVER)
    cell.until(() => entry.answers.length === 1)
    cell.strike()
  },
  draining: (cell) => {
    ready(cell)
    cell.call(SLOW)
    cell.reach('call-read')
    // Whoever calls now may be refused.
    for (const { facts } of cell.world.host.servers) cell.world.host.ledger.replaced.add(facts.plan.name)
    cell.isClosing = true
    void cell.world.proxy.close(3000)
    cell.world.settle()
    cell.strike()
  },
  reloading: (cell) => {
    ready(cell)
    cell.call(SLOW)
    cell.reach('call-read')
    cell.world.host.ledger.reloaded(cell.target.facts.plan.name)
    cell.world.reload(cell.target.facts.plan.name, 'retimed')
    cell.world.settle()
    cell.strike()
  },
  'half-open': (cell) => {
    ready(cell)
    breakDown(cell)
    cell.strikeAt('initialize-read')
    // Whether or not anybody asks, one try is let through in the end.
    for (let tries = 0; tries < 20 && !cell.struck; tries++) {
      cell.call({ kind: 'echo', ms: 1, n: 0 })
      cell.world.until(() => cell.struck, 5000)
    }
  },
}

function ready(cell: Cell): void {
  cell.call({ kind: 'echo', ms: 1, n: 0 })
  cell.reach('call-read')
  cell.world.pass(100)
  cell.again('call-read')
}

/** The server fails again and again, until it is left alone. */
function breakDown(cell: Cell): void {
  const { target, world } = cell
  target.strike(
    target.facts.plan.kind === 'http' ? 'dns-failure' : 'enoent-on-restart',
    world.host.dice('break'),
  )
  for (let tries = 0; tries < 20; tries++) {
    cell.call({ kind: 'echo', ms: 1, n: 0 })
    world.pass(1000)
  }
  target.mend()
  cell.again('initialize-read')
}

// The world of a cell: the server in question, one that is well, and two clients.

const KiB = 1024

/** Calls that a server over HTTP is given at once. */
const CONCURRENCY_OVER_HTTP = 64

function cellPlan(fault: Fault, phase: Phase, seed: number): Plan {
  const random = Random.of(seed, `${fault.name} ${phase.name}`)
  const kind = fault.place === 'http' ? 'http' : 'stdio'
  const faulty = server(random, `${kind === 'http' ? 'h' : 's'}0`, kind)
  return {
    seed,
    logs: fault.name === 'enospc',
    limits: { ...roomyLimits, backlogBytesHigh: 64 * KiB },
    servers: [
      { ...faulty, faulty: true, ...goesOn(phase), concurrency: phase.name === 'queued' ? 1 : 64 },
      server(random, 's1', 'stdio'),
    ],
    clients: [client(random), client(random)],
    ops: [],
  }
}

/** It does not heed a cancel, where the phase is that it is still at a call which was given up. */
function goesOn({ name }: Phase): Partial<ServerPlan> {
  return name === 'cancelled' || name === 'timed-out' ? { heedsCancel: false } : {}
}

function server(random: Random, name: string, kind: ServerPlan['kind']): ServerPlan {
  const shape = { chunkMax: random.pick([500, 2000]), delayMsMax: random.pick([0.5, 4]), capacity: 4 * KiB }
  return {
    name,
    kind,
    isolation: 'auto',
    concurrency: 64,
    processes: 1,
    timeoutMs: 2000,
    idleTimeoutMs: undefined,
    onTimeout: 'cancel',
    restartDelayMs: 100,
    initMs: random.int(0, 30),
    offers: ['resources', 'prompts', 'logging'],
    schema: false,
    heedsEof: random.chance(0.7),
    heedsTerm: random.chance(0.7),
    heedsCancel: random.chance(0.5),
    faulty: false,
    stdin: shape,
    stdout: shape,
    exitDelayMsMax: random.pick([0, 20]),
    events: true,
    standalone: random.chance(0.5),
  }
}

function client(random: Random): ClientPlan {
  const shape = { chunkMax: 64 * KiB, delayMsMax: random.pick([0, 2]), capacity: 64 * KiB }
  return {
    name: 'c',
    revision: '2025-06-18',
    capabilities: random.chance(0.5) ? ['sampling'] : [],
    manners: 'proper',
    input: shape,
    output: shape,
    answerMs: 5,
  }
}
