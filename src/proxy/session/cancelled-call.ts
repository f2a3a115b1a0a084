// The call that a client cancels (MCP, Utilities: cancellation).

import type { NotificationFrame } from '../../jsonrpc/frame.js'
import { rawAt } from '../../jsonrpc/text.js'
import type { Call } from '../../mcp/call.js'

/** The call that the notification names, in whatever spelling; undefined when there is none. */
export function cancelledCall(frame: NotificationFrame, calls: Iterable<Call>): Call | undefined {
  const span = frame.params.members.span('requestId')
  if (span === undefined) return undefined
  const text = rawAt(frame.line, span)
  for (const call of calls) if (call.key === text || call.frame.id === text) return call
  return undefined
}
