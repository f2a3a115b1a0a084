// What earlier runs have left on disk, and when processes of single clients start. All of it is drawn from dice of its
// own.

import type { KeptPlan, Left } from './kept-plan.js'
import type { Op, Plan } from './plan.js'
import { Random } from './random.js'

const lefts: readonly [Left, ...Left[]] = [
  'nothing',
  'same',
  'stale',
  'stale',
  'silent',
  'damaged',
  'torn',
  'other-values',
  'other-values',
  'other-file',
]

/** How often a tool is called that servers had once. */
const GONE_SHARES = [0, 0.05, 0.2] as const

/** The same run, half of the time with a disk. */
export function withKept(plan: Plan): Plan {
  const random = Random.of(plan.seed, 'kept')
  const ownStart = random.pick(['with-call', 'with-client'] as const)
  if (random.chance(0.5)) return { ...plan, ownStart }
  const kept: KeptPlan = {
    left: plan.servers.map(() => random.pick(lefts)),
    disk: random.pick(['well', 'well', 'well', 'full', 'unreadable', 'no-folder']),
    isTorn: random.chance(0.1),
  }
  const share = random.pick(GONE_SHARES)
  const ops = plan.ops.flatMap((op): Op[] => {
    if (!random.chance(share)) return [op]
    const client = random.int(0, plan.clients.length - 1)
    const server = random.int(0, plan.servers.length - 1)
    return [op, { gapMs: random.next() * 20, kind: 'gone', client, server }]
  })
  return { ...plan, ownStart, kept, ops }
}
