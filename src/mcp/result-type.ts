// The members of results by which the eras differ (MCP 2026-07-28, Overview: results).

import { OPEN_OBJECT } from '../jsonrpc/ascii.js'
import type { ResultFrame } from '../jsonrpc/frame.js'
import { Members, membersAt } from '../jsonrpc/members.js'
import type { Span } from '../jsonrpc/scan.js'
import { type RoutedNames, messageNamesWith, routedNames } from '../jsonrpc/routed-names.js'
import { SERVER_INFO } from './meta-keys.js'

/** The member that says that a result is all there is, as raw JSON. */
export const COMPLETE = '"resultType":"complete"'

/** The members of results that differ between the eras, and those that report the outcome of a call. */
const resultNames: RoutedNames = routedNames(
  ['resultType', 'ttlMs', 'cacheScope', '_meta', 'structuredContent', 'isError', 'task'],
  { key: '_meta', names: routedNames([SERVER_INFO]) },
)

export const messageNames: RoutedNames = messageNamesWith(resultNames)

const TRUE = Buffer.from('true')

const noMembers = new Members(Buffer.alloc(0), resultNames)

/** Whether a result is an object, as the protocol requires; a long result is not joined for this check. */
export function isObjectResult(frame: ResultFrame): boolean {
  const { start } = frame.result
  return bytesAt(frame, { start, end: start + 1 })[0] === OPEN_OBJECT
}

/** Bytes of a result, which is not joined for them: `line` joins it as soon as it is read. */
export function bytesAt(frame: ResultFrame, { start, end }: Span): Buffer {
  return frame.long?.slice(start, end) ?? frame.line.subarray(start, end)
}

/** The members of `resultNames` in a result; the reader of the frame has nearly always found them already. */
export function resultMembers(frame: ResultFrame): Members {
  if (frame.named !== undefined || !isObjectResult(frame)) return frame.named ?? noMembers
  return membersAt(frame.line, frame.result, resultNames) ?? noMembers
}

/** The `resultType` of a result; undefined where the result has none, and empty where it is no string. */
export function typeNamed(frame: ResultFrame): string | undefined {
  const members = resultMembers(frame)
  return members.span('resultType') && (members.string('resultType') ?? '')
}

/** Whether the result of a tool has `isError: true` (MCP, Tools: error handling). */
export function saysError(frame: ResultFrame): boolean {
  const span = resultMembers(frame).span('isError')
  return span !== undefined && span.end - span.start === TRUE.length && bytesAt(frame, span).equals(TRUE)
}
