// The error of a call that took too long: the server, the tool, the time limit.

import type { ErrorBody } from '../jsonrpc/build.js'
import type { Call } from './call.js'
import { upstreamFailed } from './error-codes.js'

/** The names of the times in a configuration. */
const budgets = { timeoutMs: 'timeout', totalTimeoutMs: 'totalTimeout' } as const

/** The error of a call whose time is over; `what` did not happen in it. */
export function callTimeout(service: string, call: Call, what: string): ErrorBody {
  const { method } = call.frame
  const { budget: of, times } = call.deadline
  const budget = budgets[of]
  const ms = times[of]
  const named = call.row.route.to === 'name' ? call.frame.params.members.string('name') : undefined
  const kind = method === 'tools/call' ? 'tool' : 'prompt'
  const whose = named === undefined ? method : `${kind} '${named}'`
  const details = { ...(named !== undefined && { [kind]: named }), budget, ms }
  return upstreamFailed(
    service,
    'timeout',
    `'${service}': ${what} for ${whose} within ${ms} ms (${budget})`,
    details,
  )
}
