// What is said of a seed that fails.

import type { Failure } from './ledger.js'
import type { Plan } from './plan.js'
import { regressionLine } from './regressions.js'

/** Lines of a trace that are shown from its end. */
const TRACE_MAX = 120

/** The findings, one line each. */
export function failuresText(failures: readonly Failure[]): string {
  return failures.map(({ check, what, at }) => `  ${at.toFixed(1)} ms  ${check}: ${what}`).join('\n')
}

/** What came so much later than the first finding is not shown. */
const AFTER_MS = 5

/** A plan that was made small, and its trace up to the first finding. */
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
