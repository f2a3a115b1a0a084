// Draws a plan from a seed: first which kinds of things happen and how often (swarm testing: a few kinds together
// find more than all of them), then the servers and clients, then the operations.

import { faults, type FaultName } from './matrix.js'
import type { FlowShape, PipeShape } from './byte-flow.js'
import type { ClientPlan, KeptPlan, LimitsPlan, Op, Plan, ServerPlan, Work, WorkKind } from './plan.js'
import { kindly, workKinds } from './plan.js'
import { roomyLimits } from './plain-plan.js'
import { Random } from './random.js'

const KiB = 1024

export function drawPlan(seed: number, opsCount: number): Plan {
  const random = Random.of(seed, 'plan')
  const swarm = drawSwarm(random)
  const servers = Array.from({ length: swarm.servers }, (_, at) => drawServer(random, swarm, at))
  const clients = Array.from({ length: swarm.clients }, (_, at) => drawClient(random, swarm, at))
  const arrivals: Op[] = clients.map((_, client) => ({ gapMs: random.int(0, 20), kind: 'attach', client }))
  const ops = Array.from({ length: opsCount }, () => drawOp(random, swarm, servers))
  return withKept({
    seed,
    logs: random.chance(0.1),
    limits: drawLimits(random),
    servers,
    clients,
    ops: [...arrivals, ...ops],
  })
}

function drawSwarm(random: Random): Swarm {
  const some = <K extends string>(keys: readonly K[], share: number): (readonly [K, number])[] =>
    keys.filter(() => random.chance(share)).map((key) => [key, random.pick([1, 3, 10])] as const)
  const calm = random.chance(0.1)
  return {
    ops: [
      ['call', random.pick([10, 30, 100])],
      ...(calm ? [] : some([...visits, ...troubles], 0.4)),
      ...some([...requests, ...news], 0.5),
    ],
    workKinds: [['echo', 10], ...some(calm ? [] : workKinds, 0.4)],
    faults: some(
      faults.map(({ name }) => name),
      0.3,
    ),
    clients: random.int(1, 5),
    servers: random.int(1, 3),
    choppy: random.chance(0.25),
    gapMsMax: random.pick([2, 20, 200]),
  }
}

const sent = ['batch', 'garbage', 'twin', 'unknown'] as const
const visits = ['attach', ...sent, 'pause', 'resume', 'finish', 'vanish'] as const
export const troubles = ['fault', 'reload', 'unlisted', 'clock'] as const
const requests = ['read', 'list', 'subscribe', 'level', 'ping', 'roots', 'cancel'] as const
const news = ['changed', 'updated', 'log'] as const

type DrawnKind = 'call' | (typeof visits | typeof troubles | typeof requests | typeof news)[number]

function drawLimits(random: Random): LimitsPlan {
  if (random.chance(0.5)) return roomyLimits
  return {
    lineBytesMax: 16 * KiB,
    backlogBytesHigh: random.pick([2, 8]) * KiB,
    backlogBytesMax: random.pick([64, 256]) * KiB,
    queueMax: random.pick([0, 2, 8, 64]),
    inflightMax: random.pick([80, 1024]),
    callsMax: random.pick([8, 64]),
    outgoingBytesMax: random.pick([32, 256]) * KiB,
    processesMax: random.pick([4, 256, 256, 256]),
    roomy: false,
  }
}

function drawServer(random: Random, swarm: Swarm, at: number): ServerPlan {
  const kind = random.chance(0.25) ? 'http' : 'stdio'
  const timeoutMs = random.pick([600, 2000, 5000])
  return {
    name: `${kind === 'http' ? 'h' : 's'}${at}`,
    kind,
    isolation: random.pick(['auto', 'auto', 'shared', 'session']),
    concurrency: random.pick([64, 64, 2, 1]),
    processes: random.pick([1, 1, 2]),
    timeoutMs,
    idleTimeoutMs: random.chance(0.2) ? random.int(50, 2000) : undefined,
    onTimeout: random.chance(0.2) ? 'restart' : 'cancel',
    restartDelayMs: random.pick([50, 250]),
    initMs: random.pick([0, 5, 50, 400]),
    offers: (['resources', 'prompts', 'logging', 'completions'] as const).filter(() => random.chance(0.6)),
    schema: random.chance(0.1),
    heedsEof: random.chance(0.8),
    heedsTerm: random.chance(0.8),
    heedsCancel: random.chance(0.5),
    faulty: random.chance(0.7),
    stdin: drawPipe(random, swarm),
    stdout: drawPipe(random, swarm),
    exitDelayMsMax: random.pick([0, 5, 100]),
    events: random.chance(0.5),
    standalone: random.chance(0.5),
  }
}

function drawClient(random: Random, swarm: Swarm, at: number): ClientPlan {
  return {
    name: `c${at}`,
    revision: random.pick(['2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05']),
    capabilities: random.chance(0.5)
      ? []
      : (['sampling', 'elicitation', 'roots'] as const).filter(() => random.chance(0.6)),
    manners: random.pick(['proper', 'proper', 'proper', 'eager', 'session']),
    input: drawFlow(random, swarm),
    output: drawPipe(random, swarm),
    answerMs: random.chance(0.8) ? random.int(0, 50) : random.pick([undefined, 700, 2500]),
  }
}

/** Smaller pieces come faster, so that no message is on its way for long. */
function drawFlow(random: Random, { choppy }: Swarm): FlowShape {
  const whole = 64 * KiB
  const [chunkMax, delayMsMax] = random.pick<readonly [number, number]>(
    choppy
      ? [
          [1, 0.02],
          [16, 0.2],
          [300, 2],
        ]
      : [
          [whole, 0],
          [whole, 5],
          [whole, 20],
        ],
  )
  return { chunkMax, delayMsMax }
}

function drawPipe(random: Random, swarm: Swarm): PipeShape {
  return { ...drawFlow(random, swarm), capacity: random.pick([512, 4 * KiB, 64 * KiB]) }
}

// The files of earlier runs, and when processes for single clients start. Both come from their own random sequence.

const believed = ['nothing', 'same', 'stale', 'stale', 'silent'] as const
const doubted = ['damaged', 'torn', 'other-values', 'other-values', 'other-file'] as const

/** Gives half of the runs a disk. */
function withKept(plan: Plan): Plan {
  const random = Random.of(plan.seed, 'kept')
  const ownStart = random.pick(['with-call', 'with-client'] as const)
  if (random.chance(0.5)) return { ...plan, ownStart }
  const kept: KeptPlan = {
    left: plan.servers.map(() => random.pick([...believed, ...doubted])),
    disk: random.pick(['well', 'well', 'well', 'full', 'unreadable', 'no-folder']),
    isTorn: random.chance(0.1),
  }
  // The share of calls to tools that servers no longer have.
  const share = random.pick([0, 0.05, 0.2])
  const ops = plan.ops.flatMap((op): Op[] => {
    if (!random.chance(share)) return [op]
    const client = random.int(0, plan.clients.length - 1)
    const server = random.int(0, plan.servers.length - 1)
    return [op, { gapMs: random.next() * 20, kind: 'gone', client, server }]
  })
  return { ...plan, ownStart, kept, ops }
}

interface Swarm {
  readonly ops: readonly (readonly [DrawnKind, number])[]
  readonly workKinds: readonly (readonly [WorkKind, number])[]
  readonly faults: readonly (readonly [FaultName, number])[]
  readonly clients: number
  readonly servers: number
  readonly choppy: boolean
  readonly gapMsMax: number
}

function drawWork(random: Random, swarm: Swarm, server: ServerPlan): Work {
  const kind = random.weighted(swarm.workKinds) ?? 'echo'
  const isKind = server.faulty || kind === 'junk' || kindly.has(kind)
  const ms = random.chance(0.05) ? server.timeoutMs * random.next() : random.int(0, 100)
  return { kind: isKind ? kind : 'echo', ms: server.faulty ? 3 * ms : ms, n: random.int(1, 8) }
}

const isVisit = (kind: string): kind is (typeof visits)[number] => visits.some((visit) => visit === kind)

function drawOp(random: Random, swarm: Swarm, servers: readonly ServerPlan[]): Op {
  const gapMs = random.chance(0.02) ? random.next() * 5000 : random.next() * swarm.gapMsMax
  const client = random.int(0, swarm.clients - 1)
  const server = random.int(0, swarm.servers - 1)
  const plan = servers[server]
  const kind = random.weighted(swarm.ops) ?? 'call'
  const work = (): Work =>
    plan === undefined ? { kind: 'echo', ms: 0, n: 1 } : drawWork(random, swarm, plan)
  if (kind === 'batch')
    return { gapMs, kind, client, server, works: Array.from({ length: random.int(1, 4) }, work) }
  if (isVisit(kind) || kind === 'level' || kind === 'ping' || kind === 'roots') return { gapMs, kind, client }
  switch (kind) {
    case 'call': {
      const call = { gapMs, kind, client, server, work: work() }
      return { ...call, spelling: random.pick(['number', 'number', 'string', 'decimal', 'text']) }
    }
    case 'read': {
      const method = random.pick(['resources/read', 'prompts/get', 'completion/complete'] as const)
      return { gapMs, kind, client, server, method }
    }
    case 'list': {
      const most = ['tools/list', 'resources/list', 'prompts/list'] as const
      return { gapMs, kind, client, method: random.pick([...most, 'resources/templates/list']) }
    }
    case 'subscribe':
      return { gapMs, kind, client, server, on: random.chance(0.7) }
    case 'cancel':
      return { gapMs, kind, client, back: random.int(0, 3) }
    case 'changed':
    case 'updated':
    case 'log':
      return { gapMs, kind, server }
    case 'fault': {
      const fault = random.weighted(swarm.faults) ?? 'kill-9'
      return { gapMs, kind, server, fault, seconds: random.next() * 10 }
    }
    case 'unlisted':
      return { gapMs, kind, server, seconds: random.next() * 5 }
    case 'reload': {
      const how = random.pick(['nothing', 'retimed', 'removed', 'described'] as const)
      return { gapMs, kind, server, how }
    }
    case 'clock':
      return { gapMs, kind, days: random.int(-10, 10) }
  }
}
