// The error of a call that took too long: the server, the tool, the time limit.

import type { ErrorBody } from '../jsonrpc/build.js'
import type { Call } from './call.js'
import type { CallTimes } from './call-deadline.js'
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
  const message = `'${service}': ${what} for ${whose} within ${ms} ms (${budget})`
  return upstreamFailed(service, 'timeout', `${message}${remedy(budget, times)}`, details)
}

/** Where the limit can be set, for a limit that nobody has set. */
function remedy(budget: string, { settableIn }: CallTimes): string {
  if (settableIn === undefined) return ''
  return settableIn.startsWith('--') ? `; ${settableIn} sets it` : `; "${budget}" of ${settableIn} sets it`
}
