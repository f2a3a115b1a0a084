// Runs with several instances of a gateway. All of it is drawn from dice of its own.

import { withHttp } from './draw-http.js'
import type { ClientPlan, Op, Plan, ServerPlan } from './plan.js'
import { roomyLimits } from './plain-plan.js'
import { Random } from './random.js'
import type { WorkKind } from './work.js'

/** How many operations end an instance, cut it from the store, or steal a session. */
const SHARES = [0, 0.05, 0.15] as const

/** What several instances do in the same way as one is left to the other runs. */
const kept: ReadonlySet<Op['kind']> = new Set<Op['kind']>([
  'attach',
  'call',
  'read',
  'list',
  'subscribe',
  'level',
  'ping',
  'unknown',
  'roots',
  'cancel',
  'finish',
  'vanish',
  'cut',
  'updated',
  'log',
])

const kindly: ReadonlySet<WorkKind> = new Set<WorkKind>(['echo', 'progress', 'ask', 'log', 'big', 'refuse'])

/** Another instance takes a call over, or takes nothing for as long. */
const PATIENCE_MS = 5000

/** The same clients and calls, with so many instances, or 1 to 3. */
export function withInstances(plain: Plan, given: number | undefined): Plan {
  const plan = withHttp(plain)
  const random = Random.of(plan.seed, 'instances')
  const count = given ?? random.int(1, 3)
  const delayMsMax = random.pick([0, 1, 20])
  const [restarts, aways, thefts] = [random.pick(SHARES), random.pick(SHARES), random.pick(SHARES)]
  const clients = plan.clients.map((client, at) => overBalancer(random, client, at))
  const drawn = (): Op[] => {
    const [gapMs, instance] = [random.next() * 20, random.int(0, 2)]
    if (random.chance(restarts))
      return [{ gapMs, kind: 'restart', instance, how: random.pick(['kill', 'drain']) }]
    if (random.chance(aways)) return [{ gapMs, kind: 'away', instance, seconds: random.next() * 3 }]
    const [client, from] = [random.int(0, clients.length - 1), random.int(0, clients.length - 1)]
    return random.chance(thefts) ? [{ gapMs, kind: 'steal', client, from }] : []
  }
  const ops = plan.ops
    .filter(({ kind }) => kept.has(kind))
    .flatMap((op): Op[] => [op.kind === 'call' ? calm(op) : op, ...drawn()])
  const servers = plan.servers.map(steady)
  const { front: _front, kept: _kept, ...more } = plan
  return { ...more, limits: roomyLimits, servers, clients, ops, instances: { count, delayMsMax } }
}

function overBalancer(random: Random, client: ClientPlan, at: number): ClientPlan {
  const http = {
    sse: false,
    session: true,
    listens: random.chance(0.7),
    resumes: random.chance(0.7),
    accept: 'application/json, text/event-stream',
    chunked: random.chance(0.2),
    // A connection that is used again goes to the same instance.
    idleMax: random.pick([0, 0, 1]),
    againMs: random.pick([50, 1500]),
    token: `u${at}`,
  }
  const revision = random.pick(['2025-11-25', '2025-06-18', '2025-03-26'])
  return { ...client, revision, manners: 'proper', http, patienceMs: PATIENCE_MS }
}

function steady(server: ServerPlan): ServerPlan {
  return { ...server, name: server.name.replace('h', 's'), kind: 'stdio', faulty: false }
}

/** The error of a lost call has its id in the shortest spelling. */
function calm(op: Extract<Op, { readonly kind: 'call' }>): Op {
  const { work, spelling } = op
  const kind = kindly.has(work.kind) ? work.kind : 'echo'
  return { ...op, work: { ...work, kind }, spelling: spelling === 'string' ? spelling : 'number' }
}
