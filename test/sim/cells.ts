// One cell of the fault matrix: a world reaches a phase, and a fault strikes then.

import type { SimClient } from './client.js'
import { closeAll, judge } from './judge.js'
import type { Entry } from './ledger.js'
import type { Fault, Phase, PhaseName } from './matrix.js'
import { call } from './perform.js'
import { plainClient, plainServer, roomyLimits } from './plain-plan.js'
import type { ClientPlan, Plan, ServerPlan, Work } from './plan.js'
import { Random } from './random.js'
import type { Milestone } from './script.js'
import type { SimServer } from './server.js'
import { type Outcome, outcomeOf } from './simulate.js'
import { World } from './world.js'

const KiB = 1024

const LASTS_MS = 4000
const CONCURRENCY_OVER_HTTP = 64

export function simulateCell(fault: Fault, phase: Phase, seed: number): Outcome {
  const world = new World(cellPlan(fault, phase, seed))
  world.run(() => {
    const [target] = world.host.servers
    if (target === undefined) return
    const cell = new Cell(world, target, fault, phase)
    phaseRows[phase.name].reach(cell)
    if (cell.strikesAt === undefined) cell.strike()
    cell.until(() => cell.struck)
    aftermath(cell)
    if (phase.name === 'draining') closeAll(world)
    else judge(world)
  })
  return outcomeOf(world)
}

function cellPlan(fault: Fault, phase: Phase, seed: number): Plan {
  const random = Random.of(seed, `${fault.name} ${phase.name}`)
  const kind = fault.place === 'http' ? 'http' : 'stdio'
  const faulty = drawServer(random, `${kind === 'http' ? 'h' : 's'}0`)
  // In these phases the server still works on a call that was given up, so it must ignore the cancel.
  const goesOn = phase.name === 'cancelled' || phase.name === 'timed-out'
  const concurrency = phase.name === 'queued' ? 1 : 64
  return {
    seed,
    logs: fault.name === 'enospc',
    limits: { ...roomyLimits, backlogBytesHigh: 64 * KiB },
    servers: [
      { ...faulty, faulty: true, ...(goesOn && { heedsCancel: false }), concurrency },
      drawServer(random, 's1'),
    ],
    clients: [drawClient(random), drawClient(random)],
    ops: [],
  }
}

function drawServer(random: Random, name: string): ServerPlan {
  const shape = { chunkMax: random.pick([500, 2000]), delayMsMax: random.pick([0.5, 4]), capacity: 4 * KiB }
  return plainServer(name, {
    restartDelayMs: 100,
    initMs: random.int(0, 30),
    offers: ['resources', 'prompts', 'logging'],
    heedsEof: random.chance(0.7),
    heedsTerm: random.chance(0.7),
    heedsCancel: random.chance(0.5),
    faulty: false,
    stdin: shape,
    stdout: shape,
    exitDelayMsMax: random.pick([0, 20]),
    events: true,
    standalone: random.chance(0.5),
  })
}

function drawClient(random: Random): ClientPlan {
  const shape = { chunkMax: 64 * KiB, delayMsMax: random.pick([0, 2]), capacity: 64 * KiB }
  const capabilities = random.chance(0.5) ? (['sampling'] as const) : []
  return plainClient('c', { capabilities, input: shape, output: shape, answerMs: 5 })
}

class Cell {
  readonly world: World
  readonly target: SimServer
  readonly calls: Entry[] = []
  isClosing = false
  /** The fault strikes as soon as this milestone is reached. */
  strikesAt: Milestone | undefined
  struck = false
  readonly #seen = new Set<Milestone>()
  readonly #fault: Fault
  readonly #phase: Phase
  #client: SimClient | undefined

  constructor(world: World, target: SimServer, fault: Fault, phase: Phase) {
    this.world = world
    this.target = target
    this.#fault = fault
    this.#phase = phase
    target.onMilestone = (milestone) => {
      this.#seen.add(milestone)
      if (milestone === this.strikesAt) this.strike()
    }
  }

  get isHttp(): boolean {
    return this.target.facts.plan.kind === 'http'
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

  has(milestone: Milestone): boolean {
    return this.#seen.has(milestone)
  }

  call(work: Work): Entry {
    const entry = call(this.world, this.client, this.target.facts.plan, work)
    this.calls.push(entry)
    return entry
  }

  begin(work: Work): Entry {
    this.ready()
    const entry = this.call(work)
    this.reach('call-read')
    return entry
  }

  ready(): void {
    this.call(SHORT)
    this.reach('call-read')
    this.world.pass(100)
    this.again('call-read')
  }

  /** Lets time pass until `isSo`, which must be true soon. */
  until(isSo: () => boolean): void {
    if (!this.world.until(isSo, 10_000))
      this.world.host.ledger.fail('not-reached', 'the phase was not reached')
  }

  reach(milestone: Milestone): void {
    this.until(() => this.#seen.has(milestone))
  }

  /** Forgets a milestone, so that it can be awaited again. */
  again(milestone: Milestone): void {
    this.#seen.delete(milestone)
  }

  strike(): void {
    if (this.struck) return
    this.struck = true
    const { host } = this.world
    host.trace.note('op', `${this.#fault.name} strikes`)
    if (!phaseRows[this.#phase.name].isIn(this))
      host.ledger.fail('not-reached', `the fault strikes, but not when ${this.#phase.when}`)
    if (this.#fault.name === 'enospc') host.diskFull = true
    this.target.facts.holdsInitialize = false
    this.target.strike(this.#fault.name, host.dice('strike'))
  }
}

/** Two clients continue normally. */
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

const FOREVER = { kind: 'hang', ms: 0, n: 0 } as const

const SLOW = { kind: 'echo', ms: 1000, n: 0 } as const

const SHORT = { kind: 'echo', ms: 1, n: 0 } as const

const isAnswered = ({ answers }: Entry): boolean => answers.length > 0

const isRunning = (call: Entry): boolean => call.executed > 0 && call.job?.done === false && !isAnswered(call)

/** The request was sent, and the server has not yet read all of it. */
const isWaiting = (call: Entry): boolean => call.executed === 0 && !isAnswered(call)

interface PhaseRow {
  /** Brings the cell to the phase. If it sets `strikesAt`, the fault strikes at that milestone. */
  readonly reach: (cell: Cell) => void
  /** Whether the world is in the phase when the fault strikes. */
  readonly isIn: (cell: Cell) => boolean
}

/** How to reach every phase, for servers of both kinds. */
const phaseRows: Readonly<Record<PhaseName, PhaseRow>> = {
  'before-ready': {
    reach: (cell) => {
      // A process starts with the proxy; a connection is made for the first client.
      if (!cell.isHttp) return
      cell.strikesAt = 'started'
      cell.attach(0)
    },
    isIn: (cell) => !cell.has('initialize-read'),
  },
  'during-initialize': {
    reach: (cell) => {
      cell.target.facts.holdsInitialize = true
      cell.call(SLOW)
      cell.reach('initialize-read')
    },
    isIn: (cell) => cell.has('initialize-read') && !cell.has('initialize-answered'),
  },
  'before-initialized': {
    reach: (cell) => {
      cell.strikesAt = 'initialize-answered'
      cell.call(SLOW)
      cell.until(() => cell.struck)
    },
    isIn: (cell) => cell.has('initialize-answered') && !cell.has('initialized-read'),
  },
  idle: {
    reach: (cell) => cell.ready(),
    isIn: (cell) => cell.has('initialized-read') && cell.calls.every(isAnswered),
  },
  queued: {
    reach: (cell) => {
      cell.ready()
      for (let count = cell.isHttp ? CONCURRENCY_OVER_HTTP : 1; count >= 0; count--) cell.call(SLOW)
      cell.reach('call-read')
      cell.world.pass(100)
    },
    isIn: ({ calls }) => calls.some(isRunning) && calls.some(isWaiting),
  },
  'half-written': {
    reach: (cell) => {
      cell.ready()
      cell.call({ kind: 'echo', ms: 10, n: 0, padding: 'p'.repeat(30_000) })
      cell.until(() => cell.target.unread > 20_000)
      cell.until(() => cell.target.unread < 15_000)
    },
    isIn: ({ target, calls }) => target.unread > 0 && calls.some(isWaiting),
  },
  written: {
    reach: (cell) => void cell.begin(FOREVER),
    isIn: ({ calls }) => calls.some((call) => isRunning(call) && call.progress < 1),
  },
  'progress-seen': {
    reach: (cell) => {
      cell.ready()
      const entry = cell.call({ kind: 'progress', ms: 800, n: 4 })
      cell.until(() => entry.progress >= 1)
    },
    isIn: ({ calls }) => calls.some((call) => isRunning(call) && call.progress >= 1),
  },
  'half-received': {
    reach: (cell) => {
      cell.ready()
      cell.call({ kind: 'big', ms: 1, n: 30 })
      cell.until(() => cell.target.unheard > 20_000)
      cell.until(() => cell.target.unheard < 15_000)
    },
    isIn: ({ target, calls }) =>
      target.unheard > 0 && calls.some((call) => call.job?.done === true && !isAnswered(call)),
  },
  cancelled: {
    reach: (cell) => {
      cell.client.cancel(cell.begin(FOREVER))
      cell.reach('cancel-read')
    },
    isIn: ({ calls }) =>
      calls.some(({ job, cancelledAt }) => cancelledAt !== undefined && job?.cancelled === true && !job.done),
  },
  'timed-out': {
    reach: (cell) => {
      const entry = cell.begin(FOREVER)
      cell.until(() => entry.answers.length === 1)
    },
    isIn: ({ calls }) => calls.some((call) => isAnswered(call) && call.job?.done === false),
  },
  draining: {
    reach: (cell) => {
      const { host, proxy } = cell.world
      cell.begin(SLOW)
      // From now on the proxy may refuse calls.
      for (const { facts } of host.servers) host.ledger.replaced.add(facts.plan.name)
      cell.isClosing = true
      void proxy.close(3000)
      cell.world.settle()
    },
    isIn: ({ isClosing, calls }) => isClosing && calls.some(isRunning),
  },
  reloading: {
    reach: (cell) => {
      const { name } = cell.target.facts.plan
      cell.begin(SLOW)
      cell.world.host.ledger.reloaded(name)
      cell.world.reload(name, 'retimed')
      cell.world.settle()
    },
    isIn: ({ world, calls }) => world.host.ledger.reloadsCount > 0 && calls.some(isRunning),
  },
  'half-open': {
    reach: (cell) => {
      const { world, target } = cell
      cell.ready()
      // The server fails until the breaker opens.
      target.strike(cell.isHttp ? 'dns-failure' : 'enoent-on-restart', world.host.dice('break'))
      for (let tries = 0; tries < 20; tries++) {
        cell.call(SHORT)
        world.pass(1000)
      }
      target.mend()
      cell.again('initialize-read')
      cell.strikesAt = 'initialize-read'
      // The breaker allows one try after its pause, with or without a call.
      for (let tries = 0; tries < 20 && !cell.struck; tries++) {
        cell.call(SHORT)
        world.until(() => cell.struck, 5000)
      }
    },
    isIn: (cell) => cell.world.host.breakers > 0 && cell.has('initialize-read'),
  },
}
