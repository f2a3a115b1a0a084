// Plans without peculiarities, for runs that vary one thing.

import type { PipeShape } from './byte-flow.js'
import type { ClientPlan, LimitsPlan, Plan, ServerPlan } from './plan.js'

const KiB = 1024

/** No run reaches these limits. */
export const roomyLimits: LimitsPlan = {
  lineBytesMax: 64 * KiB,
  backlogBytesHigh: 32 * KiB,
  backlogBytesMax: 4096 * KiB,
  queueMax: 1024,
  inflightMax: 1024,
  callsMax: 1024,
  outgoingBytesMax: 4096 * KiB,
  processesMax: 256,
  roomy: true,
}

/** Everything at once. */
export const whole: PipeShape = { chunkMax: 64 * KiB, delayMsMax: 0, capacity: 64 * KiB }

export function plainServer(name: string, more: Partial<ServerPlan> = {}): ServerPlan {
  return {
    name,
    kind: name.startsWith('h') ? 'http' : 'stdio',
    isolation: 'auto',
    concurrency: 64,
    processes: 1,
    timeoutMs: 2000,
    idleTimeoutMs: undefined,
    onTimeout: 'cancel',
    restartDelayMs: 50,
    initMs: 0,
    offers: [],
    schema: false,
    heedsEof: true,
    heedsTerm: true,
    heedsCancel: true,
    faulty: true,
    stdin: whole,
    stdout: whole,
    exitDelayMsMax: 0,
    events: false,
    standalone: false,
    ...more,
  }
}

export function plainClient(name: string, more: Partial<ClientPlan> = {}): ClientPlan {
  return {
    name,
    revision: '2025-06-18',
    capabilities: [],
    manners: 'proper',
    input: whole,
    output: whole,
    answerMs: 20,
    ...more,
  }
}

export function plainPlan(parts: Partial<Plan> & Pick<Plan, 'servers'>): Plan {
  return { seed: 1, logs: false, limits: roomyLimits, clients: [plainClient('c0')], ops: [], ...parts }
}
