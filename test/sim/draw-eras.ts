// Requests of clients without sessions, beside those of their sessions. All of them are drawn from dice of their own, so
// that a seed means the same run with and without.

import { type Askable, returns } from './request-meta.js'
import type { ClientPlan, ListMethod, Op, Plan, ReadMethod, ServerPlan } from './plan.js'
import { askable } from './questions.js'
import { Random } from './random.js'
import type { WorkKind } from './work.js'

/** How many operations are such requests. */
const SHARES = [0.2, 0.5, 1] as const

const workKinds: readonly (readonly [WorkKind, number])[] = [
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
    return [op, drawStateless(random, clients, servers)]
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

function drawStateless(random: Random, clients: readonly ClientPlan[], servers: readonly ServerPlan[]): Op {
  const gapMs = random.next() * random.pick([5, 50, 1000])
  const client = random.int(0, clients.length - 1)
  const server = random.int(0, servers.length - 1)
  const can = random.pick([[], ...(clients[client]?.sets ?? [])])
  const kind = random.pick([
    'stateless-call',
    'stateless-call',
    'stateless-call',
    'stateless-call',
    'stateless-read',
    'stateless-list',
  ])
  if (kind === 'stateless-list')
    return {
      gapMs,
      kind,
      client,
      can,
      method: random.pick<ListMethod>(['tools/list', 'resources/list', 'prompts/list']),
    }
  if (kind === 'stateless-read')
    return {
      gapMs,
      kind,
      client,
      server,
      can,
      method: random.pick<ReadMethod>(['resources/read', 'prompts/get']),
    }
  const workKind = random.weighted(workKinds) ?? 'rounds'
  const isFaulty = servers[server]?.faulty === true
  return {
    gapMs,
    kind: 'stateless-call',
    client,
    server,
    can,
    work: {
      kind: workKind === 'exit-before' && !isFaulty ? 'rounds' : workKind,
      ms: random.int(0, 100),
      n: random.int(1, 8),
    },
    returns: random.pick(returns),
    afterMs: random.pick([0, 5, 50, 500, 3000, 12_000]),
  }
}

// Requests that stay open, so that clients without sessions hear of changes; drawn from dice of their own.

/** How many operations are such requests. */
const LISTEN_SHARES = [0, 0.05, 0.2] as const

/** The same run, in which clients listen, and do not listen any more. */
function withListens(plan: Plan): Plan {
  const random = Random.of(plan.seed, 'listens')
  const share = random.pick(LISTEN_SHARES)
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

// Which servers of a drawn run have no sessions, and what they ask of whom. All of it is drawn from dice of its own, so
// that what clients do stays the same.

/** The same run, with servers of the other era among them. */
function withStateless(plan: Plan): Plan {
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
  if (op.kind === 'call') return { ...op, work: { ...op.work, kind: 'rounds' } }
  if ((op.kind !== 'read' && op.kind !== 'stateless-read') || op.method === 'completion/complete') return op
  return op.kind === 'read' ? { ...op, asks } : { ...op, ...way, asks }
}
