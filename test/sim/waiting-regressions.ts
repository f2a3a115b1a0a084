// Runs in which something was found about calls that wait for a server that ends, and about what is left of them.

import type { ClientPlan, LimitsPlan, Op, Spelling } from './plan.js'
import { plainClient, plainPlan, plainServer, whole } from './plain-plan.js'
import type { Regression } from './regressions.js'
import type { Work } from './work.js'

const slow = { ...whole, delayMsMax: 20 }
const narrow = { ...whole, capacity: 512 }

const tight: LimitsPlan = {
  lineBytesMax: 16_384,
  backlogBytesHigh: 8192,
  backlogBytesMax: 65_536,
  queueMax: 2,
  inflightMax: 80,
  callsMax: 8,
  outgoingBytesMax: 32_768,
  processesMax: 256,
  roomy: false,
}

export const waitingRegressions: readonly Regression[] = [
  {
    what: 'a call that had not left a server that was started anew came behind a later one at the next',
    plan: plainPlan({
      seed: 20_003_236,
      servers: [
        plainServer('s0', {
          idleTimeoutMs: 476,
          onTimeout: 'restart',
          stdin: { ...slow, capacity: 512 },
          stdout: slow,
        }),
      ],
      clients: [
        client('c0', {
          input: { ...whole, delayMsMax: 5 },
          output: { ...narrow, delayMsMax: 5 },
          answerMs: 700,
        }),
        client('c1', { output: { ...whole, delayMsMax: 5 }, answerMs: 23 }),
      ],
      ownStart: 'with-call',
      ops: [
        attach(15, 1),
        call(25, 1, { deed: 'hang', ms: 288, n: 3 }, 'text'),
        {
          gapMs: 812.377496343106,
          kind: 'fault',
          server: 0,
          fault: 'never-reads',
          seconds: 5.5155995092354715,
        },
        call(268.20614780299366, 1, { deed: 'twice', ms: 201, n: 7 }, 'decimal'),
        call(158.12606173567474, 1, { deed: 'hang', ms: 198, n: 4 }, 'number'),
        call(215.2023450937122, 1, { deed: 'refuse', ms: 57, n: 1 }, 'decimal'),
        call(357.3956823442131, 1, { deed: 'twice', ms: 279, n: 5 }, 'decimal'),
        call(285.5235366616398, 1, { deed: 'refuse', ms: 252, n: 8 }, 'number'),
        call(185.0767073687166, 0, { deed: 'twice', ms: 300, n: 8 }, 'decimal'),
      ],
    }),
  },
  {
    what: 'a call that waited for a name once more came behind one that had waited only once',
    plan: plainPlan({
      seed: 20_005_952,
      servers: [
        plainServer('s0', {
          initMs: 400,
          offers: ['resources', 'prompts', 'logging'],
          heedsCancel: false,
          standalone: true,
        }),
      ],
      clients: [
        client('c0', { revision: '2025-03-26', manners: 'bare', answerMs: 13 }),
        client('c1', { revision: '2025-03-26', answerMs: 19 }),
        client('c2', {
          revision: '2025-03-26',
          capabilities: ['sampling', 'elicitation', 'roots'],
          answerMs: 1,
        }),
        client('c3', { revision: '2025-03-26', answerMs: undefined }),
        client('c4', { capabilities: ['sampling', 'elicitation', 'roots'], answerMs: 12 }),
      ],
      ownStart: 'with-call',
      ops: [
        attach(5, 2),
        attach(3, 4),
        call(0, 4, { deed: 'echo', ms: 285, n: 3 }, 'text'),
        { gapMs: 1, kind: 'fault', server: 0, fault: 'response-exit', seconds: 4.457351975142956 },
        { gapMs: 3, kind: 'fault', server: 0, fault: 'slow', seconds: 3.7152576772496104 },
        call(7, 4, { deed: 'refuse', ms: 4941.117501351982, n: 1 }, 'string'),
        { gapMs: 0, kind: 'fault', server: 0, fault: 'exit-0', seconds: 0.060555904638022184 },
        call(0, 2, { deed: 'echo', ms: 156, n: 1 }, 'number'),
      ],
    }),
  },
  {
    what: 'a connection rested for ever when its time had run out before its answer was read',
    plan: plainPlan({
      seed: 20_002_005,
      limits: tight,
      servers: [
        plainServer('h0', {
          timeoutMs: 5000,
          restartDelayMs: 250,
          heedsCancel: false,
          faulty: false,
          stdin: { ...slow, capacity: 512 },
          stdout: { ...narrow, delayMsMax: 5 },
          events: true,
        }),
      ],
      clients: [
        client('c0', {
          revision: '2024-11-05',
          input: slow,
          output: { ...whole, delayMsMax: 5, capacity: 4096 },
          answerMs: 29,
        }),
      ],
      ownStart: 'with-client',
      ops: [
        attach(1, 0),
        call(5, 0, { deed: 'echo', ms: 13, n: 8 }, 'text'),
        call(5, 0, { deed: 'echo', ms: 72, n: 4 }, 'decimal'),
        call(5675.568275758997, 0, { deed: 'echo', ms: 36, n: 5 }, 'string'),
        call(111.37944352813065, 0, { deed: 'echo', ms: 23, n: 7 }, 'decimal'),
        call(241.53084680438042, 0, { deed: 'echo', ms: 1607.8323405236006, n: 1 }, 'text'),
        { gapMs: 66, kind: 'garbage', client: 0 },
        { gapMs: 17, kind: 'pause', client: 0 },
        call(18, 0, { deed: 'echo', ms: 74, n: 6 }, 'text'),
        call(9.437104361131787, 0, { deed: 'big', ms: 63, n: 8 }, 'number'),
        call(166.7727194726467, 0, { deed: 'echo', ms: 58, n: 4 }, 'number'),
        { gapMs: 2998.3521211426705, kind: 'reload', server: 0, how: 'retimed' },
        { gapMs: 995.0779789593071, kind: 'pause', client: 0 },
      ],
    }),
  },
  {
    what: 'a call went by what was kept of a server whose session had ended before it had listed',
    plan: plainPlan({
      seed: 50_000_376,
      limits: { ...tight, backlogBytesHigh: 2048, queueMax: 0, inflightMax: 1024, callsMax: 64 },
      servers: [
        plainServer('h0', {
          isolation: 'session',
          processes: 2,
          timeoutMs: 600,
          idleTimeoutMs: 95,
          onTimeout: 'restart',
          heedsCancel: false,
          faulty: false,
          stdin: { ...whole, delayMsMax: 5 },
          stdout: { ...narrow, delayMsMax: 5 },
        }),
        plainServer('h1', {
          concurrency: 2,
          idleTimeoutMs: 1059,
          heedsCancel: false,
          stdin: { ...narrow, delayMsMax: 5 },
          stdout: { ...slow, capacity: 512 },
          events: true,
          standalone: true,
        }),
      ],
      clients: [
        client('c0', { manners: 'eager', input: slow, output: { ...whole, capacity: 4096 }, answerMs: 41 }),
        client('c1', { manners: 'bare', output: { ...slow, capacity: 512 }, answerMs: 6 }),
        client('c2', {
          capabilities: ['sampling', 'elicitation'],
          input: slow,
          output: { ...slow, capacity: 512 },
          answerMs: 700,
        }),
        client('c3', { manners: 'eager', input: slow, output: { ...slow, capacity: 4096 }, answerMs: 2500 }),
      ],
      ownStart: 'with-call',
      kept: { left: ['other-values', 'stale'], disk: 'well', isTorn: false },
      ops: [
        attach(1, 0),
        attach(32, 2),
        { gapMs: 12, kind: 'gone', client: 2, server: 1 },
        { ...call(2, 0, { deed: 'exit-half', ms: 3, n: 1 }, 'string'), server: 1 },
        call(350.76092230156064, 2, { deed: 'ask', ms: 21, n: 7 }, 'number'),
      ],
    }),
  },
  {
    what: 'a call that was answered timed out, since its client read nothing',
    plan: plainPlan({
      seed: 60_001_991,
      servers: [plainServer('s0', { timeoutMs: 600, faulty: false, stdout: { ...narrow, capacity: 4096 } })],
      clients: [client('c0', { output: { ...whole, capacity: 4096 } })],
      ops: [
        attach(1, 0),
        { gapMs: 98, kind: 'pause', client: 0 },
        ...Array.from({ length: 10 }, () => call(5, 0, { deed: 'big', ms: 10, n: 7 }, 'number')),
        call(100, 0, { deed: 'echo', ms: 11, n: 4 }, 'text'),
        { gapMs: 1000, kind: 'resume', client: 0 },
      ],
    }),
  },
  {
    what: 'a call was lost with another, which had timed out since its client read nothing',
    plan: plainPlan({
      seed: 90_082_587,
      servers: [
        plainServer('s0', {
          timeoutMs: 600,
          onTimeout: 'restart',
          faulty: false,
          stdout: { ...narrow, capacity: 4096 },
        }),
      ],
      clients: [client('c0', { output: { ...whole, capacity: 4096 } })],
      ops: [
        attach(1, 0),
        { gapMs: 98, kind: 'pause', client: 0 },
        ...Array.from({ length: 10 }, () => call(5, 0, { deed: 'big', ms: 10, n: 7 }, 'number')),
        call(500, 0, { deed: 'echo', ms: 11, n: 4 }, 'text'),
        { gapMs: 1000, kind: 'resume', client: 0 },
      ],
    }),
  },
  {
    what: 'a name with the prefix of a server that was not there any more waited for the others',
    plan: plainPlan({
      seed: 60_011_875,
      limits: { ...tight, processesMax: 4, queueMax: 64 },
      servers: [
        plainServer('s0', {
          isolation: 'session',
          timeoutMs: 600,
          idleTimeoutMs: 915,
          heedsEof: false,
          faulty: false,
        }),
        plainServer('h1', { timeoutMs: 600, faulty: false }),
        plainServer('s2', { processes: 2, timeoutMs: 600 }),
      ],
      clients: ['c0', 'c1', 'c2', 'c3'].map((name) => client(name, {})),
      ownStart: 'with-call',
      ops: [
        attach(1, 0),
        attach(2, 1),
        attach(1, 2),
        attach(2, 3),
        { gapMs: 8, kind: 'reload', server: 1, how: 'removed' },
        { gapMs: 0, kind: 'read', client: 1, server: 0, method: 'resources/read' },
        call(0, 2, { deed: 'echo', ms: 22, n: 2 }, 'string'),
        { ...call(0, 3, { deed: 'echo', ms: 11, n: 4 }, 'number'), server: 1 },
        { gapMs: 5, kind: 'gone', client: 0, server: 1 },
      ],
    }),
  },
]

function attach(gapMs: number, at: number): Op {
  return { gapMs, kind: 'attach', client: at }
}

/** Of the first server. */
function call(
  gapMs: number,
  at: number,
  work: Work,
  spelling: Spelling,
): Extract<Op, { readonly kind: 'call' }> {
  return { gapMs, kind: 'call', client: at, server: 0, work, spelling }
}

function client(name: string, more: Partial<ClientPlan>): ClientPlan {
  return plainClient(name, { revision: '2025-11-25', ...more })
}
