// One cell of the fault matrix: a world in which a phase is reached, and a fault
// that strikes then.

import type { Fault, Phase, PhaseName } from './matrix.js'
import type { Milestone } from './script-host.js'
import { closeAll, judge } from './judge.js'
import type { SimClient } from './client.js'
import type { Entry } from './ledger.js'
import { call } from './perform.js'
import { phaseDrivers } from './phase-drivers.js'
import { cellPlan } from './cell-plan.js'
import type { SimServer } from './server.js'
import { type Outcome, outcomeOf } from './outcome.js'
import type { Work } from './work.js'
import { World } from './world.js'

/** How long a fault that lasts does. */
const LASTS_MS = 4000

/** What the way to a phase is made of. */
export class Cell {
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
  call(work: Work): ReturnType<typeof call> {
    const entry = call(this.world, this.client, 0, work)
    if (entry !== undefined) this.calls.push(entry)
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
      for (const at of world.plan.servers.keys()) call(world, client, at, { kind: 'progress', ms: 20, n: 2 })
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
