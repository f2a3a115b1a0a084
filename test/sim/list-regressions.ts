// Runs in which something was found about lists that are read while calls wait for them.

import type { Op, Spelling } from './plan.js'
import { plainClient, plainPlan, plainServer, whole } from './plain-plan.js'
import type { Regression } from './regressions.js'
import type { Work } from './work.js'

type Call = Extract<Op, { readonly kind: 'call' }>

const slow = { ...whole, delayMsMax: 20 }
const narrow = { ...whole, capacity: 512 }

export const listRegressions: readonly Regression[] = [
  {
    what: 'a call that came while the lists of its server were read once more was overtaken by the next one',
    plan: plainPlan({
      seed: 22,
      servers: [
        plainServer('s0', { isolation: 'shared', offers: ['resources'], stdin: slow, stdout: slow }),
        plainServer('s1', { isolation: 'shared', initMs: 400 }),
      ],
      clients: [plainClient('c0'), plainClient('c1', { manners: 'bare' })],
      ops: [
        { gapMs: 1, kind: 'attach', client: 0 },
        { gapMs: 9, kind: 'attach', client: 1 },
        { gapMs: 69, kind: 'changed', server: 0 },
        { ...call(1, 'string', { deed: 'echo', ms: 51, n: 8 }), gapMs: 0 },
        { gapMs: 16, kind: 'changed', server: 0 },
        { ...call(0, 'number', { deed: 'echo', ms: 69, n: 6 }), gapMs: 10 },
        { ...call(0, 'string', { deed: 'echo', ms: 147, n: 2 }), gapMs: 123 },
      ],
    }),
  },
  {
    what: 'a list was asked for again in a session that had gone, and in the next one never',
    plan: plainPlan({
      seed: 4_016_078,
      servers: [
        plainServer('h0', {
          isolation: 'shared',
          concurrency: 2,
          timeoutMs: 600,
          restartDelayMs: 250,
          offers: ['resources', 'prompts', 'completions'],
          heedsCancel: false,
          stdin: slow,
          stdout: narrow,
          events: true,
        }),
        plainServer('s1', {
          concurrency: 1,
          timeoutMs: 5000,
          initMs: 50,
          offers: ['logging'],
          heedsCancel: false,
          stdin: { ...slow, capacity: 512 },
          stdout: { ...slow, capacity: 512 },
          events: true,
          standalone: true,
        }),
      ],
      clients: [
        plainClient('c0', {
          input: { ...whole, delayMsMax: 5 },
          output: { ...whole, capacity: 4096 },
          answerMs: 39,
        }),
        plainClient('c1', { revision: '2025-03-26', manners: 'bare', input: { ...whole, delayMsMax: 5 } }),
        plainClient('c2', {
          revision: '2025-03-26',
          capabilities: ['sampling'],
          manners: 'eager',
          output: narrow,
        }),
        plainClient('c3', {
          revision: '2025-03-26',
          capabilities: ['elicitation'],
          output: { ...whole, delayMsMax: 5 },
          answerMs: 36,
        }),
      ],
      ops: [
        { gapMs: 1, kind: 'attach', client: 0 },
        { gapMs: 14, kind: 'attach', client: 1 },
        { gapMs: 3, kind: 'attach', client: 3 },
        { gapMs: 0, kind: 'unknown', client: 1 },
        { gapMs: 3.4, kind: 'unlisted', server: 0, seconds: 0.65 },
        { gapMs: 0.9, kind: 'subscribe', client: 1, server: 0, on: true },
        { gapMs: 0.7, kind: 'unlisted', server: 0, seconds: 2.44 },
        { ...call(0, 'number', { deed: 'progress', ms: 219, n: 7 }), gapMs: 7.6 },
        { gapMs: 10.1, kind: 'updated', server: 1 },
      ],
    }),
  },
  {
    what: 'a call that waited for a server which was replaced went by what was kept of the next one',
    plan: plainPlan({
      seed: 525,
      servers: [plainServer('s0', { isolation: 'session', stdin: { ...slow, capacity: 4096 } })],
      ownStart: 'with-call',
      kept: { left: ['stale'], disk: 'well', isTorn: false },
      ops: [
        { gapMs: 2, kind: 'attach', client: 0 },
        { gapMs: 4, kind: 'reload', server: 0, how: 'retimed' },
        { gapMs: 10, kind: 'gone', client: 0, server: 0 },
        { gapMs: 2, kind: 'reload', server: 0, how: 'nothing' },
      ],
    }),
  },
]

/** The second client calls. */
function call(server: number, spelling: Spelling, work: Work): Omit<Call, 'gapMs'> {
  return { kind: 'call', client: 1, server, work, spelling }
}
