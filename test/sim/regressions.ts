// Runs in which something was found once, made small, and worlds in which a
// mutation was not found by chance. They are kept as plans, since the same seed
// is drawn differently when the simulator learns something new.

import type { ClientPlan, LimitsPlan, Op, Plan, ServerPlan, Spelling } from './plan.js'
import type { Deed } from './work.js'

export interface Regression {
  /** What was found, in words. */
  readonly what: string
  readonly plan: Plan
}

const KiB = 1024

const limits: LimitsPlan = {
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

const whole = { chunkMax: 64 * KiB, delayMsMax: 0, capacity: 64 * KiB } as const

function server(name: string, more: Partial<ServerPlan> = {}): ServerPlan {
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

function client(name: string, more: Partial<ClientPlan> = {}): ClientPlan {
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

function plan(parts: Partial<Plan> & Pick<Plan, 'seed' | 'servers' | 'clients' | 'ops'>): Plan {
  return { logs: false, limits, ...parts }
}

/** The first client calls the first server. */
function callOf(
  deed: Deed,
  ms: number,
  spelling: Spelling,
): Omit<Extract<Op, { readonly kind: 'call' }>, 'gapMs'> {
  return { kind: 'call', client: 0, server: 0, work: { deed, ms, n: 8 }, spelling }
}

const attach = (gapMs: number, at: number): Op => ({ gapMs, kind: 'attach', client: at })

export const regressions: readonly Regression[] = [
  {
    what: 'the second answer to an id that the proxy had minted was taken for the answer to a later call with that id',
    plan: plan({
      seed: 12_792,
      servers: [
        server('s0', {
          concurrency: 1,
          processes: 2,
          stdout: { chunkMax: 16, delayMsMax: 0.2, capacity: 4 * KiB },
        }),
      ],
      clients: [client('c0', { capabilities: ['sampling', 'elicitation', 'roots'] })],
      ops: [
        attach(2, 0),
        ...(
          [
            [56, 'wrong-id', 171, 'text'],
            [26, 'twice', 18, 'text'],
            [43, 'echo', 120, 'number'],
          ] as const
        ).map(([gapMs, deed, ms, spelling]): Op => ({
          gapMs,
          kind: 'call',
          client: 0,
          server: 0,
          work: { deed, ms, n: 4 },
          spelling,
        })),
      ],
    }),
  },
  {
    what: 'a call that came when the tools were known overtook one that still waited for the other lists',
    plan: plan({
      seed: 52_700,
      servers: [
        server('s0', {
          isolation: 'session',
          concurrency: 2,
          processes: 2,
          timeoutMs: 5000,
          initMs: 400,
          offers: ['resources', 'prompts', 'logging', 'completions'],
          heedsCancel: false,
          stdin: { ...whole, delayMsMax: 20 },
          stdout: { ...whole, delayMsMax: 5, capacity: 4 * KiB },
        }),
        server('h1', {
          isolation: 'shared',
          concurrency: 1,
          timeoutMs: 5000,
          idleTimeoutMs: 515,
          initMs: 50,
          offers: ['resources', 'prompts', 'logging', 'completions'],
          faulty: false,
          stdin: { ...whole, delayMsMax: 5, capacity: 4 * KiB },
          stdout: { ...whole, delayMsMax: 20, capacity: 4 * KiB },
        }),
      ],
      clients: [0, 1].map((at) =>
        client(`c${at}`, {
          revision: '2025-03-26',
          input: { ...whole, delayMsMax: 20 },
          output: { ...whole, delayMsMax: at === 0 ? 5 : 20 },
        }),
      ),
      ops: [
        attach(1, 0),
        attach(4, 1),
        { gapMs: 85.01375747378916, ...callOf('echo', 264, 'string') },
        { gapMs: 81.84630254749209, kind: 'fault', server: 0, fault: 'sigstop', seconds: 9.9 },
        {
          gapMs: 2316.8713998049498,
          kind: 'batch',
          client: 0,
          server: 1,
          works: [{ deed: 'echo', ms: 96, n: 8 }],
        },
        { gapMs: 1, ...callOf('echo', 5985, 'number') },
        { gapMs: 9.397528544068336, kind: 'ping', client: 1 },
      ],
    }),
  },
  {
    what: 'a client that reads nothing and is sent much is let go, and not everything is kept for it',
    plan: plan({
      seed: 1,
      limits: { ...limits, backlogBytesHigh: 8 * KiB, backlogBytesMax: 64 * KiB, roomy: false },
      servers: [server('s0', { timeoutMs: 5000 })],
      clients: [client('c0', { output: { ...whole, capacity: 4 * KiB } }), client('c1')],
      ops: [
        attach(1, 0),
        attach(1, 1),
        { gapMs: 200, kind: 'pause', client: 0 },
        ...Array.from({ length: 60 }, (): Op => ({ gapMs: 5, ...callOf('big', 1, 'number') })),
      ],
    }),
  },
  {
    what: 'what a server lists stays when it comes back and cannot list',
    plan: plan({
      seed: 1,
      servers: [server('s0'), server('s1', { faulty: false })],
      clients: [client('c0')],
      ops: [
        attach(1, 0),
        { gapMs: 200, kind: 'list', client: 0, method: 'tools/list' },
        { gapMs: 100, kind: 'unlisted', server: 0, seconds: 3 },
        { gapMs: 1000, kind: 'list', client: 0, method: 'tools/list' },
      ],
    }),
  },
]
