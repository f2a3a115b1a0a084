// What happens to a server, or to its client, while a call without a session waits for answers.

import { type Fault, faults, phases } from './matrix.js'
import { cellPlan } from './cell-plan.js'
import type { Returns } from './request-meta.js'
import type { SimClient } from './client.js'
import { judge } from './judge.js'
import type { Entry } from './ledger.js'
import { type Outcome, outcomeOf } from './outcome.js'
import { call, perform } from './perform.js'
import type { Plan } from './plan.js'
import { Random } from './random.js'
import type { SimServer } from './server.js'
import { World } from './world.js'

/** When it happens. */
export const eraPhases = {
  parked: 'the client has the questions and has not come back',
  answering: 'the client has sent its answers',
  resumed: 'the server has the answers and is at work again',
} as const

export type EraPhase = keyof typeof eraPhases

/** What happens besides the faults of servers. */
export const eraStrikes = ['vanish', 'finish', 'reload'] as const

export type EraStrike = Fault['name'] | (typeof eraStrikes)[number]

const PHASE_MS = 10_000

/** How long a fault that lasts does. */
const LASTS_MS = 4000

const WORK = { kind: 'rounds', ms: 200, n: 4 } as const

const AFTER_MS = 500

const returns: readonly [Returns, ...Returns[]] = ['answers', 'twice', 'changes', 'parts', 'stolen', 'alters']

/** Runs one cell, with chances drawn from a seed. */
export function simulateEraCell(strike: EraStrike, phase: EraPhase, seed: number): Outcome {
  const random = Random.of(seed, `${strike} ${phase}`)
  const world = new World(planOf(strike, seed))
  world.run(() => {
    const [target] = world.host.servers
    const [first, second] = world.plan.clients.map((plan) => attached(world, plan))
    if (target === undefined || first === undefined || second === undefined) return
    const way = random.pick(returns)
    const op = {
      client: 0,
      server: 0,
      work: WORK,
      can: ['elicitation', 'sampling'],
      afterMs: AFTER_MS,
    } as const
    perform(world, { gapMs: 0, kind: 'stateless-call', ...op, returns: way }, 0)
    if (!world.until(() => isReached(world, phase), PHASE_MS))
      world.host.ledger.fail('not-reached', `not reached: ${eraPhases[phase]}`)
    struck(world, target, first, strike)
    aftermath(world, [first, second])
    target.mend()
    judge(world)
  })
  return outcomeOf(world)
}

function planOf(strike: EraStrike, seed: number): Plan {
  const fault = faults.find(({ name }) => name === strike) ?? faults[0]
  const phase = phases.find(({ name }) => name === 'written')
  if (fault === undefined || phase === undefined) throw new Error('there are no faults')
  const plan = cellPlan(fault, phase, seed)
  return {
    ...plan,
    servers: plan.servers.map((server) => ({ ...server, total: 1000 })),
    clients: plan.clients.map((client) => ({ ...client, sets: [['elicitation', 'sampling']] })),
  }
}

function attached(world: World, plan: Plan['clients'][number]): SimClient {
  const client = world.attach(plan)
  world.seats.push(client)
  return client
}

function isReached(world: World, phase: EraPhase): boolean {
  const chain = [...world.host.ledger.entries.values()].filter(({ root }) => root !== undefined)
  const [root, ...later] = chain
  if (root === undefined) return false
  switch (phase) {
    case 'parked':
      return root.answers.length > 0 && later.length === 0
    case 'answering':
      return later.length > 0
    case 'resumed':
      return later.length > 0 && isAtWork(root)
  }
}

function isAtWork({ job }: Entry): boolean {
  return job !== undefined && job.open === 0 && !job.done
}

function struck(world: World, target: SimServer, client: SimClient, strike: EraStrike): void {
  world.host.trace.note('op', `${strike} strikes`)
  if (strike === 'vanish') return client.vanish()
  if (strike === 'finish') return client.finish()
  if (strike === 'reload') {
    world.host.ledger.reloaded(target.facts.plan.name)
    return world.reload(target.facts.plan.name, 'retimed')
  }
  if (strike === 'enospc') world.host.diskFull = true
  target.strike(strike, world.host.dice('strike'))
}

/** Both go on as if nothing were. */
function aftermath(world: World, clients: readonly SimClient[]): void {
  for (let round = 0; round < 3; round++) {
    for (const client of clients) {
      if (!client.speaks) continue
      for (const at of world.plan.servers.keys()) call(world, client, at, { kind: 'progress', ms: 20, n: 2 })
    }
    world.pass(LASTS_MS / 2)
  }
  world.host.diskFull = false
}
