// Each seed stands for one run of each kind. The additions of a kind come from their own random sequence, so that the
// common part of the runs is the same.

import { withConsent } from './consent.js'
import { drawPlan, troubles } from './draw.js'
import type { HttpPlan } from './http-requests.js'
import { roomyLimits } from './plain-plan.js'
import { kindly } from './plan.js'
import type { ClientPlan, ListMethod, Op, OpOf, Plan, ReadMethod, ServerPlan, WorkKind } from './plan.js'
import { Random } from './random.js'
import { type Askable, heads, returns } from './request-meta.js'
import { askable } from './rounds.js'

/** The command-line options for the runs of each kind. */
export const optionsOf = {
  plain: '',
  http: ' --http',
  eras: ' --eras',
  'http-eras': ' --http --eras',
  instances: ' --instances 0',
  'instances-1': ' --instances 1',
  'instances-2': ' --instances 2',
  'instances-3': ' --instances 3',
} as const

export type RunKind = keyof typeof optionsOf

export const kinds: readonly RunKind[] = Object.keys(optionsOf).filter(
  (name): name is RunKind => name in optionsOf,
)

export function drawKind(kind: RunKind, seed: number, ops: number): Plan {
  const plan = drawPlan(seed, ops)
  // Over HTTP an unanswered question would hold a request at the front for its whole time, so consent is left out.
  if (kind === 'plain') return withConsent(plan)
  if (kind === 'eras') return withEras(withConsent(plan))
  if (kind === 'http') return withHttp(plan)
  if (kind === 'http-eras') return withHeads(withHttp(withEras(plan)))
  return withInstances(plan, kind === 'instances' ? undefined : Number(kind.slice(-1)))
}

function clientOf(random: Random, { clients }: Pick<Plan, 'clients'>): number {
  return random.int(0, clients.length - 1)
}

/** Adds an operation behind a share of these. `isMeant` excludes some. */
function withMore(
  random: Random,
  ops: readonly Op[],
  share: number,
  draw: () => Op,
  isMeant: (op: Op) => boolean = () => true,
): Op[] {
  return ops.flatMap((op) => (isMeant(op) && random.chance(share) ? [op, draw()] : [op]))
}

const isNoArrival = ({ kind }: Op): boolean => kind !== 'attach'

/** Adds an HTTP front. About half of the clients use it, and lose connections at times. */
function withHttp(plan: Plan): Plan {
  const random = Random.of(plan.seed, 'http')
  const share = random.pick([0.4, 0.7, 1])
  const cuts = random.pick([0, 0.05, 0.2])
  const clients = plan.clients.map((client, at) =>
    at === 0 || random.chance(share) ? overHttp(random, client) : client,
  )
  const ops = withMore(random, plan.ops, cuts, () => {
    const client = clientOf(random, plan)
    return { gapMs: random.next() * 20, kind: 'cut', client }
  })
  const front = {
    answerWaitMs: random.pick([250, 250, 20, 1]),
    eventsMax: random.pick([1024, 1024, 8]),
    bodiesBytesMax: random.pick([undefined, undefined, 2048]),
  }
  return { ...plan, clients, front, ops }
}

function overHttp(random: Random, client: ClientPlan): ClientPlan {
  const http = drawHttp(random)
  const old = http.sse ? ['2024-11-05'] : []
  const revision = random.pick(['2025-11-25', '2025-06-18', '2025-03-26', ...old])
  return { ...client, revision, manners: http.session ? 'proper' : 'session', http }
}

function drawHttp(random: Random): HttpPlan {
  const sse = random.chance(0.15)
  const session = sse || random.chance(0.8)
  const both = ['application/json, text/event-stream', 'text/event-stream, application/json'] as const
  return {
    sse,
    session,
    listens: session && random.chance(0.7),
    resumes: session && random.chance(0.7),
    accept: session ? random.pick(both) : random.pick([...both, 'application/json', '*/*']),
    chunked: random.chance(0.2),
    idleMax: random.int(0, 3),
    againMs: random.pick([0, 50, 1500]),
  }
}

/** Gives requests without a session other header fields, and closes some responses. */
function withHeads(plan: Plan): Plan {
  const random = Random.of(plan.seed, 'heads')
  const share = random.pick([0.1, 0.5])
  const closes = random.pick([0, 0.05, 0.2])
  const closed = (): Op => {
    const client = clientOf(random, plan)
    const gapMs = random.next() * random.pick([1, 20, 200])
    return { gapMs, kind: 'cancel', client, back: random.int(0, 3) }
  }
  const ops = plan.ops.flatMap((op): Op[] => {
    const head = random.chance(share) ? random.pick(heads) : 'right'
    const returnHead = random.chance(share) ? random.pick(heads) : 'right'
    const isHeaded = op.kind === 'stateless-list' || op.kind === 'listen'
    const mayReturn = op.kind === 'stateless-call' || op.kind === 'stateless-read'
    const headed = mayReturn ? { ...op, head, returnHead } : isHeaded ? { ...op, head } : op
    return random.chance(closes) ? [headed, closed()] : [headed]
  })
  // An open request keeps its share of the memory for bodies, so a small limit would not do.
  const front = plan.front && { ...plan.front, bodiesBytesMax: undefined }
  return { ...plan, ...(front !== undefined && { front }), ops }
}

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

/** So long that only the client's own time limit ends a call that waits for it. */
const ENDLESS = 1000

/** Adds requests without a session, some of which stay open, and servers without sessions. */
function withEras(plan: Plan): Plan {
  const random = Random.of(plan.seed, 'eras')
  const share = random.pick([0.2, 0.5, 1])
  const isEndless = random.chance(0.5)
  // In a shared process, a call that waits for its client would block all others.
  const servers = plan.servers.map((server) =>
    isEndless && server.isolation !== 'shared' ? { ...server, total: ENDLESS } : server,
  )
  const clients = plan.clients.map((client) => withSets(random, client, isEndless))
  const drawn = (): Op => drawStateless(random, clients, servers)
  const ops = withMore(random, plan.ops, share, drawn, isNoArrival)
  return withListens(withStateless({ ...plan, servers, clients, ops }))
}

/** A call with an endless total would wait for ever for a client that never answers. */
function withSets(random: Random, client: ClientPlan, isEndless: boolean): ClientPlan {
  const sets = Array.from({ length: random.int(1, 3) }, (): Askable[] =>
    askable.filter(() => random.chance(0.6)),
  )
  return { ...client, sets, answerMs: isEndless ? (client.answerMs ?? 700) : client.answerMs }
}

function drawStateless(random: Random, clients: readonly ClientPlan[], servers: readonly ServerPlan[]): Op {
  const gapMs = random.next() * random.pick([5, 50, 1000])
  const client = clientOf(random, { clients })
  const server = random.int(0, servers.length - 1)
  const can = random.pick([[], ...(clients[client]?.sets ?? [])])
  const die = random.int(1, 6)
  if (die === 6) {
    const method = random.pick<ListMethod>(['tools/list', 'resources/list', 'prompts/list'])
    return { gapMs, kind: 'stateless-list', client, can, method }
  }
  if (die === 5) {
    const method = random.pick<ReadMethod>(['resources/read', 'prompts/get'])
    return { gapMs, kind: 'stateless-read', client, server, can, method }
  }
  const drawn = random.weighted(workKinds) ?? 'rounds'
  const kind = drawn === 'exit-before' && servers[server]?.faulty !== true ? 'rounds' : drawn
  const work = { kind, ms: random.int(0, 100), n: random.int(1, 8) }
  const afterMsOf = (): number => random.pick([0, 5, 50, 500, 3000, 12_000])
  const call = { gapMs, kind: 'stateless-call', client, server, can, work } as const
  return { ...call, returns: random.pick(returns), afterMs: afterMsOf() }
}

/** Adds clients that open and end `subscriptions/listen` requests. */
function withListens(plan: Plan): Plan {
  const random = Random.of(plan.seed, 'listens')
  const share = random.pick([0, 0.05, 0.2])
  const drawn = (): Op => {
    const gapMs = random.next() * random.pick([5, 50, 1000])
    const client = clientOf(random, plan)
    const followed = plan.servers.flatMap((_, at) => (random.chance(0.6) ? [at] : []))
    const can = random.pick([[], ...(plan.clients[client]?.sets ?? [])])
    if (random.chance(0.3)) return { gapMs, kind: 'unlisten', client }
    return { gapMs, kind: 'listen', client, can, followed, hasTools: random.chance(0.6) }
  }
  return { ...plan, ops: withMore(random, plan.ops, share, drawn, isNoArrival) }
}

/** Adds servers without sessions, which ask during calls and reads. */
function withStateless(plan: Plan): Plan {
  const random = Random.of(plan.seed, 'stateless')
  const share = random.pick([0, 0.5, 1])
  const servers = plan.servers.map((server) => ofEra(random, server, share))
  const ops = plan.ops.map((op) => asked(random, servers, op))
  return { ...plan, servers, ops }
}

/** The proxy may also probe a server with sessions (`auto`). */
function ofEra(random: Random, server: ServerPlan, share: number): ServerPlan {
  if (random.chance(share))
    return { ...server, isStateless: true, protocol: random.pick(['auto', 'auto', '2026-07-28']) }
  return random.chance(0.3) ? { ...server, protocol: 'auto' } : server
}

/** Makes a server without sessions ask first. */
function asked(random: Random, servers: readonly ServerPlan[], op: Op): Op {
  const isAsked = random.chance(0.4)
  const asks = random.int(0, 8)
  const way = { returns: random.pick(returns), afterMs: random.pick([0, 50, 500, 3000]) }
  if (!isAsked || !('server' in op) || servers[op.server]?.isStateless !== true) return op
  if (op.kind === 'call') return { ...op, work: { ...op.work, kind: 'rounds' } }
  if ((op.kind !== 'read' && op.kind !== 'stateless-read') || op.method === 'completion/complete') return op
  return op.kind === 'read' ? { ...op, asks } : { ...op, ...way, asks }
}

/** Several instances treat these operations as one does, so the other kinds cover them. */
const alike = ['batch', 'garbage', 'twin', 'pause', 'resume', 'changed', 'gone'] as const
const leftToOthers: ReadonlySet<Op['kind']> = new Set([...troubles, ...alike])

/** The share of operations that end an instance, cut it from the store, or steal a session. */
const SHARES = [0, 0.05, 0.15] as const

/** The same clients and calls with `given` instances, or with 1 to 3. */
function withInstances(plain: Plan, given: number | undefined): Plan {
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
    const [client, from] = [clientOf(random, plan), clientOf(random, plan)]
    return random.chance(thefts) ? [{ gapMs, kind: 'steal', client, from }] : []
  }
  const ops = plan.ops
    .filter(({ kind }) => !leftToOthers.has(kind))
    .flatMap((op): Op[] => [op.kind === 'call' ? calm(op) : op, ...drawn()])
  const servers = plan.servers.map((server): ServerPlan => {
    return { ...server, name: server.name.replace('h', 's'), kind: 'stdio', faulty: false }
  })
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
    // A reused connection always goes to the same instance.
    idleMax: random.pick([0, 0, 1]),
    againMs: random.pick([50, 1500]),
    token: `u${at}`,
  }
  const revision = random.pick(['2025-11-25', '2025-06-18', '2025-03-26'])
  // Budgets include the time in which another instance takes a call over, or refuses it.
  return { ...client, revision, manners: 'proper', http, patienceMs: 5000 }
}

/** The error of a lost call has its id in the shortest spelling. */
function calm(op: OpOf<'call'>): Op {
  const { work, spelling } = op
  const kind = kindly.has(work.kind) ? work.kind : 'echo'
  return { ...op, work: { ...work, kind }, spelling: spelling === 'string' ? spelling : 'number' }
}
