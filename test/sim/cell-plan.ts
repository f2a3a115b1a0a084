// The world of a cell: the server in question, one that is well, and two clients.

import type { Fault, Phase } from './matrix.js'
import type { ClientPlan, Plan, ServerPlan } from './plan.js'
import { roomyLimits } from './plain-plan.js'
import { Random } from './random.js'

const KiB = 1024

/** Calls that a server over HTTP is given at once. */
export const CONCURRENCY_OVER_HTTP = 64

export function cellPlan(fault: Fault, phase: Phase, seed: number): Plan {
  const random = Random.of(seed, `${fault.name} ${phase.name}`)
  const kind = fault.place === 'http' ? 'http' : 'stdio'
  const faulty = server(random, `${kind === 'http' ? 'h' : 's'}0`, kind)
  return {
    seed,
    logs: fault.name === 'enospc',
    limits: { ...roomyLimits, backlogBytesHigh: 64 * KiB },
    servers: [
      { ...faulty, faulty: true, ...goesOn(phase), concurrency: phase.name === 'queued' ? 1 : 64 },
      server(random, 's1', 'stdio'),
    ],
    clients: [client(random), client(random)],
    ops: [],
  }
}

/** It does not heed a cancel, where the phase is that it is still at a call which was given up. */
function goesOn({ name }: Phase): Partial<ServerPlan> {
  return name === 'cancelled' || name === 'timed-out' ? { heedsCancel: false } : {}
}

function server(random: Random, name: string, kind: ServerPlan['kind']): ServerPlan {
  const shape = { chunkMax: random.pick([500, 2000]), delayMsMax: random.pick([0.5, 4]), capacity: 4 * KiB }
  return {
    name,
    kind,
    isolation: 'auto',
    concurrency: 64,
    processes: 1,
    timeoutMs: 2000,
    idleTimeoutMs: undefined,
    onTimeout: 'cancel',
    restartDelayMs: 100,
    initMs: random.int(0, 30),
    offers: ['resources', 'prompts', 'logging'],
    schema: false,
    heedsEof: random.chance(0.7),
    heedsTerm: random.chance(0.7),
    heedsCancel: random.chance(0.5),
    faulty: false,
    stdin: shape,
    stdout: shape,
    exitDelayMsMax: random.pick([0, 20]),
    events: true,
    standalone: random.chance(0.5),
  }
}

function client(random: Random): ClientPlan {
  const shape = { chunkMax: 64 * KiB, delayMsMax: random.pick([0, 2]), capacity: 64 * KiB }
  return {
    name: 'c',
    revision: '2025-06-18',
    capabilities: random.chance(0.5) ? ['sampling'] : [],
    manners: 'proper',
    input: shape,
    output: shape,
    answerMs: 5,
  }
}
