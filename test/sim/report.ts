// What is said of a seed that fails.

import type { Failure } from './ledger.js'
import type { Plan } from './plan.js'

/** Lines of a trace that are shown from its end. */
const TRACE_MAX = 120

/** The findings, one line each. */
export function failuresText(failures: readonly Failure[]): string {
  return failures.map(({ check, what, at }) => `  ${at.toFixed(1)} ms  ${check}: ${what}`).join('\n')
}

/** A plan that was made small, and the end of its trace. */
export function shrunkText(plan: Plan, trace: Iterable<string>): string {
  const lines = [...trace]
  const shown = lines.slice(-TRACE_MAX)
  return [
    `what is left of it: ${plan.ops.length} operations`,
    `  limits ${JSON.stringify(plan.limits)}`,
    ...plan.servers.map((server) => `  server ${JSON.stringify(server)}`),
    ...plan.clients.map((client) => `  client ${JSON.stringify(client)}`),
    ...plan.ops.map((op) => `  ${JSON.stringify(op)}`),
    `and its trace${shown.length < lines.length ? ` (the last ${shown.length} of ${lines.length})` : ''}:`,
    ...shown.map((line) => `  ${line}`),
  ].join('\n')
}
