// Requests that stay open, so that clients without sessions hear of changes; drawn from dice of their own.

import type { Op, Plan } from './plan.js'
import { Random } from './random.js'

/** How many operations are such requests. */
const SHARES = [0, 0.05, 0.2] as const

/** The same run, in which clients listen, and do not listen any more. */
export function withListens(plan: Plan): Plan {
  const random = Random.of(plan.seed, 'listens')
  const share = random.pick(SHARES)
  const ops = plan.ops.flatMap((op): Op[] =>
    op.kind === 'attach' || !random.chance(share) ? [op] : [op, drawListen(random, plan)],
  )
  return { ...plan, ops }
}

function drawListen(random: Random, { clients, servers }: Plan): Op {
  const gapMs = random.next() * random.pick([5, 50, 1000])
  const client = random.int(0, clients.length - 1)
  const followed = servers.flatMap((_, at) => (random.chance(0.6) ? [at] : []))
  const can = random.pick([[], ...(clients[client]?.sets ?? [])])
  if (random.chance(0.3)) return { gapMs, kind: 'unlisten', client }
  return { gapMs, kind: 'listen', client, can, followed, hasTools: random.chance(0.6) }
}
