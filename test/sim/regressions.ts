// Runs in which something was found once, made small, and worlds in which a
// mutation was not found by chance. They are kept as plans, since the same seed
// is drawn differently when the simulator learns something new.

import type { HttpPlan } from './http-request.js'
import type { Op, Plan, Spelling } from './plan.js'
import { overHttp, plainClient, plainPlan, plainServer, roomyLimits, whole } from './plain-plan.js'
import type { Deed, Work } from './work.js'

export interface Regression {
  /** What was found, in words. */
  readonly what: string
  readonly plan: Plan
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

const four: readonly Work[] = [1, 2, 3, 4].map((ms): Work => ({ deed: 'echo', ms, n: 1 }))

/** How a client speaks the older HTTP transport. */
const overPair: HttpPlan = { ...overHttp, pair: true, idleMax: 2 }

export const regressions: readonly Regression[] = [
  {
    what: 'the second answer to an id that the proxy had minted was taken for the answer to a later call with that id',
    plan: plainPlan({
      seed: 12_792,
      servers: [
        plainServer('s0', {
          concurrency: 1,
          processes: 2,
          stdout: { chunkMax: 16, delayMsMax: 0.2, capacity: 4096 },
        }),
      ],
      clients: [plainClient('c0', { capabilities: ['sampling', 'elicitation', 'roots'] })],
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
    plan: plainPlan({
      seed: 52_700,
      servers: [
        plainServer('s0', {
          isolation: 'session',
          concurrency: 2,
          processes: 2,
          timeoutMs: 5000,
          initMs: 400,
          offers: ['resources', 'prompts', 'logging', 'completions'],
          heedsCancel: false,
          stdin: { ...whole, delayMsMax: 20 },
          stdout: { ...whole, delayMsMax: 5, capacity: 4096 },
        }),
        plainServer('h1', {
          isolation: 'shared',
          concurrency: 1,
          timeoutMs: 5000,
          idleTimeoutMs: 515,
          initMs: 50,
          offers: ['resources', 'prompts', 'logging', 'completions'],
          faulty: false,
          stdin: { ...whole, delayMsMax: 5, capacity: 4096 },
          stdout: { ...whole, delayMsMax: 20, capacity: 4096 },
        }),
      ],
      clients: [0, 1].map((at) =>
        plainClient(`c${at}`, {
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
    plan: plainPlan({
      seed: 1,
      limits: { ...roomyLimits, backlogBytesHigh: 8192, backlogBytesMax: 65_536, roomy: false },
      servers: [plainServer('s0', { timeoutMs: 5000 })],
      clients: [plainClient('c0', { output: { ...whole, capacity: 4096 } }), plainClient('c1')],
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
    plan: plainPlan({
      seed: 1,
      servers: [plainServer('s0'), plainServer('s1', { faulty: false })],
      clients: [plainClient('c0')],
      ops: [
        attach(1, 0),
        { gapMs: 200, kind: 'list', client: 0, method: 'tools/list' },
        { gapMs: 100, kind: 'unlisted', server: 0, seconds: 3 },
        { gapMs: 1000, kind: 'list', client: 0, method: 'tools/list' },
      ],
    }),
  },
  {
    what: 'a call that came before the answer to `initialize` paid with its time for a server that was not its own',
    plan: plainPlan({
      seed: 1,
      servers: [
        plainServer('s0', { timeoutMs: 600, faulty: false }),
        plainServer('s1', { timeoutMs: 5000, initMs: 550, faulty: false }),
      ],
      clients: [plainClient('c0', { manners: 'eager' })],
      ops: [
        attach(1, 0),
        { gapMs: 1, ...callOf('echo', 98, 'number') },
        { gapMs: 1500, kind: 'ping', client: 0 },
      ],
    }),
  },
  {
    what: 'requests with the id of a call: the error of the call was taken for that of another one',
    plan: plainPlan({
      seed: 1,
      servers: [plainServer('s0')],
      clients: [plainClient('c0')],
      ops: [
        attach(1, 0),
        { gapMs: 100, kind: 'pause', client: 0 },
        { gapMs: 1, ...callOf('exit-before', 9, 'number') },
        { gapMs: 100, kind: 'cancel', client: 0, back: 0 },
        { gapMs: 1, kind: 'twin', client: 0 },
        { gapMs: 1, kind: 'twin', client: 0 },
        { gapMs: 1, kind: 'resume', client: 0 },
      ],
    }),
  },
  {
    what: 'a call came back from a process that had ended behind one that had waited for the next process',
    plan: plainPlan({
      seed: 5,
      servers: [plainServer('s0', { timeoutMs: 5000, onTimeout: 'restart' })],
      clients: [plainClient('c0')],
      ops: [
        attach(1, 0),
        { gapMs: 100, ...callOf('hang', 0, 'number') },
        { gapMs: 4900, kind: 'fault', server: 0, fault: 'kill-9', seconds: 1 },
        { gapMs: 10, ...callOf('echo', 50, 'number') },
        { gapMs: 150, ...callOf('echo', 50, 'number') },
        { gapMs: 1500, kind: 'ping', client: 0 },
      ],
    }),
  },
  {
    what: 'a call waited until the grace was over for the lists of a server that a reload had taken away',
    plan: plainPlan({
      seed: 186,
      servers: [
        plainServer('h0', {
          timeoutMs: 600,
          initMs: 5,
          offers: ['prompts', 'logging'],
          faulty: false,
          events: true,
          standalone: true,
        }),
      ],
      clients: [plainClient('c0', { capabilities: ['roots'] })],
      ops: [
        attach(0, 0),
        { gapMs: 12.5, kind: 'roots', client: 0 },
        { gapMs: 0, kind: 'reload', server: 0, how: 'removed' },
        { gapMs: 1, ...callOf('echo', 27, 'number') },
      ],
    }),
  },
  {
    what: 'large batches over HTTP+SSE kept what they had of the memory for bodies after they were answered',
    plan: plainPlan({
      seed: 1,
      front: { answerWaitMs: 20, eventsMax: 1024, bodiesBytesMax: 1900 },
      servers: [plainServer('s0')],
      clients: [plainClient('c0', { revision: '2025-03-26', http: overPair })],
      ops: [
        attach(1, 0),
        ...[300, 300, 300].map((gapMs): Op => ({ gapMs, kind: 'batch', client: 0, server: 0, works: four })),
      ],
    }),
  },
  {
    what: 'calls that come while a process starts wait for that one',
    plan: plainPlan({
      seed: 1,
      servers: [plainServer('s0', { timeoutMs: 5000, idleTimeoutMs: 300, initMs: 400 })],
      clients: [plainClient('c0')],
      ops: [
        attach(1, 0),
        { gapMs: 1000, ...callOf('echo', 5, 'number') },
        { gapMs: 2000, ...callOf('echo', 5, 'number') },
        ...[1, 1, 1, 1].map((gapMs): Op => ({ gapMs, ...callOf('echo', 5, 'number') })),
      ],
    }),
  },
  {
    what: 'calls on several connections, whose bodies the proxy left unread for a while, have no order among them',
    plan: plainPlan({
      seed: 15,
      limits: { ...roomyLimits, backlogBytesHigh: 2048, roomy: false },
      front: { answerWaitMs: 250, eventsMax: 1024, bodiesBytesMax: undefined },
      servers: [plainServer('s0', { stdin: { chunkMax: 300, delayMsMax: 5, capacity: 4096 } })],
      clients: [plainClient('c0', { http: overHttp, input: { ...whole, chunkMax: 300, delayMsMax: 2 } })],
      ops: [
        attach(1, 0),
        ...Array.from({ length: 32 }, (_, at): Op => ({
          gapMs: at === 0 ? 200 : 0,
          kind: 'call',
          client: 0,
          server: 0,
          work: { deed: 'echo', ms: 5, n: 1 },
          spelling: 'number',
        })),
      ],
    }),
  },
  {
    what: 'a request for the rest of a stream that its client had given up came late and took the stream from the next one',
    plan: plainPlan({
      seed: 2,
      front: { answerWaitMs: 1, eventsMax: 1024, bodiesBytesMax: undefined },
      servers: [plainServer('s0')],
      clients: [
        plainClient('c0', {
          revision: '2025-11-25',
          http: { ...overHttp, resumes: true, idleMax: 0, againMs: 0 },
          input: { ...whole, delayMsMax: 20 },
        }),
      ],
      ops: [
        attach(1, 0),
        { gapMs: 200, ...callOf('echo', 100, 'number') },
        { gapMs: 60, kind: 'cut', client: 0 },
        { gapMs: 5, kind: 'cut', client: 0 },
        { gapMs: 5, kind: 'cut', client: 0 },
      ],
    }),
  },
  {
    what: 'a request that waited for what a server lists did not have it started at once where other starts came before',
    plan: plainPlan({
      seed: 2,
      ownStart: 'with-client',
      front: { answerWaitMs: 1, eventsMax: 1024 },
      servers: [
        plainServer('s0', {
          isolation: 'session',
          concurrency: 2,
          timeoutMs: 600,
          onTimeout: 'restart',
          restartDelayMs: 250,
          heedsCancel: false,
          faulty: false,
          stdin: { ...whole, delayMsMax: 5 },
          stdout: { ...whole, delayMsMax: 20, capacity: 4096 },
          events: true,
        }),
      ],
      clients: [
        plainClient('c0', {
          revision: '2025-03-26',
          http: { ...overHttp, session: false, idleMax: 0 },
          output: { ...whole, capacity: 4096 },
        }),
      ],
      ops: [
        attach(0, 0),
        { gapMs: 5, ...callOf('echo', 94, 'number') },
        { gapMs: 30, ...callOf('echo', 170, 'text') },
        { gapMs: 3, ...callOf('echo', 67, 'text') },
        { gapMs: 2, kind: 'subscribe', client: 0, server: 0, on: true },
        { gapMs: 0, ...callOf('echo', 45, 'text') },
      ],
    }),
  },
]
