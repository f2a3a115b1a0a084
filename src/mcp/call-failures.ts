// How calls fail: by a result that the model reads, or since their time is over.

import type { ErrorBody } from '../jsonrpc/build.js'
import { quote } from '../jsonrpc/text.js'
import type { Call } from './call.js'
import type { CallTimes } from './call-deadline.js'
import { upstreamFailed } from './error-codes.js'

/** Ends a call of a tool with a result that says why (MCP, Tools: error handling); any other request with the error. */
export function failToolCall(call: Call, error: ErrorBody): void {
  const { route } = call.row
  if (route.to !== 'name' || route.list !== 'tools') return call.fail(error)
  call.settle({ kind: 'result', result: toolFailure(error.message), refusal: error.message })
}

/** The raw JSON of a tool's result that says why it has failed. */
export function toolFailure(message: string): string {
  return `{"content":[{"type":"text","text":${quote(message)}}],"isError":true}`
}

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

/** Names the place of the limit in the configuration, if the configuration has no such limit. */
function remedy(budget: string, { settableIn }: CallTimes): string {
  if (settableIn === undefined) return ''
  return settableIn.startsWith('--') ? `; ${settableIn} sets it` : `; "${budget}" of ${settableIn} sets it`
}
