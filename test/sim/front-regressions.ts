// Runs of `--http` in which something was found: of connections that are lost, and of calls that wait for names.

import type { Op } from './plan.js'
import { overHttp, plainClient, plainPlan, plainServer, whole } from './plain-plan.js'
import type { Regression } from './regressions.js'
import type { Deed } from './work.js'

const front = { answerWaitMs: 250, eventsMax: 1024 }

const attach = (gapMs: number, client: number): Op => ({ gapMs, kind: 'attach', client })

const gone = (gapMs: number, client: number, server: number): Op => ({ gapMs, kind: 'gone', client, server })

/** A call that takes no time, unless given. */
const call = (gapMs: number, client: number, server: number, deed: Deed = 'echo', ms = 0, n = 1): Op => ({
  gapMs,
  kind: 'call',
  client,
  server,
  work: { deed, ms, n },
  spelling: 'number',
})

const late = { ...whole, delayMsMax: 20 }

export const frontRegressions: readonly Regression[] = [
  {
    what: 'a client that lost its first list was told of all changes since, and of too many as far as it knew',
    plan: plainPlan({
      seed: 30_002_366,
      front,
      servers: [plainServer('s0')],
      clients: [plainClient('c0', { http: { ...overHttp, listens: true } })],
      ops: [
        attach(0, 0),
        { gapMs: 10, kind: 'pause', client: 0 },
        { gapMs: 0, kind: 'list', client: 0, method: 'tools/list' },
        { gapMs: 0, kind: 'cut', client: 0 },
        { gapMs: 0, kind: 'changed', server: 0 },
        { gapMs: 83, kind: 'changed', server: 0 },
        { gapMs: 63, kind: 'changed', server: 0 },
      ],
    }),
  },
  {
    what: 'an answer that was kept for a lost stream came after the cancel, which had overtaken the request for it',
    plan: plainPlan({
      seed: 41_009_510,
      front: { ...front, answerWaitMs: 1 },
      servers: [plainServer('s0', { initMs: 50, stdin: { ...whole, delayMsMax: 5 }, stdout: late })],
      clients: [
        plainClient('c0', { http: { ...overHttp, session: false } }),
        plainClient('c1', {
          revision: '2025-11-25',
          input: { ...whole, delayMsMax: 5 },
          http: { ...overHttp, resumes: true },
        }),
      ],
      ops: [
        attach(0, 0),
        attach(0, 1),
        gone(54, 1, 0),
        call(17, 1, 0),
        { gapMs: 12, kind: 'cut', client: 1 },
        { gapMs: 0, kind: 'cancel', client: 1, back: 1 },
      ],
    }),
  },
  {
    what: 'a call whose own process started while the shared one was listed once more never found its name',
    plan: plainPlan({
      seed: 41_004_329,
      front,
      servers: [plainServer('h0', { initMs: 400, stdout: late, standalone: true }), plainServer('s1')],
      clients: [
        plainClient('c0', { capabilities: ['sampling', 'elicitation'] }),
        plainClient('c1', { capabilities: ['roots'] }),
      ],
      ops: [attach(0, 1), call(0, 1, 0), attach(444, 0), call(49, 0, 1), call(80, 0, 0)],
    }),
  },
  {
    what: 'a scripted server said on its own stream what belonged to a response that was cut',
    plan: plainPlan({
      seed: 2,
      servers: [plainServer('h0', { stdout: late, events: true, standalone: true })],
      ops: [
        attach(0, 0),
        call(200, 0, 0, 'progress', 60, 8),
        { gapMs: 70, kind: 'fault', server: 0, fault: 'rst-mid-event', seconds: 1 },
      ],
    }),
  },
  {
    what: 'a call of a name that its server does not have waited for another server',
    plan: plainPlan({
      seed: 41_015_325,
      ownStart: 'with-client',
      servers: [
        plainServer('s0', { isolation: 'session', initMs: 50 }),
        plainServer('h1', { timeoutMs: 600, faulty: false }),
      ],
      clients: [0, 1].map((at) => plainClient(`c${at}`)),
      ops: [
        attach(0, 1),
        attach(100, 0),
        gone(0, 0, 0),
        { gapMs: 0, kind: 'fault', server: 0, fault: 'slow', seconds: 2.07 },
        gone(100, 0, 1),
      ],
    }),
  },
  {
    what: 'of two calls that had to wait once more for a server which had failed the first fell behind the second',
    plan: plainPlan({
      seed: 70_000_141,
      ownStart: 'with-client',
      servers: [plainServer('s0'), plainServer('s1', { stdout: { ...whole, delayMsMax: 5, capacity: 512 } })],
      clients: [0, 1].map((at) => plainClient(`c${at}`, { capabilities: ['elicitation'] })),
      ops: [
        attach(0, 1),
        { gapMs: 0, kind: 'vanish', client: 1 },
        { gapMs: 0, kind: 'reload', server: 0, how: 'removed' },
        attach(10, 1),
        call(0, 1, 0),
        { gapMs: 0, kind: 'unlisted', server: 1, seconds: 1.35 },
        attach(0, 0),
        call(0, 1, 1),
        call(0, 1, 1),
        call(0, 0, 1),
      ],
    }),
  },
  {
    what: 'a call of a tool that was kept went to a session which had not said what it has, since the one before was forgotten',
    plan: plainPlan({
      seed: 70_002_237,
      front,
      kept: { left: ['damaged', 'stale'], disk: 'well', isTorn: false },
      servers: [plainServer('s0'), plainServer('h1', { stdout: { ...late, capacity: 4096 } })],
      clients: [plainClient('c0', { capabilities: ['elicitation'] }), plainClient('c1'), plainClient('c2')],
      ops: [attach(0, 0), attach(0, 2), call(0, 2, 1, 'exit-with'), gone(10, 0, 1), attach(185, 2)],
    }),
  },
  {
    what: 'a batch for a server that was not there any more had less time than a call of the same name',
    plan: plainPlan({
      seed: 70_028_426,
      front,
      kept: { left: ['other-values', 'other-values', 'stale'], disk: 'well', isTorn: false },
      servers: [plainServer('s0'), plainServer('s1', { initMs: 400 }), plainServer('s2', { timeoutMs: 600 })],
      clients: [plainClient('c0'), plainClient('c1', { revision: '2025-03-26' })],
      ops: [
        attach(0, 1),
        { gapMs: 0, kind: 'fault', server: 1, fault: 'sigstop', seconds: 9.06 },
        { gapMs: 0, kind: 'reload', server: 2, how: 'removed' },
        { gapMs: 0, kind: 'batch', client: 1, server: 2, works: [{ deed: 'hang', ms: 174, n: 8 }] },
        call(4154, 0, 2),
      ],
    }),
  },
  {
    what: 'a scripted server that had been hurried to answer a call asked about it afterwards, during the call of another client',
    plan: plainPlan({
      seed: 70_032_280,
      servers: [plainServer('s0', { isolation: 'shared' })],
      clients: [
        plainClient('c0'),
        plainClient('c1'),
        plainClient('c2', { capabilities: ['sampling', 'elicitation', 'roots'] }),
      ],
      ops: [
        attach(0, 0),
        attach(0, 1),
        attach(0, 2),
        call(0, 0, 0, 'echo', 100),
        call(0, 1, 0, 'ask', 258),
        call(143, 2, 0, 'echo', 75),
        { gapMs: 153, kind: 'fault', server: 0, fault: 'oversize', seconds: 3.3 },
      ],
    }),
  },
  {
    what: 'a server that kept crashing and then did not answer a start was left alone for longer than the rest of a minute',
    plan: plainPlan({
      seed: 70_033_355,
      servers: [plainServer('s0', { concurrency: 1, initMs: 50 })],
      clients: [0, 1, 2, 3].map((at) => plainClient(`c${at}`)),
      ops: [
        attach(0, 0),
        attach(0, 2),
        attach(0, 3),
        call(0, 2, 0, 'exit-half'),
        call(0, 2, 0, 'exit-half'),
        call(0, 3, 0, 'exit-half'),
        call(2988, 0, 0, 'exit-half'),
        call(0, 0, 0),
        { gapMs: 0, kind: 'fault', server: 0, fault: 'wrong-id', seconds: 6 },
      ],
    }),
  },
  {
    what: 'a call came while a server that had been started anew was listing, and went by what was kept of it',
    plan: plainPlan({
      seed: 91_007_227,
      front,
      limits: {
        lineBytesMax: 16384,
        backlogBytesHigh: 8192,
        backlogBytesMax: 65536,
        queueMax: 64,
        inflightMax: 80,
        callsMax: 8,
        outgoingBytesMax: 262144,
        processesMax: 4,
        roomy: false,
      },
      kept: { left: ['same', 'stale', 'stale'], disk: 'well', isTorn: false },
      ownStart: 'with-call',
      servers: [
        plainServer('s0', {
          isolation: 'session',
          concurrency: 1,
          processes: 2,
          timeoutMs: 5000,
          offers: ['resources', 'logging', 'completions'],
          stdin: { chunkMax: 65536, delayMsMax: 0, capacity: 4096 },
          stdout: { chunkMax: 65536, delayMsMax: 0, capacity: 65536 },
          exitDelayMsMax: 100,
        }),
        plainServer('s1', {
          isolation: 'session',
          concurrency: 2,
          timeoutMs: 600,
          initMs: 5,
          offers: ['resources', 'completions'],
          heedsTerm: false,
          heedsCancel: false,
          stdin: { chunkMax: 65536, delayMsMax: 20, capacity: 4096 },
          stdout: { chunkMax: 65536, delayMsMax: 5, capacity: 65536 },
          exitDelayMsMax: 100,
          events: true,
          standalone: true,
        }),
        plainServer('s2', {
          timeoutMs: 5000,
          offers: ['resources', 'prompts', 'logging'],
          schema: true,
          stdin: { chunkMax: 65536, delayMsMax: 20, capacity: 65536 },
          stdout: { chunkMax: 65536, delayMsMax: 0, capacity: 4096 },
          standalone: true,
        }),
      ],
      clients: [
        plainClient('c0', {
          revision: '2025-11-25',
          capabilities: [],
          manners: 'bare',
          input: { chunkMax: 65536, delayMsMax: 5 },
          output: { chunkMax: 65536, delayMsMax: 5, capacity: 65536 },
          answerMs: 47,
          http: {
            pair: false,
            session: false,
            listens: false,
            resumes: false,
            accept: 'application/json, text/event-stream',
            chunked: false,
            idleMax: 2,
            againMs: 50,
          },
        }),
        plainClient('c1', {
          revision: '2025-06-18',
          capabilities: ['sampling', 'elicitation'],
          manners: 'proper',
          input: { chunkMax: 65536, delayMsMax: 5 },
          output: { chunkMax: 65536, delayMsMax: 0, capacity: 512 },
          answerMs: 50,
          http: {
            pair: false,
            session: true,
            listens: true,
            resumes: false,
            accept: 'application/json, text/event-stream',
            chunked: false,
            idleMax: 1,
            againMs: 50,
          },
        }),
        plainClient('c2', {
          revision: '2024-11-05',
          capabilities: [],
          manners: 'proper',
          input: { chunkMax: 65536, delayMsMax: 0 },
          output: { chunkMax: 65536, delayMsMax: 5, capacity: 4096 },
          answerMs: 8,
        }),
        plainClient('c3', {
          revision: '2025-06-18',
          capabilities: ['sampling'],
          manners: 'proper',
          input: { chunkMax: 65536, delayMsMax: 0 },
          output: { chunkMax: 65536, delayMsMax: 20, capacity: 65536 },
          answerMs: 27,
        }),
      ],
      ops: [
        attach(1, 0),
        attach(1, 1),
        gone(11.7, 1, 1),
        attach(0, 2),
        attach(0, 3),
        call(9.09, 0, 0, 'oversize', 282, 4),
        gone(26.03, 0, 0),
        call(12.24, 2, 1, 'oversize', 261, 2),
        call(10.76, 3, 2, 'echo', 30, 3),
        call(0, 3, 0, 'oversize', 84, 2),
        gone(17.11, 1, 0),
        call(33.61, 3, 1, 'oversize', 1615.05, 7),
        gone(16.2, 0, 1),
        call(40.32, 1, 1, 'log', 219, 5),
        call(10.91, 0, 1, 'echo', 3, 4),
        call(19.68, 3, 1, 'oversize', 3, 5),
        call(0, 1, 1, 'echo', 93, 1),
        call(15.06, 3, 2, 'echo', 171, 5),
        gone(17.98, 0, 0),
        call(13.36, 2, 0, 'oversize', 78, 6),
        gone(4.11, 3, 0),
        call(34.37, 1, 1, 'echo', 60, 3),
        call(0, 3, 0, 'echo', 114, 5),
        call(1, 0, 1, 'refuse', 165, 4),
        gone(1, 3, 1),
        call(2, 1, 2, 'echo', 222, 1),
        gone(0, 1, 2),
        gone(92.14, 0, 1),
        gone(294.36, 1, 2),
      ],
    }),
  },
]
