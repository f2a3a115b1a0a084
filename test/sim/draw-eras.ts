// Requests of clients without sessions, beside those of their sessions. All of them are drawn from dice of their own, so
// that a seed means the same run with and without.

import { type Askable, returns } from './claim.js'
import type { ClientPlan, ListMethod, Op, Plan, ReadMethod, ServerPlan } from './plan.js'
import { askable } from './questions.js'
import { Random } from './random.js'
import { withListens } from './draw-listens.js'
import { withStateless } from './draw-stateless.js'
import type { Deed } from './work.js'

/** How many operations are such requests. */
const SHARES = [0.2, 0.5, 1] as const

const deeds: readonly (readonly [Deed, number])[] = [
  ['rounds', 10],
  ['ask', 4],
  ['echo', 2],
  ['progress', 1],
  ['log', 1],
  ['big', 1],
  ['refuse', 1],
  ['hang', 1],
  ['exit-before', 1],
]

/** So long that only the client's own time ends a call that waits for it. */
const ENDLESS = 1000

/** The same run with requests that belong to no session. */
export function withEras(plan: Plan): Plan {
  const random = Random.of(plan.seed, 'eras')
  const share = random.pick(SHARES)
  const isEndless = random.chance(0.5)
  // Where everybody shares a process, a call that waits for its client keeps all others from it.
  const servers = plan.servers.map((server) =>
    isEndless && server.isolation !== 'shared' ? { ...server, total: ENDLESS } : server,
  )
  const clients = plan.clients.map((client) => withSets(random, client, isEndless))
  const ops = plan.ops.flatMap((op): Op[] => {
    if (op.kind === 'attach' || !random.chance(share)) return [op]
    return [op, drawClaimed(random, clients, servers)]
  })
  return withListens(withStateless({ ...plan, servers, clients, ops }))
}

/** Who never answers would be waited for without an end. */
function withSets(random: Random, client: ClientPlan, isEndless: boolean): ClientPlan {
  const sets = Array.from({ length: random.int(1, 3) }, (): Askable[] =>
    askable.filter(() => random.chance(0.6)),
  )
  return { ...client, sets, answerMs: isEndless ? (client.answerMs ?? 700) : client.answerMs }
}

function drawClaimed(random: Random, clients: readonly ClientPlan[], servers: readonly ServerPlan[]): Op {
  const gapMs = random.next() * random.pick([5, 50, 1000])
  const client = random.int(0, clients.length - 1)
  const server = random.int(0, servers.length - 1)
  const can = random.pick([[], ...(clients[client]?.sets ?? [])])
  const kind = random.pick(['claimed', 'claimed', 'claimed', 'claimed', 'claimed-read', 'claimed-list'])
  if (kind === 'claimed-list')
    return {
      gapMs,
      kind,
      client,
      can,
      method: random.pick<ListMethod>(['tools/list', 'resources/list', 'prompts/list']),
    }
  if (kind === 'claimed-read')
    return {
      gapMs,
      kind,
      client,
      server,
      can,
      method: random.pick<ReadMethod>(['resources/read', 'prompts/get']),
    }
  const deed = random.weighted(deeds) ?? 'rounds'
  const isFaulty = servers[server]?.faulty === true
  return {
    gapMs,
    kind: 'claimed',
    client,
    server,
    can,
    work: {
      deed: deed === 'exit-before' && !isFaulty ? 'rounds' : deed,
      ms: random.int(0, 100),
      n: random.int(1, 8),
    },
    returns: random.pick(returns),
    afterMs: random.pick([0, 5, 50, 500, 3000, 12_000]),
  }
}
