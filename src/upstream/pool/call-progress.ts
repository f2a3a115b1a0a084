// The progress that a client is told of during one call, which may have several rounds.

import type { NotificationFrame } from '../../jsonrpc/frame.js'
import { rawAt } from '../../jsonrpc/text.js'
import type { Call } from '../../mcp/call.js'

/** Whether the progress goes on from where an earlier round of the call had come (MCP, Utilities: progress). */
export function isNews(call: Call, { line, params }: NotificationFrame): boolean {
  const span = params.members.span('progress')
  const progress = span === undefined ? Number.NaN : Number(rawAt(line, span))
  if (progress <= call.progressFloor) return false
  if (progress > call.progress) call.progress = progress
  return true
}
