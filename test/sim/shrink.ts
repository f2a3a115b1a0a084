// Shrinks a plan that fails: leaves out operations in smaller and smaller groups, then clients and peculiarities of
// servers.

import type { ClientPlan, Plan, ServerPlan } from './plan.js'
import type { Failure } from './ledger.js'
import { whole } from './plain-plan.js'
import { regressionLine } from './regressions.js'

const TRIES_MAX = 1500

export async function shrink(plan: Plan, fails: (plan: Plan) => Promise<boolean>): Promise<Plan> {
  let tries = 0
  let best = plan
  const better = async (next: Plan): Promise<boolean> => {
    if (tries++ >= TRIES_MAX || !(await fails(next))) return false
    best = next
    return true
  }
  await better({ ...best, logs: false })
  for (let size = Math.ceil(best.ops.length / 2); size >= 1; size = size === 1 ? 0 : Math.ceil(size / 2))
    for (let from = 0; from < best.ops.length;) if (!(await better(without(best, from, size)))) from += size
  for (const simpler of simplerShapes) await better(simpler(best))
  for (const [at, op] of best.ops.entries())
    await better({ ...best, ops: best.ops.with(at, { ...op, gapMs: Math.round(op.gapMs / 10) }) })
  return best
}

/** The gaps of the operations left out are kept. */
function without(plan: Plan, from: number, size: number): Plan {
  const gone = plan.ops.slice(from, from + size)
  const gapMs = gone.reduce((sum, op) => sum + op.gapMs, 0)
  const ops = plan.ops
    .toSpliced(from, size)
    .map((op, at) => (at === from ? { ...op, gapMs: op.gapMs + gapMs } : op))
  return { ...plan, ops }
}

const simplerShapes: readonly ((plan: Plan) => Plan)[] = [
  ({ kept: _kept, ...plan }) => plan,
  (plan) => everywhere(plan, { input: whole, output: whole }, { stdin: whole, stdout: whole }),
  (plan) => everywhere(plan, { capabilities: [], manners: 'proper' }, {}),
  (plan) => everywhere(plan, {}, { schema: false, offers: [], initMs: 0 }),
  (plan) => everywhere(plan, {}, { heedsEof: true, heedsTerm: true, exitDelayMsMax: 0 }),
]

function everywhere(plan: Plan, client: Partial<ClientPlan>, server: Partial<ServerPlan>): Plan {
  const clients = plan.clients.map((each) => ({ ...each, ...client }))
  return { ...plan, clients, servers: plan.servers.map((each) => ({ ...each, ...server })) }
}

// The report about a failing seed.

const TRACE_MAX = 120
const AFTER_MS = 5

/** A shrunk plan, and its trace up to the first failure. */
export function shrunkText(plan: Plan, trace: Iterable<string>, failures: readonly Failure[]): string {
  const end = Math.min(...failures.map(({ at }) => at)) + AFTER_MS
  const lines = [...trace].filter((line) => Number.parseFloat(line) <= end)
  const shown = lines.slice(-TRACE_MAX)
  return [
    `what is left of it: ${plan.ops.length} operations`,
    ...plan.ops.map((op) => `  ${JSON.stringify(op)}`),
    'as a line of test/sim/regressions.jsonl:',
    regressionLine('say what was found', plan),
    `and its trace${shown.length < lines.length ? ` (the last ${shown.length} of ${lines.length} lines up to the first finding)` : ''}:`,
    ...shown.map((line) => `  ${line}`),
  ].join('\n')
}
