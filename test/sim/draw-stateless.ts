// Which servers of a drawn run have no sessions, and what they ask of whom. All of it is drawn from dice of its own, so
// that what clients do stays the same.

import { returns } from './claim.js'
import type { Op, Plan, ServerPlan } from './plan.js'
import { Random } from './random.js'

/** The same run, with servers of the other era among them. */
export function withStateless(plan: Plan): Plan {
  const random = Random.of(plan.seed, 'stateless')
  const share = random.pick([0, 0.5, 1])
  const servers = plan.servers.map((server) => ofEra(random, server, share))
  const ops = plan.ops.map((op) => asked(random, servers, op))
  return { ...plan, servers, ops }
}

/** One with sessions may be asked first what it speaks, too. */
function ofEra(random: Random, server: ServerPlan, share: number): ServerPlan {
  if (random.chance(share))
    return { ...server, isStateless: true, protocol: random.pick(['auto', 'auto', '2026-07-28']) }
  return random.chance(0.3) ? { ...server, protocol: 'auto' } : server
}

/** Its server wants to know something first. */
function asked(random: Random, servers: readonly ServerPlan[], op: Op): Op {
  const isAsked = random.chance(0.4)
  const asks = random.int(0, 8)
  const way = { returns: random.pick(returns), afterMs: random.pick([0, 50, 500, 3000]) }
  if (!isAsked || !('server' in op) || servers[op.server]?.isStateless !== true) return op
  if (op.kind === 'call') return { ...op, work: { ...op.work, deed: 'rounds' } }
  if ((op.kind !== 'read' && op.kind !== 'claimed-read') || op.method === 'completion/complete') return op
  return op.kind === 'read' ? { ...op, asks } : { ...op, ...way, asks }
}
