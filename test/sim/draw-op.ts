// One operation out of the dice of a run.

import type { FaultName } from './matrix.js'
import type { Op, OpKind, ReadMethod, ReloadKind, ServerPlan } from './plan.js'
import type { Random } from './random.js'
import type { WorkKind, Work } from './work.js'

/** What may happen in one run, and how often. */
export interface Swarm {
  readonly ops: readonly (readonly [OpKind, number])[]
  readonly workKinds: readonly (readonly [WorkKind, number])[]
  readonly faults: readonly (readonly [FaultName, number])[]
  readonly clients: number
  readonly servers: number
  /** Bytes come in small pieces. */
  readonly choppy: boolean
  /** The longest time from one operation to the next. */
  readonly gapMsMax: number
}

function drawWork(random: Random, swarm: Swarm, server: ServerPlan): Work {
  const kind = random.weighted(swarm.workKinds) ?? 'echo'
  const isKind = server.faulty || kindly.has(kind)
  const ms = random.chance(0.05) ? server.timeoutMs * random.next() : random.int(0, 100)
  return { kind: isKind ? kind : 'echo', ms: server.faulty ? 3 * ms : ms, n: random.int(1, 8) }
}

const kindly: ReadonlySet<WorkKind> = new Set(['echo', 'progress', 'ask', 'log', 'big', 'refuse', 'junk'])

/** One operation, of the kinds that happen in this run. */
export function drawOp(random: Random, swarm: Swarm, servers: readonly ServerPlan[]): Op {
  const gapMs = random.chance(0.02) ? random.next() * 5000 : random.next() * swarm.gapMsMax
  const client = random.int(0, swarm.clients - 1)
  const server = random.int(0, swarm.servers - 1)
  const plan = servers[server]
  const kind = random.weighted(swarm.ops) ?? 'call'
  const work = (): Work =>
    plan === undefined ? { kind: 'echo', ms: 0, n: 1 } : drawWork(random, swarm, plan)
  switch (kind) {
    case 'call':
      return {
        gapMs,
        kind,
        client,
        server,
        work: work(),
        spelling: random.pick(['number', 'number', 'string', 'decimal', 'text']),
      }
    case 'batch':
      return { gapMs, kind, client, server, works: Array.from({ length: random.int(1, 4) }, work) }
    case 'read':
      return {
        gapMs,
        kind,
        client,
        server,
        method: random.pick<ReadMethod>(['resources/read', 'prompts/get', 'completion/complete']),
      }
    case 'list':
      return {
        gapMs,
        kind,
        client,
        method: random.pick(['tools/list', 'resources/list', 'prompts/list', 'resources/templates/list']),
      }
    case 'subscribe':
      return { gapMs, kind, client, server, on: random.chance(0.7) }
    case 'cancel':
      return { gapMs, kind, client, back: random.int(0, 3) }
    case 'gone':
      return { gapMs, kind, client, server }
    case 'changed':
    case 'updated':
    case 'log':
      return { gapMs, kind, server }
    case 'fault':
      return {
        gapMs,
        kind,
        server,
        fault: random.weighted(swarm.faults) ?? 'kill-9',
        seconds: random.next() * 10,
      }
    case 'unlisted':
      return { gapMs, kind, server, seconds: random.next() * 5 }
    case 'reload':
      return {
        gapMs,
        kind,
        server,
        how: random.pick<ReloadKind>(['nothing', 'retimed', 'removed', 'described']),
      }
    case 'clock':
      return { gapMs, kind, days: random.int(-10, 10) }
    case 'stateless-call':
    case 'stateless-read':
    case 'stateless-list':
    case 'listen':
    case 'unlisten':
    case 'restart':
    case 'away':
    case 'steal':
      return { gapMs, kind: 'ping', client }
    case 'attach':
    case 'level':
    case 'ping':
    case 'roots':
    case 'garbage':
    case 'twin':
    case 'unknown':
    case 'pause':
    case 'resume':
    case 'finish':
    case 'vanish':
    case 'cut':
      return { gapMs, kind, client }
  }
}
