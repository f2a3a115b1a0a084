// The members of results by which the eras differ (MCP 2026-07-28, Overview: results).

import type { ResultFrame } from '../jsonrpc/frame.js'
import type { Span } from '../jsonrpc/scan.js'

const TRUE = Buffer.from('true')

/** Bytes of a result, without joining a long one; reading `frame.line` would join it. */
export function bytesAt(frame: ResultFrame, { start, end }: Span): Buffer {
  return frame.long?.slice(start, end) ?? frame.line.subarray(start, end)
}

/** The `resultType` of a result; undefined if it is missing, and empty if it is no string. */
export function typeNamed({ members }: ResultFrame): string | undefined {
  return members?.span('resultType') && (members.string('resultType') ?? '')
}

/** Whether the result of a tool has `isError: true` (MCP, Tools: error handling). */
export function saysError(frame: ResultFrame): boolean {
  const span = frame.members?.span('isError')
  return span !== undefined && span.end - span.start === TRUE.length && bytesAt(frame, span).equals(TRUE)
}
