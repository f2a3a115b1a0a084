// The runs that a seed stands for: one of each kind.

import { withConsent } from './consent.js'
import { drawPlan } from './draw.js'
import type { Plan, Op, ClientPlan, ListMethod, ReadMethod, ServerPlan, WorkKind } from './plan.js'
import { type Head, heads, type Askable, returns } from './request-meta.js'
import { Random } from './random.js'
import type { HttpPlan } from './http-requests.js'
import { askable } from './rounds.js'
import { roomyLimits } from './plain-plan.js'

/** Who comes besides the clients of sessions at the proxy's stdin and stdout. */
export type RunKind = (typeof kinds)[number]

export const kinds = [
  'plain',
  'http',
  'eras',
  'http-eras',
  'instances',
  'instances-1',
  'instances-2',
  'instances-3',
] as const

export function drawKind(kind: RunKind, seed: number, ops: number): Plan {
  const plan = drawPlan(seed, ops)
  switch (kind) {
    case 'instances':
      return withInstances(plan, undefined)
    case 'instances-1':
    case 'instances-2':
    case 'instances-3':
      return withInstances(plan, Number(kind.slice(-1)))
    // Over HTTP a question without an answer takes a place at the front for as long as it may be answered.
    case 'plain':
      return withConsent(plan)
    case 'eras':
      return withEras(withConsent(plan))
    case 'http':
      return withHttp(plan)
    case 'http-eras':
      return withHeads(withHttp(withEras(plan)))
  }
}

/** As it is written among options; anything else is a plain run. */
export function runKind(text: string | undefined): RunKind {
  return kinds.find((kind) => kind === text) ?? 'plain'
}

/** The option that asks for such a run. */
export function optionOf(kind: RunKind): string {
  if (kind === 'plain') return ''
  const [first, ...more] = kind.split('-')
  if (first === 'instances') return ` --instances ${more[0] ?? 0}`
  return [first, ...more].map((option) => ` --${option}`).join('')
}

// What requests without a session say in their heads, and which of them are given up; drawn from dice of their own.

/** How many operations close a response. */
const CLOSES = [0, 0.05, 0.2] as const

/** The same run, in which some heads say something else than their messages, and some responses are closed. */
function withHeads(plan: Plan): Plan {
  const random = Random.of(plan.seed, 'heads')
  const share = random.pick([0.1, 0.5])
  const closes = random.pick(CLOSES)
  const ops = plan.ops.flatMap((op): Op[] => {
    const head = random.chance(share) ? random.pick(heads) : 'right'
    const returnHead = random.chance(share) ? random.pick(heads) : 'right'
    const headed = withHeadOf(op, { head, returnHead })
    return random.chance(closes) ? [headed, closed(random, plan)] : [headed]
  })
  // A request that stays open keeps the place of its body, of which a small memory has few.
  const front = plan.front && { ...plan.front, bodiesBytesMax: undefined }
  return { ...plan, ...(front !== undefined && { front }), ops }
}

function withHeadOf(op: Op, { head, returnHead }: { readonly head: Head; readonly returnHead: Head }): Op {
  if (op.kind === 'stateless-call' || op.kind === 'stateless-read') return { ...op, head, returnHead }
  return op.kind === 'stateless-list' || op.kind === 'listen' ? { ...op, head } : op
}

function closed(random: Random, { clients }: Plan): Op {
  const client = random.int(0, clients.length - 1)
  const gapMs = random.next() * random.pick([1, 20, 200])
  return { gapMs, kind: 'cancel', client, back: random.int(0, 3) }
}

// Which clients of a drawn run come over HTTP. All of it is drawn from dice of its
// own, so that a seed means the same run with and without.

/** How often a client loses its connections. */
const CUTS = [0, 0.05, 0.2] as const

/** The same run with an HTTP front, through which about half of the clients come. */
export function withHttp(plan: Plan): Plan {
  const random = Random.of(plan.seed, 'http')
  const share = random.pick([0.4, 0.7, 1])
  const cuts = random.pick(CUTS)
  const clients = plan.clients.map((client, at) =>
    at === 0 || random.chance(share) ? overHttp(random, client) : client,
  )
  const ops = plan.ops.flatMap((op): Op[] => {
    if (!random.chance(cuts)) return [op]
    const client = random.int(0, clients.length - 1)
    return [op, { gapMs: random.next() * 20, kind: 'cut', client }]
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
  return {
    ...client,
    revision: random.pick(['2025-11-25', '2025-06-18', '2025-03-26', ...(http.sse ? ['2024-11-05'] : [])]),
    manners: http.session ? 'proper' : 'session',
    http,
  }
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

// Requests of clients without sessions, beside those of their sessions. All of them are drawn from dice of their own, so
// that a seed means the same run with and without.

/** How many operations are such requests. */
const ERA_SHARES = [0.2, 0.5, 1] as const

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
  const share = random.pick(ERA_SHARES)
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

// Runs with several instances of a gateway. All of it is drawn from dice of its own.

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
